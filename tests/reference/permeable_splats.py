"""The NumPy reference of permeable splats: cpp/scene/splats, cpp/trace/stops.

Every ray is held against every disc: exact, and slow. Discs do not blend here, as those that are permeable never do.
"""

from __future__ import annotations

import numpy as np

from resweep.pose import Array
from resweep.worlds.layers.splats import Splats
from tests.reference.permeable_volumes import CELL, GOLDEN, mix

ELEMENT_M = 0.05  # rays of a pulse that meet a disc within this draw the same


def disc_ranges(splats: Splats, origins: Array, directions: Array) -> Array:
    """Ranges (rays, discs) at which rays (n, 3) meet discs; infinity where they do not."""
    direction, normal = np.asarray(directions, np.float64), splats.normal.astype(np.float64)
    away = splats.centre[None].astype(np.float64) - np.asarray(origins, np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ranges = np.einsum("nvi,vi->nv", away, normal) / (direction @ normal.T)
    off = np.linalg.norm(ranges[..., None] * direction[:, None] - away, axis=-1)
    return np.where((ranges > 0) & (off <= splats.radius), ranges, np.inf)


def keyed_disc_ranges(splats: Splats, origins: Array, directions: Array, keys: Array) -> Array:
    """Ranges (n,) of rays with the tracer's own random numbers, for pulses with these ``keys`` (n,) uint64.

    The nearest of the discs that stop a ray counts; infinity where none does.
    """
    ranges = disc_ranges(splats, origins, directions)
    known = np.where(np.isfinite(ranges), ranges, 0.0)
    place = np.asarray(origins, np.float64)[:, None] + known[..., None] * np.asarray(directions, np.float64)[:, None]
    steps = np.floor(place / ELEMENT_M).astype(np.int64)
    bits = splats.centre.view(np.uint32).astype(np.uint64)
    cell, where = np.zeros(ranges.shape, np.uint64), np.zeros(len(splats), np.uint64)
    with np.errstate(over="ignore"):
        for axis in range(3):
            cell = cell * CELL + (steps[..., axis] & 0xFFFFFFFF).astype(np.uint64)
            where = mix(where ^ bits[:, axis])
        draw = mix(mix(keys[:, None] + GOLDEN * (where[None] + np.uint64(1))) ^ cell)
    passed = (draw >> np.uint64(40)).astype(np.float64) / 2.0**24 < _shares(splats)
    return np.asarray(np.where(passed, np.inf, ranges).min(axis=1))


def disc_outcomes(splats: Splats, origins: Array, directions: Array) -> tuple[Array, Array]:
    """The chance (rays, discs) that each disc stops each ray, and the chance (rays,) that none does."""
    ranges = disc_ranges(splats, origins, directions)
    order = np.argsort(ranges, axis=1, kind="stable")
    row = np.arange(len(ranges))[:, None]
    passed = np.where(np.isfinite(ranges), _shares(splats), 1.0)[row, order]
    left = np.cumprod(passed, axis=1)
    stops = np.empty_like(left)
    stops[row, order] = np.concatenate([np.ones((len(left), 1)), left[:, :-1]], axis=1) * (1.0 - passed)
    return stops, left[:, -1]


def _shares(splats: Splats) -> Array:
    return np.zeros(len(splats)) if splats.permeability is None else splats.permeability.astype(np.float64)
