"""Sweeps as range images: a row for each laser, a column for each direction, the nearest return in each cell."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from resweep import portable
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.pose import Array
from resweep.sweep import Sweep

CHANNELS = ("range", "x", "y", "z", "intensity", "occupied")
RANGE, X, Y, Z, INTENSITY, OCCUPIED = range(len(CHANNELS))
_MAX_RING_SPREAD_DEG = 0.5  # a laser whose beams rise and fall by more draws no row
_EDGE_SHARE = 0.001  # of the elevations at either end, which are no row's

Elevation = Annotated[float, Field(ge=-90.0, le=90.0)]


class ImageGeometry(Spec):
    """Which direction each cell of an image looks in: ``elevation_deg`` of its rows from top to bottom, and columns.

    Columns go clockwise, as most sensors turn: the first begins behind the sensor.
    """

    columns: Annotated[int, Field(ge=16, le=1 << 15)]
    elevation_deg: Annotated[tuple[Elevation, ...], Field(min_length=2, max_length=1024)]

    @model_validator(mode="after")
    def _check(self) -> ImageGeometry:
        if any(low >= high for high, low in itertools.pairwise(self.elevation_deg)):
            raise SettingsError("elevation_deg", "expected elevations that fall from row to row")
        return self

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.elevation_deg)

    def find_rows(self, elevation_deg: Array) -> Array:
        """The row (n,) int64 whose elevation is nearest to each of ``elevation_deg`` (n,)."""
        rising = np.array(self.elevation_deg)[::-1]
        middle = (rising[1:] + rising[:-1]) / 2
        return np.asarray(self.rows - 1 - np.searchsorted(middle, elevation_deg))

    def find_columns(self, points: Array) -> Array:
        """The column (n,) int64 of points (n, 3) in the sensor's frame."""
        turn = 0.5 - portable.arctan2(points[:, 1].astype(np.float64), points[:, 0].astype(np.float64)) / (2 * math.pi)
        return np.asarray(np.minimum((turn * self.columns).astype(np.int64), self.columns - 1))


@dataclass(frozen=True, eq=False)
class SweepImage:
    """A sweep as an image: ``values`` (6, rows, columns) float32 of `CHANNELS`, 0 where nothing returned.

    ``range``, ``row`` and ``column`` (n,) are those of each return, ``nearest`` (rows, columns) int64 the return that
    each cell shows, -1 for none.
    """

    values: Array
    range: Array
    row: Array
    column: Array
    nearest: Array

    @property
    def hidden(self) -> Array:
        """Whether each return (n,) lies behind a nearer one of its cell."""
        return np.asarray(self.nearest[self.row, self.column] != np.arange(len(self.row)))


def make_image(sweep: Sweep, geometry: ImageGeometry, intensity: Array | None = None) -> SweepImage:
    """The image of a sweep, as its sensor reports it; ``intensity`` (n,) takes the place of the sweep's own."""
    points = sweep.points
    row, column = geometry.find_rows(find_elevations(sweep)), geometry.find_columns(points)
    ranges = _measure_ranges(points)
    far_first = np.argsort(-ranges, kind="stable")
    nearest = np.full((geometry.rows, geometry.columns), -1, np.int64)
    nearest[row[far_first], column[far_first]] = far_first  # of several returns in a cell, the last stays
    shown = np.maximum(nearest, 0)
    brightness = sweep.intensity if intensity is None else intensity
    values = np.zeros((len(CHANNELS), geometry.rows, geometry.columns), np.float32)
    if len(sweep):
        columns = (ranges, *points.T, brightness, np.ones(len(sweep)))
        for channel, kept in zip(values, columns, strict=True):
            channel[...] = np.where(nearest >= 0, kept[shown], 0)
    return SweepImage(values, ranges, row, column, nearest)


def find_elevations(sweep: Sweep) -> Array:
    """The elevation (n,) of each return in degrees: that of its laser where the sweep knows lasers, else its own."""
    points = sweep.points.astype(np.float64)
    own = np.degrees(portable.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1])))
    mean, spread = measure_rings(sweep)
    if len(mean) < 2:
        return np.asarray(own)
    return np.asarray(np.where(spread[sweep.ring] <= _MAX_RING_SPREAD_DEG, mean[sweep.ring], own))


def measure_rings(sweep: Sweep) -> tuple[Array, Array]:
    """Mean elevation and its standard deviation (k,) of the beams of each ring, in degrees; NaN for none."""
    ring, direction = sweep.beam_ring, sweep.beam_direction.astype(np.float64)
    if not len(ring):
        return np.zeros(0), np.zeros(0)
    elevation = np.degrees(portable.arctan2(direction[:, 2], np.hypot(direction[:, 0], direction[:, 1])))
    count = np.bincount(ring)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(ring, elevation) / count
        spread = np.sqrt(np.bincount(ring, (elevation - mean[ring]) ** 2) / count)
    return mean, spread


def find_geometry(sweep: Sweep, rows: int, columns: int) -> ImageGeometry:
    """The geometry that suits the sensor of a sweep: a row for each ring if there are as many, else even ones."""
    mean, spread = measure_rings(sweep)
    rings = np.sort(mean[np.isfinite(mean) & (spread <= _MAX_RING_SPREAD_DEG)])[::-1]
    if len(rings) == rows and (np.diff(rings) < -1e-3).all():
        return ImageGeometry(columns=columns, elevation_deg=tuple(np.round(rings, 4).tolist()))
    seen = np.sort(find_elevations(sweep))
    edge = int(_EDGE_SHARE * len(seen))
    low, high = (float(seen[edge]), float(seen[-1 - edge])) if len(seen) else (-25.0, 3.0)
    high = max(high, low + 1.0)  # a planar scanner has one elevation
    even = np.round(np.linspace(high, low, rows), 4)
    return ImageGeometry(columns=columns, elevation_deg=tuple(even.tolist()))


def _measure_ranges(points: Array) -> Array:
    x, y, z = points.T
    return np.asarray(np.sqrt(x * x + y * y + z * z))
