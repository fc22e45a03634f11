"""The grid of a sensor, rings × columns, by which learned models know its lasers."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from resweep.config import Spec
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sweep import Sweep

_BEAM_STRIDE = 7  # one beam in so many is enough for the spread of a ring
_RING_SPREAD_RAD = 0.01  # of the elevations within a ring: calibration stays below it, rosettes lie far above
_SAME_DEG = 0.5  # median difference of elevations between the lasers of one model of sensor
_SAME_COLUMNS = 1.5  # ratio of columns up to which an image is about as fine
# A model that knows its lasers cannot predict others.
_ADVICE = "learn one from logs of this sensor, or one that knows no lasers (resweep learn raydrop --transferable)"
_COLUMN_MULTIPLE = 16  # so that networks can halve the columns


class SensorGrid(Spec):
    """Rings and columns of a spinning sensor.

    ``elevation_deg`` (rings) is the mean elevation of the beams of each ring, ``columns`` the number of beams of a ring
    in a turn, rounded down to a multiple of 16.
    """

    rings: Annotated[int, Field(ge=2, le=1024)]
    columns: Annotated[int, Field(ge=16, le=65536, multiple_of=_COLUMN_MULTIPLE)]
    elevation_deg: tuple[Annotated[float, Field(ge=-90.0, le=90.0)], ...]
    sensor: str = ""

    @property
    def rows(self) -> int:
        """Rows of its images: the rings, up to a multiple of 8, since networks halve them."""
        return -(-self.rings // 8) * 8

    def check(self, sweep: Sweep, *, image: bool) -> None:
        """Raise unless a sweep is of the same lasers, and for an ``image`` as finely stepped."""
        other = find_sensor_grid(sweep)
        what = f"realism: the model is for {self.rings} rings of {self.columns} columns"
        if not self.rings / 2 < other.rings <= self.rings:
            raise ResweepError(f"{what}, the sweep has {other.rings} rings; {_ADVICE}")
        known = np.isfinite(other.elevation_deg)
        apart = np.abs(np.array(other.elevation_deg) - np.array(self.elevation_deg)[: other.rings])[known]
        if float(np.median(apart)) > _SAME_DEG:
            raise ResweepError(
                f"{what} whose elevations differ from the sweep's by {float(np.median(apart)):.1f}° in the middle; "
                f"{_ADVICE}"
            )
        ratio = other.columns / self.columns
        if image and not 1 / _SAME_COLUMNS <= ratio <= _SAME_COLUMNS:
            raise ResweepError(
                f"{what}, the sweep has {other.columns} columns; learn one from logs of this sensor, or one that looks "
                "at beams by themselves (variant mlp or trees)"
            )


def find_sensor_grid(sweep: Sweep) -> SensorGrid:
    """The grid of the beams of a sweep; raises where there is none, as with rosettes and clouds without rings."""
    ring = sweep.beam_ring.astype(np.int64)
    z = sweep.beam_direction[:, 2].astype(np.float64)
    counts = np.bincount(ring) if len(ring) else np.zeros(0, np.int64)
    if np.count_nonzero(counts) < 2 or np.median(counts[counts > 0]) < _COLUMN_MULTIPLE:
        raise ResweepError(_describe_problem(f"{np.count_nonzero(counts)} rings"))
    height = np.bincount(ring, z) / np.maximum(counts, 1)
    few = slice(None, None, _BEAM_STRIDE)
    if float(np.median(np.abs(z[few] - height[ring[few]]))) > _RING_SPREAD_RAD:
        raise ResweepError(_describe_problem("rings whose beams have no elevation in common"))
    if sweep.beam_column.min() == sweep.beam_column.max():
        raise ResweepError(_describe_problem("no columns"))
    return SensorGrid.model_construct(
        rings=len(counts),
        # Not rounded up: images would have empty columns.
        columns=int(np.median(counts[counts > 0])) // _COLUMN_MULTIPLE * _COLUMN_MULTIPLE,
        elevation_deg=_find_elevations(height, counts),
        sensor=sweep.sensor,
    )


def _find_elevations(height: Array, counts: Array) -> tuple[float, ...]:
    """Elevation of each ring in degrees, NaN for those without beams."""
    found = [math.degrees(math.asin(min(1.0, max(-1.0, float(z))))) for z in height]
    return tuple(round(z, 3) if count else math.nan for z, count in zip(found, counts, strict=True))


def _describe_problem(problem: str) -> str:
    return (
        f"realism: learned models need the grid of a spinning sensor, and the sweep has {problem}; "
        "take a sensor with rings and columns, or go without a model"
    )
