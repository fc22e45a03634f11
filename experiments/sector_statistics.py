"""Statistics of sectors of range images, by which a forest tells real from simulated ones."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

_RING_GROUPS = 8
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_NEAR_M = 0.3  # from one return to the next on the same surface


def _name() -> tuple[str, ...]:
    groups = range(1, _RING_GROUPS + 1)
    levels = [f"quantile {level:g}" for level in _LEVELS]
    names = [f"share of returns, rings {group} of {_RING_GROUPS}" for group in groups]
    names += [f"mean intensity, rings {group} of {_RING_GROUPS}" for group in groups]
    names += ["single missing returns", "single returns amid none", "share of no return"]
    for what in ("range", "intensity"):
        for where in ("rings", "columns"):
            names += [f"{what} step between {where}, {level}" for level in levels]
    names += [f"bend of the range along a ring, {level}" for level in levels]
    names += [f"intensity, {level}" for level in levels]
    return (*names, "share of intensity 0", "intensities off the steps of hundredths")


NAMES = _name()


def describe(images: Array) -> Array:
    """Statistics (n, k), as `NAMES` says, of sectors (n, 4, rings, columns): range, intensity, return, counted."""
    ranges, light, mark, counted = images[:, 0], images[:, 1], images[:, 2] > 0, images[:, 3] > 0
    groups = np.array_split(np.arange(images.shape[2]), _RING_GROUPS)
    columns = [_mean(mark[:, rows], counted[:, rows]) for rows in groups]
    columns += [_mean(light[:, rows], mark[:, rows]) for rows in groups]
    inner = counted[:, :, :-2] & counted[:, :, 1:-1] & counted[:, :, 2:]
    left, middle, right = mark[:, :, :-2], mark[:, :, 1:-1], mark[:, :, 2:]
    columns += [_mean(~middle & left & right, inner), _mean(middle & ~left & ~right, inner), _mean(~mark, counted)]
    for values in (ranges, light):
        for axis in (1, 2):
            near = [np.take(values, np.arange(a, values.shape[axis] - 1 + a), axis=axis) for a in (0, 1)]
            both = [np.take(mark, np.arange(a, values.shape[axis] - 1 + a), axis=axis) for a in (0, 1)]
            columns += _quantiles(np.abs(near[0] - near[1]), both[0] & both[1])
    steps = [np.abs(ranges[:, :, 1:-1] - ranges[:, :, side]) for side in (slice(None, -2), slice(2, None))]
    bend = np.abs(ranges[:, :, 1:-1] - (ranges[:, :, :-2] + ranges[:, :, 2:]) / 2)
    columns += _quantiles(bend, left & middle & right & (steps[0] < _NEAR_M) & (steps[1] < _NEAR_M))
    columns += _quantiles(light, mark)
    off = np.abs(light * 100 - np.round(light * 100)) > 0.01
    columns += [_mean(light == 0, mark), _mean(off, mark)]
    return np.nan_to_num(np.stack(columns, axis=1))


def _mean(values: Array, mark: Array) -> Array:
    """The mean (n,) of the marked values of each sector; 0 where none is."""
    return np.asarray((values * mark).sum(axis=(1, 2)) / np.maximum(mark.sum(axis=(1, 2)), 1))


def _quantiles(values: Array, mark: Array) -> list[Array]:
    """Quantiles of the marked values of each sector."""
    none = np.zeros(len(_LEVELS))
    found = [np.quantile(v[m], _LEVELS) if m.any() else none for v, m in zip(values, mark, strict=True)]
    return list(np.array(found).T)
