"""Which space the beams of a log crossed, gathered sweep by sweep."""

from __future__ import annotations

import numpy as np

from resweep import _core, portable
from resweep.log import Log
from resweep.map.config import MapConfig
from resweep.pose import Array, transform
from resweep.sweep import Sweep
from resweep.worlds.observed import ObservedSpace

# Chosen by hand.
EMPTY_RANGE_M = 80.0  # how far beams without return count where the sensor is unknown; as volumes count them
_MAX_SPREAD_RAD = float(np.deg2rad(1.5))  # rings farther apart leave room for things that no beam hit


class SpaceObserver:
    """Gathers the voxels, around ``origin`` (3,), that the beams of a log's sweeps cross.

    A beam without return crosses space up to the range of its sensor. Between neighbouring rings space counts as
    observed by the nearer one.
    """

    def __init__(self, origin: Array, voxel_m: float, empty_range_m: float) -> None:
        self._origin, self._voxel_m, self._empty_range_m = origin, voxel_m, empty_range_m
        self._native = _core.ObservedSpace(voxel_m)

    @classmethod
    def of(cls, log: Log, origin: Array, config: MapConfig) -> SpaceObserver | None:
        """An observer for the sweeps of a log; None where its beams are unknown, or nothing is to be kept.

        Those of a cloud are not known well enough: where it was measured from may be assumed.
        """
        if config.observed_voxel_m == 0 or not log.sensor_position_known or log.cloud != "no":
            return None
        range_m = EMPTY_RANGE_M if log.sensor is None else log.sensor.range_max_m
        return cls(origin, config.observed_voxel_m, range_m)

    def add(self, sweep: Sweep) -> None:
        """Take a further sweep."""
        length = np.full(sweep.n_beams, self._empty_range_m, np.float32)
        length[sweep.beam] = 0.0
        np.maximum.at(length, sweep.beam, np.nan_to_num(sweep.range, nan=0.0, posinf=0.0))
        shift = sweep.pose.copy()
        shift[:3, 3] -= self._origin
        start, direction = sweep.deskewed_beams()
        origins = transform(shift, start.astype(np.float64)).astype(np.float32)
        turned = np.ascontiguousarray(portable.matmul(direction.astype(np.float64), shift[:3, :3].T), np.float32)
        self._native.mark(origins, turned, length, spread=measure_spread(sweep))

    @property
    def observed(self) -> ObservedSpace:
        """What was gathered so far."""
        return ObservedSpace.of(self._native, self._voxel_m, self._empty_range_m)


def measure_spread(sweep: Sweep) -> float:
    """Half the angle between neighbouring rings of a sweep, radians; 0 where it has no rings."""
    elevation = find_elevations(sweep)
    return min(float(np.median(np.diff(elevation))) / 2, _MAX_SPREAD_RAD) if len(elevation) > 1 else 0.0


def measure_ring_gap(log: Log) -> float:
    """Mean angle between neighbouring rings of a log's sensor, radians; 0 where it has no rings.

    Where the sensor is unknown, its rings are those of the first sweep.
    """
    if log.sensor is not None:
        elevation = np.deg2rad(np.array(log.sensor.elevations_deg))
    else:
        elevation = find_elevations(log[0]) if len(log) else np.zeros(0)
    return float(elevation[-1] - elevation[0]) / (len(elevation) - 1) if len(elevation) > 1 else 0.0


def find_elevations(sweep: Sweep) -> Array:
    """Mean elevation (n,) of the beams of each ring of a sweep, radians, ascending."""
    count = np.bincount(sweep.beam_ring)
    rings = np.flatnonzero(count)
    height = np.bincount(sweep.beam_ring, sweep.beam_direction[:, 2])[rings] / np.maximum(count[rings], 1)
    return np.sort(portable.arcsin(np.clip(np.nan_to_num(height), -1, 1)))
