"""Pixels of a view: what each kind of picture shows of it."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array
from resweep.viewer import palette
from resweep.viewer.camera.renderer import CameraView

Kind = Literal["shaded", "label", "depth", "normal", "intensity", "colour"]
VIEWS: tuple[str, ...] = get_args(Kind)
# In float32, as views are: pictures of millions of pixels are bound by memory.
_SUN = np.array([0.35, -0.45, 0.82], np.float32) / np.float32(np.linalg.norm([0.35, -0.45, 0.82]))
_SKY_LOW, _SKY_HIGH = np.array([0.17, 0.21, 0.26], np.float32), np.array([0.05, 0.07, 0.10], np.float32)
_CLAY = np.array([0.80, 0.79, 0.76], np.float32)
_AMBIENT, _HAZE_M = 0.62, 400.0
_EDGE_STRENGTH, _MAX_EDGE = 4.0, 0.75


def shade(
    view: CameraView, kind: str = "shaded", *, labels: LabelSet = UNKNOWN_LABELS, range_m: float | None = None
) -> Array:
    """The picture (h, w, 3) uint8 of a view.

    ``shaded``: surfaces in one colour under a sun, with edges; ``label``: the same in the colours of ``labels``;
    ``depth``: metres along the ray up to ``range_m`` (default: that of 98 % of the pixels), the same colours as range
    images; ``normal``: x, y, z as red, green, blue; ``intensity``: light sent back; ``colour``: that of the recording.
    """
    if kind not in VIEWS:
        raise ResweepError(f"view '{kind}': no such view; {nearest_names(kind, VIEWS)}")
    hit = view.hit
    if kind == "depth":
        rgb = _map(view.range, _choose_far(view, range_m), palette.DEPTH_MAP)
    elif kind == "intensity":
        white = float(np.quantile(view.reflected[hit], 0.98)) if hit.any() else 1.0
        rgb = _map(np.sqrt(np.maximum(view.reflected, 0.0)), np.sqrt(max(white, 1e-6)), "magma")
    elif kind == "normal":
        rgb = 0.5 + 0.5 * view.normal
    else:
        rgb = _find_base(view, kind, labels) * _compute_light(view)[..., None]
        rgb *= 1.0 - _find_edges(view)[..., None]
        far = 1.0 - np.exp(-np.where(hit, view.range, 0.0) / _HAZE_M)
        rgb += far[..., None] * (_SKY_LOW - rgb)
    rgb = np.where(hit[..., None], rgb, _compute_sky(view.range.shape))
    rgb *= 255.0
    return np.asarray(np.clip(np.rint(rgb, out=rgb), 0, 255, out=rgb).astype(np.uint8))


def shrink(image: Array, factor: int) -> Array:
    """The picture (h, w, 3) uint8 of means over ``factor`` × ``factor`` pixels."""
    if factor == 1:
        return image
    height, width = image.shape[0] // factor, image.shape[1] // factor
    blocks = image[: height * factor, : width * factor].reshape(height, factor, width, factor, 3)
    return np.asarray(np.rint(blocks.mean(axis=(1, 3), dtype=np.float32)).astype(np.uint8))


def _find_base(view: CameraView, kind: str, labels: LabelSet) -> Array:
    """The colour (h, w, 3) of each surface, from 0 to 1."""
    if kind == "label":
        flat = palette.label_colours(view.label.ravel(), labels)
        return np.asarray(flat.reshape(*view.label.shape, 3), np.float32)
    if kind == "colour":
        if view.colour is None:
            raise ResweepError("view 'colour': the view was taken without colours; render it as coloured")
        return np.asarray(view.colour / np.float32(255.0))
    return np.broadcast_to(_CLAY, (*view.range.shape, 3))


def _compute_light(view: CameraView) -> Array:
    """Light on each surface: a sun, and a sky that is brighter above. Leaves are lit from all around."""
    sun = np.clip(view.normal @ _SUN, 0.0, 1.0)
    sky = 0.5 + 0.5 * view.normal[..., 2]
    light = _AMBIENT * (0.55 + 0.45 * sky) + 0.55 * sun
    leaf = 0.55 + 0.45 * np.clip(np.sqrt(np.maximum(view.reflected, 0.0)), 0.0, 1.0)
    return np.asarray(np.where(view.kind == 3, leaf, light))


def _find_edges(view: CameraView) -> Array:
    """How dark edges are, 0 to 0.75: where neighbours are nearer (eye-dome lighting, Boucheny 2009)."""
    with np.errstate(divide="ignore"):
        depth = np.log2(np.where(view.hit, view.range, 1e4)).astype(np.float32)
    padded = np.pad(depth, 1, mode="edge")
    height, width = depth.shape
    dark = np.zeros_like(depth)
    for down, right in ((0, 1), (1, 0), (1, 2), (2, 1)):
        dark += np.maximum(0.0, depth - padded[down : down + height, right : right + width] - 0.004)
    return np.asarray(np.minimum(_EDGE_STRENGTH * dark, _MAX_EDGE))


def _choose_far(view: CameraView, range_m: float | None) -> float:
    if range_m is not None:
        return range_m
    return float(np.quantile(view.range[view.hit], 0.98)) if view.hit.any() else 1.0


def _map(values: Array, maximum: float, name: str) -> Array:
    from matplotlib import colormaps

    share = np.clip(np.where(np.isfinite(values), values, 0.0) / maximum, 0.0, 1.0)
    table = np.asarray(colormaps[name](np.linspace(0.0, 1.0, 256)), np.float32)[:, :3]
    return np.asarray(table[np.rint(255 * share).astype(np.int64)])


def _compute_sky(shape: tuple[int, ...]) -> Array:
    """What is seen where nothing is: dark, lighter towards the lower edge."""
    down = np.linspace(0.0, 1.0, shape[0], dtype=np.float32)[:, None, None]
    return np.broadcast_to(_SKY_HIGH + down * (_SKY_LOW - _SKY_HIGH), (*shape, 3))
