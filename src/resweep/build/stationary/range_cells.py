"""The ranges of each direction as volumes: one for each centimetre of range in which shots of the direction ended.

Seen from where the sensor stood, a volume is as wide as its direction is from the next. Across, its shape is fixed.
Along the beam it is a mean range, a slope of it across the beam and a spread, which EM learns (`learning`). The width
of the beam, over which the sensor averages what it hits, and the noise of ranges are part of the volumes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from resweep.build.settings.hybrid import HybridConfig
from resweep.build.stationary.directions import Directions
from resweep.map.cloud import Cloud
from resweep.map.reflectance import compensate_range
from resweep.pose import Array
from resweep.voxels import UNIFORM_VARIANCE_DIVISOR, number_keys
from resweep.worlds.layers.volumes import WHOLE_BEAM_M, Volumes, pack_symmetric, unpack_symmetric

CELL_M = 0.01  # of range; chosen, like all settings here, on other targets than those of `experiments.a_table1`
SPREAD_MIN_M = 0.001  # of ranges in a volume
_TAU = 2.0  # A, III-C
_UNLEARNED = 0.5  # permeability before any beam is counted
_RANGE_CELLS = 1 << 24  # of a direction: more than any range has
_RIDGE = 1e-7  # m², added to variances across, where a volume has no width in one of them


@dataclass(frozen=True, eq=False)
class RangeCells:
    """``volumes`` (v,), their axes ``frame`` (v, 3, 3) (`Directions.frames`), and their shape ``across`` (v, 2) m²."""

    volumes: Volumes
    frame: Array
    across: Array

    @classmethod
    def of(cls, cloud: Cloud, directions: Directions, config: HybridConfig) -> RangeCells:
        """Volumes of the points of a cloud that a stationary sensor saw; points of other labels never share one."""
        away = cloud.points.astype(np.float64) - cloud.sensor
        direction = directions.find(away)
        unit = directions.unit[direction]
        reach = (away * unit).sum(axis=1)
        near = np.floor(reach / CELL_M).astype(np.int64)
        label = number_keys(cloud.label)
        cell = number_keys(number_keys(direction * _RANGE_CELLS + near) * (label.max() + 1) + label)
        count = np.bincount(cell)
        first = np.zeros(len(count), np.int64)
        first[cell[::-1]] = np.arange(len(cell))[::-1]
        range_m = np.bincount(cell, reach) / count
        frame = directions.frames(unit[first])
        mean = cloud.sensor[first] + unit[first] * range_m[:, None]
        steps = np.array([directions.step_h_rad, directions.step_v_rad])
        across = (steps * range_m[:, None]) ** 2 / UNIFORM_VARIANCE_DIVISOR
        spread2 = np.bincount(cell, (reach - range_m[cell]) ** 2) / count
        volumes = Volumes(
            mean,
            pack_symmetric(_compose(frame, across, np.zeros((len(count), 2)), spread2)),
            _UNLEARNED,
            np.full(len(count), CELL_M),
            cloud.label[first],
            _find_reflectance(cloud, cell, config),
            extra=_describe(cloud, cell, count),
            tau=_TAU,
            element_m=WHOLE_BEAM_M,
        )
        return cls(volumes, frame, across)

    def reshape(self, count: Array, moments: Array, prior: float) -> RangeCells:
        """The volumes with range, slope and spread of the ends that each explains (`BeamStatistics.end_moments`).

        ``count`` (v,) of ends; with them are ``prior`` ends that lie as the present Gaussian says.
        """
        present = self.volumes
        number = (count + prior)[:, None]
        shift = moments[:, :3] / number
        second = unpack_symmetric((moments[:, 3:] + prior * present.covariance.astype(np.float64)) / number)
        covariance = second - shift[:, :, None] * shift[:, None, :]
        slope, spread2 = _decompose(self.frame, covariance)
        seen = np.einsum("nki,ni->nk", self.frame, shift)
        farther = seen[:, 2] - (slope * seen[:, :2]).sum(axis=1)
        mean = present.mean + farther[:, None] * self.frame[:, 2]
        changed = pack_symmetric(_compose(self.frame, self.across, slope, spread2))
        return self.with_volumes(present.with_(mean=mean.astype(np.float32), covariance=changed.astype(np.float32)))

    def with_volumes(self, volumes: Volumes) -> RangeCells:
        """The same with its volumes changed."""
        return replace(self, volumes=volumes)


def _compose(frame: Array, across: Array, slope: Array, spread2: Array) -> Array:
    """Covariances (v, 3, 3) of volumes that lie ``slope`` (v, 2) across their direction."""
    seen = np.zeros((len(slope), 3, 3))
    leaning = across * slope
    seen[:, 0, 0], seen[:, 1, 1] = across.T
    seen[:, :2, 2] = seen[:, 2, :2] = leaning
    seen[:, 2, 2] = (leaning * slope).sum(axis=1) + np.maximum(spread2, SPREAD_MIN_M**2)
    return np.asarray(np.einsum("nki,nkl,nlj->nij", frame, seen, frame))


def _decompose(frame: Array, covariance: Array) -> tuple[Array, Array]:
    """The slope (v, 2) of ranges across the direction, and their variance (v,) around it, of covariances (v, 3, 3)."""
    seen = np.einsum("nki,nij,nlj->nkl", frame, covariance, frame)
    a, b, c = (seen[:, i, j] + (_RIDGE if i == j else 0.0) for i, j in ((0, 0), (0, 1), (1, 1)))
    p, q = seen[:, 0, 2], seen[:, 1, 2]
    slope = np.stack([c * p - b * q, a * q - b * p], axis=1) / (a * c - b * b)[:, None]
    return slope, seen[:, 2, 2] - slope[:, 0] * p - slope[:, 1] * q


def _find_reflectance(cloud: Cloud, cell: Array, config: HybridConfig) -> Array:
    bright = compensate_range(cloud.intensity, cloud.range_m, config.volume_config.reflectance)
    return (np.bincount(cell, bright) / np.bincount(cell)).astype(np.float32)


def _describe(cloud: Cloud, cell: Array, count: Array) -> dict[str, Array]:
    """The further columns of the volumes: points of each, beams (which are counted later), colours if there are any."""
    none = np.zeros(len(count), np.int32)
    extra: dict[str, Array] = {"passed": none, "stopped": none, "count": count.astype(np.int32)}
    if cloud.colour is not None:
        for axis, name in enumerate(("red", "green", "blue")):
            extra[name] = np.rint(np.bincount(cell, cloud.colour[:, axis]) / count).astype(np.uint8)
    return extra
