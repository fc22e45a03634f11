"""Reflectance from the colours of an imported mesh, where nothing better is known.

Models rarely give reflectance at a LiDAR's wavelength, but they have a base colour: the reflectance of a face is the
relative luminance of its colour, between 0 and 1. Pass ``reflectance`` when importing to replace it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep import portable
from resweep.pose import Array

# Rec. ITU-R BT.709-6, item 3.2: luminance of linear red, green and blue.
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linearise_srgb(colour: Array) -> Array:
    """Linear light from sRGB values between 0 and 1 (IEC 61966-2-1)."""
    return np.where(colour <= 0.04045, colour / 12.92, portable.power((colour + 0.055) / 1.055, 2.4))


def find_face_reflectance(geometry: Any, default: float) -> Array | float:
    """Luminance of each face (m,) float32 of a trimesh geometry, or one number for all of them.

    Colour factors of materials are linear light (glTF 2.0, 3.9.2; an OBJ's ``Kd`` is a reflectivity);
    textures, and colours of vertices and faces, are sRGB. A texture is read at the corners of each
    face. ``default`` where the mesh has no colour.
    """
    visual = geometry.visual
    kind = visual.kind
    if kind == "texture":
        return _read_material(visual, geometry.faces, default)
    if kind == "vertex":
        return _average_corners(_find_srgb_luminance(visual.vertex_colors), geometry.faces)
    if kind == "face":
        return _find_srgb_luminance(visual.face_colors).astype(np.float32)
    return default


def _read_material(visual: Any, faces: Array, default: float) -> Array | float:
    material = visual.material
    is_pbr = hasattr(material, "baseColorFactor")
    image = material.baseColorTexture if is_pbr else material.image
    factor = material.baseColorFactor if is_pbr else material.diffuse
    if not is_pbr and _is_placeholder(image):
        return default
    if image is None or visual.uv is None or len(visual.uv) == 0:
        # A material without a base colour is white by the glTF specification: that says nothing.
        return default if factor is None else _find_linear_luminance(factor)
    texel = _sample(np.asarray(image.convert("RGB")), np.asarray(visual.uv))
    shade = _find_linear_luminance(factor) if is_pbr and factor is not None else 1.0
    return _average_corners(_find_srgb_luminance(texel) * shade, faces)


def _is_placeholder(image: Any) -> bool:
    """Whether this is the 2 x 2 grey image that trimesh gives an OBJ whose material is missing."""
    if image is None or image.size != (2, 2):
        return False
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    return bool((pixels == pixels[0]).all())


def _sample(pixels: Array, uv: Array) -> Array:
    """The texture's pixels (n, 3) nearest to ``uv`` (n, 2), repeated beyond its borders; v points up."""
    height, width = pixels.shape[:2]
    wrapped = np.nan_to_num(uv) % 1.0
    column = np.minimum((wrapped[:, 0] * width).astype(np.int64), width - 1)
    row = np.minimum(((1.0 - wrapped[:, 1]) * height).astype(np.int64), height - 1)
    return np.asarray(pixels[row, column])


def _find_srgb_luminance(colours: Array) -> Array:
    linear = linearise_srgb(np.asarray(colours, dtype=np.float64)[:, :3] / 255.0)
    return np.asarray(np.clip(portable.matmul(linear, LUMINANCE), 0.0, 1.0))


def _find_linear_luminance(factor: Array) -> float:
    colour = np.asarray(factor, dtype=np.float64)[:3]
    return float(
        np.clip(portable.matmul(colour / (255.0 if np.asarray(factor).dtype == np.uint8 else 1.0), LUMINANCE), 0.0, 1.0)
    )


def _average_corners(values: Array, faces: Array) -> Array:
    return np.asarray(values[np.asarray(faces)].mean(axis=1), dtype=np.float32)
