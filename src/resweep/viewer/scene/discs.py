"""Sprites as a browser draws them best: one textured triangle each, in one binary glTF file.

Viser's own Gaussian splats write an error to the browser's console for every set of them (their corners have two
coordinates, so the bounding sphere that three.js computes is not a number), and they are slow without a graphics card.
A triangle around each disc, whose texture is clear outside of the disc, needs 60 bytes, no sorting and no worker.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

import numpy as np

from resweep.files.strict_json import format_json
from resweep.pose import Array

MAX_DISCS = 200_000  # drawn as discs; those that look smaller are drawn as points
POINT_SIZES = 3  # sizes of the points that stand for small discs
_SHARE_OF_RADIUS = 0.5  # of the texture's half width that the disc takes
_TEXTURE = 128
_FLOAT, _BYTE = 5126, 5121  # of glTF
_ROW = np.dtype([("position", "<f4", 3), ("texture", "u1", 4), ("colour", "u1", 4)])


@dataclass(frozen=True, eq=False)
class Sprites:
    """Sprites for the browser: ``centre`` (k, 3), half axes ``half`` (k, 2, 3) in metres, ``rgb`` (k, 3) uint8.

    ``of`` is how many primitives there are in all.
    """

    centre: Array
    half: Array
    rgb: Array
    of: int

    @property
    def radius(self) -> Array:
        """Radius (k,) metres of each, of those of equal area."""
        return np.asarray(np.sqrt(np.linalg.norm(np.cross(self.half[:, 0], self.half[:, 1]), axis=1)))

    def of_rows(self, rows: Array) -> Sprites:
        """Some of them."""
        return Sprites(self.centre[rows], self.half[rows], self.rgb[rows], self.of)


def split_by_size(
    shown: Sprites, eye: Array, max_discs: int = MAX_DISCS
) -> tuple[Sprites, list[tuple[Sprites, float]]]:
    """The discs that look largest from ``eye`` (3,), and the others by size with the radius of their points."""
    if len(shown.centre) <= max_discs:
        return shown, []
    radius = shown.radius
    seen = radius / np.maximum(np.linalg.norm(shown.centre - eye, axis=1), 0.5)
    order = np.argsort(-seen, kind="stable")
    small = order[max_discs:]
    groups = np.array_split(small[np.argsort(radius[small], kind="stable")], POINT_SIZES)
    points = [(shown.of_rows(rows), float(np.median(radius[rows]))) for rows in groups if len(rows)]
    return shown.of_rows(np.sort(order[:max_discs])), points


def write_glb(shown: Sprites) -> bytes:
    """The discs as a binary glTF 2.0 file: one triangle each, unlit, clear outside of the disc."""
    turn = np.radians([90.0, 210.0, 330.0])
    corner = np.column_stack([np.cos(turn), np.sin(turn)])
    rows = np.zeros((len(shown.centre), 3), _ROW)
    # A triangle around the unit circle has its corners two radii away from the middle.
    rows["position"] = shown.centre[:, None] + np.einsum("cj,kjx->kcx", 2.0 * corner, shown.half)
    rows["texture"][..., :2] = np.rint(255 * (0.5 + _SHARE_OF_RADIUS * corner))
    rows["colour"][..., :3] = _to_linear(shown.rgb)[:, None]
    rows["colour"][..., 3] = 255
    data, picture = rows.tobytes(), _draw_texture()
    flat = rows["position"].reshape(-1, 3)
    return _pack(_describe(flat, len(data), len(picture)), data + picture)


def _to_linear(rgb: Array) -> Array:
    """Colours (k, 3) uint8 of screens as the linear ones that glTF asks of vertices."""
    share = np.arange(256) / 255.0
    table = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.rint(255 * table).astype(np.uint8)[rgb])


def _draw_texture() -> bytes:
    """A white disc on a clear ground, as PNG."""
    from PIL import Image

    at = (np.arange(_TEXTURE) + 0.5) / _TEXTURE - 0.5
    away = np.hypot(at[:, None], at[None])
    edge = _SHARE_OF_RADIUS / 2  # a corner, two radii away, lies at half of the texture's width
    picture = np.full((_TEXTURE, _TEXTURE, 4), 255, np.uint8)
    picture[..., 3] = np.rint(255 * np.clip(0.5 + (edge - away) * _TEXTURE, 0.0, 1.0))
    buffer = io.BytesIO()
    Image.fromarray(picture, "RGBA").save(buffer, format="PNG")
    return buffer.getvalue()


def _describe(position: Array, n_data: int, n_picture: int) -> dict[str, object]:
    """The JSON part of the file."""
    count, stride = len(position), _ROW.itemsize
    low, high = position.min(axis=0).tolist(), position.max(axis=0).tolist()

    def column(offset: int, kind: int, shape: str, **more: object) -> dict[str, object]:
        return {"bufferView": 0, "byteOffset": offset, "componentType": kind, "count": count, "type": shape, **more}

    return {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_materials_unlit"],
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1, "COLOR_0": 2}, "material": 0}]}],
        "materials": [
            {
                "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}},
                "alphaMode": "MASK",
                "alphaCutoff": 0.5,
                "doubleSided": True,
                "extensions": {"KHR_materials_unlit": {}},
            }
        ],
        "textures": [{"sampler": 0, "source": 0}],
        "samplers": [{"magFilter": 9729, "minFilter": 9729, "wrapS": 33071, "wrapT": 33071}],
        "images": [{"bufferView": 1, "mimeType": "image/png"}],
        "accessors": [
            column(0, _FLOAT, "VEC3", min=low, max=high),
            column(12, _BYTE, "VEC2", normalized=True),
            column(16, _BYTE, "VEC4", normalized=True),
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": n_data, "byteStride": stride},
            {"buffer": 0, "byteOffset": n_data, "byteLength": n_picture},
        ],
        "buffers": [{"byteLength": n_data + n_picture}],
    }


def _pack(described: dict[str, object], data: bytes) -> bytes:
    """A binary glTF file of its two parts, each padded to four bytes."""
    text = format_json(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    length = 12 + 8 + len(text) + 8 + len(data)
    head = struct.pack("<4sII", b"glTF", 2, length)
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
