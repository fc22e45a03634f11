"""One revolution (or frame) of a LiDAR as columns: the beams fired and the returns on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory, check_rigid, inverse, transform


class BeamStatus(IntEnum):
    """Why a beam has a return, or has none.

    Worlds that know which space was observed give `EMPTY_AS_RECORDED` or `UNKNOWN` in place of `NOTHING_HIT`.
    """

    RETURN = 0
    NOTHING_HIT = 1
    BELOW_THRESHOLD = 2
    OUT_OF_RANGE = 3
    DROPPED = 4
    NO_RETURN = 5  # recorded without return, the reason unknown
    EMPTY_AS_RECORDED = 6  # nothing hit, and recorded beams crossed all that it crossed
    UNKNOWN = 7  # hit nothing, but left the space that recorded beams crossed before its range ended
    DROPPED_BY_MODEL = 8  # returned in simulation, but a learned model dropped it


_MAX_STATUS = max(BeamStatus)
_BEAM_COLUMNS: dict[str, tuple[Any, int]] = {
    "beam_origin": (np.float32, 3),
    "beam_direction": (np.float32, 3),
    "beam_time": (np.float64, 1),
    "beam_ring": (np.uint16, 1),
    "beam_column": (np.int32, 1),
    "beam_status": (np.uint8, 1),
}
_RETURN_COLUMNS: dict[str, tuple[Any, int]] = {
    "beam": (np.int32, 1),
    "range": (np.float32, 1),
    "intensity": (np.float32, 1),
    "return_index": (np.uint8, 1),
    "label": (np.int32, 1),
    "instance": (np.int32, 1),
}


def _column(name: str, values: Any, dtype: Any, width: int) -> Array:
    array = np.asarray(values, dtype=dtype)
    shape_ok = array.ndim == 1 if width == 1 else array.ndim == 2 and array.shape[1] == width
    if not shape_ok:
        want = "(n,)" if width == 1 else f"(n, {width})"
        raise ResweepError(f"sweep column '{name}': expected shape {want}, got {array.shape}")
    return array


def _point_to(points: Array, distance: Array) -> Array:
    """Unit directions (n, 3) to points at ``distance`` (n,); x for those at the sensor, to which any leads."""
    direction = points / np.maximum(distance, 1e-12)[:, None]
    direction[distance < 1e-12] = 1.0, 0.0, 0.0
    return np.asarray(direction)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Beams fired in one sweep, and what came back on them.

    Beam columns (b,): ``beam_origin`` and ``beam_direction`` (b, 3) in the sensor's frame at the
    moment of firing (unit directions as the sensor believes them), ``beam_time`` absolute seconds,
    ``beam_ring`` channel from 0, ``beam_column`` firing step from 0, ``beam_status`` a `BeamStatus`.

    Return columns (n,): ``beam`` indexes the beam columns, ``range`` metres, ``intensity`` relative,
    ``return_index`` 0 for the first reported on its beam, ``label`` and ``instance`` (0: none).

    ``pose`` is ``T_world_sensor`` at ``timestamp``; ``trajectory`` holds ``T_world_sensor`` through
    the sweep, or is None where the sensor was stationary or the points are already motion-compensated.
    ``extra`` holds further return columns by name, ``beam_extra`` further beam columns, ``boxes`` the annotated objects
    where there are any.
    """

    pose: Array
    beam_origin: Array
    beam_direction: Array
    beam_time: Array
    beam_ring: Array
    beam_column: Array
    beam_status: Array
    beam: Array
    range: Array
    intensity: Array
    return_index: Array
    label: Array
    instance: Array
    timestamp: float = 0.0
    trajectory: Trajectory | None = None
    sensor: str = ""
    extra: Mapping[str, Array] = field(default_factory=dict)
    boxes: Boxes | None = None
    beam_extra: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pose = check_rigid(self.pose, "sweep pose")
        if pose.size != 16:
            raise ResweepError(f"sweep pose: expected one 4x4 matrix, got shape {pose.shape}")
        object.__setattr__(self, "pose", pose.reshape(4, 4))
        for columns, key in ((_BEAM_COLUMNS, "beam_direction"), (_RETURN_COLUMNS, "range")):
            count = len(getattr(self, key))
            for name, (dtype, width) in columns.items():
                array = _column(name, getattr(self, name), dtype, width)
                if len(array) != count:
                    raise ResweepError(f"sweep column '{name}' has {len(array)} rows, '{key}' has {count}")
                object.__setattr__(self, name, array)
        for name, values in self.extra.items():
            if len(values) != len(self.range):
                raise ResweepError(f"sweep column '{name}' has {len(values)} rows, 'range' has {len(self.range)}")
        for name, values in self.beam_extra.items():
            if len(values) != self.n_beams:
                raise ResweepError(f"sweep column '{name}' has {len(values)} rows, there are {self.n_beams} beams")
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))
        object.__setattr__(self, "beam_extra", MappingProxyType(dict(self.beam_extra)))
        # As unsigned numbers, those below zero are the largest.
        if len(self.beam) and self.beam.view(np.uint32).max() >= len(self.beam_direction):
            worst = int(self.beam.min() if self.beam.min() < 0 else self.beam.max())
            raise ResweepError(f"sweep column 'beam' points at beam {worst} of {len(self.beam_direction)}")
        if len(self.beam_status) and self.beam_status.max() > _MAX_STATUS:
            raise ResweepError(f"sweep column 'beam_status' holds {self.beam_status.max()}, which no BeamStatus is")

    @classmethod
    def trusted(cls, **fields: Any) -> Sweep:
        """The sweep of columns that are known to fit, in their own types: nothing is checked. All fields are given."""
        instance = object.__new__(cls)
        for name in ("extra", "beam_extra"):
            fields[name] = MappingProxyType(dict(fields[name]))
        instance.__dict__.update(fields)
        return instance

    def __reduce__(self) -> tuple[Any, ...]:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _restore, ({**given, "extra": dict(self.extra), "beam_extra": dict(self.beam_extra)},)

    def __len__(self) -> int:
        """Number of returns."""
        return len(self.range)

    def __repr__(self) -> str:
        """Few lines, whatever the number of beams: no column is printed."""
        empty = self.n_beams - int(np.unique(self.beam).size)
        returns = f"{len(self):,} returns on {self.n_beams:,} beams, {empty:,} of them empty"
        lines = [f"Sweep({returns}; sensor {self.sensor or 'unknown'}"]
        if self.n_beams:
            first, last = float(self.beam_time.min()), float(self.beam_time.max())
            rings = np.unique(self.beam_ring).size
            lines.append(f"at {self.timestamp:.6f} s, beams from {first:.6f} to {last:.6f} s, {rings} rings")
        x, y, z = self.pose[:3, 3]
        motion = "moving" if self.trajectory is not None else "stationary or motion undone"
        lines.append(f"sensor frame at {x:.2f} {y:.2f} {z:.2f} m in the world, {motion}")
        if len(self):
            named = f"{np.unique(self.label).size} ids (log.labels.count(sweep.label) names them)"
            labels = named if self.label.any() else "none"
            lines.append(f"ranges {self.range.min():.2f} to {self.range.max():.2f} m, labels: {labels}")
        further = [
            *self.extra,
            *(f"{name} of beams" for name in self.beam_extra),
            *([f"{len(self.boxes)} boxes"] if self.boxes is not None else []),
        ]
        if further:
            lines.append(f"with {', '.join(further)}")
        return ";\n      ".join(lines) + ")"

    @property
    def n_beams(self) -> int:
        """Number of beams fired, with or without return."""
        return len(self.beam_direction)

    @property
    def n_unknown(self) -> int:
        """Number of beams that look where nothing was recorded (`BeamStatus.UNKNOWN`)."""
        return int(np.count_nonzero(self.beam_status == BeamStatus.UNKNOWN))

    @cached_property
    def points(self) -> Array:
        """Returns (n, 3) float32 as the sensor reports them, each in its frame when it fired."""
        points = self.beam_direction.take(self.beam, axis=0)
        points *= self.range[:, None]
        if self.beam_origin.strides[0]:  # a broadcast zero origin needs no adding
            points += self.beam_origin[self.beam]
        return points

    @cached_property
    def time(self) -> Array:
        """Firing time of each return, absolute seconds."""
        return np.asarray(self.beam_time[self.beam])

    @cached_property
    def ring(self) -> Array:
        """Channel of each return."""
        return np.asarray(self.beam_ring[self.beam])

    @cached_property
    def column(self) -> Array:
        """Firing step of each return."""
        return np.asarray(self.beam_column[self.beam])

    def deskewed(self) -> Array:
        """The returns (n, 3) float32 in the one frame of ``pose``: motion during the sweep undone."""
        if self.trajectory is None or len(self) == 0:
            return np.array(self.points)
        motion = self.trajectory.moved(inverse(self.pose))
        return motion.carried(self.time, self.points)

    def deskewed_beams(self) -> tuple[Array, Array]:
        """Origins and directions (b, 3) float32 of all beams in the one frame of ``pose``."""
        if self.trajectory is None:
            return np.array(self.beam_origin), np.array(self.beam_direction)
        motion = self.trajectory.moved(inverse(self.pose))
        origin = motion.carried(self.beam_time, self.beam_origin)
        direction = motion.carried(self.beam_time, self.beam_direction, directions=True)
        return origin, direction

    def world_points(self) -> Array:
        """The returns (n, 3) float64 in world coordinates."""
        return transform(self.pose, self.deskewed().astype(np.float64))

    def moved_to(self, pose: Array, time: float) -> Sweep:
        """The sweep taken to ``pose`` and ``time``, with its beams' times and its motion.

        Where it is there already, to the rounding of text, it stays as it is.
        """
        later = time - self.timestamp
        at_home = np.allclose(self.pose, pose, rtol=0, atol=1e-7)
        if later == 0 and at_home:
            return self
        T_new_old = np.eye(4) if at_home else portable.matmul(pose, inverse(self.pose))
        motion = self.trajectory
        if motion is not None:
            motion = Trajectory(motion.times + later, portable.matmul(T_new_old, motion.poses))
        there = self.pose if at_home else pose
        return replace(self, pose=there, timestamp=time, trajectory=motion, beam_time=self.beam_time + later)

    def with_motion(self, motion: Trajectory, timestamp: float) -> Sweep:
        """The sweep of raw points with ``motion`` through its beams' times, which the motion must cover."""
        first = min(float(self.beam_time.min()), timestamp) if self.n_beams else timestamp
        last = max(float(self.beam_time.max()), timestamp) if self.n_beams else timestamp
        return replace(self, pose=motion.at(timestamp), timestamp=timestamp, trajectory=motion.window(first, last))

    def with_origins(self, origin: Array) -> Sweep:
        """The same points, measured from ``origin`` (n, 3) in the sensor's frame; for sweeps of one beam a point."""
        offset = self.points.astype(np.float64) - origin
        distance = np.linalg.norm(offset, axis=1)
        direction = _point_to(offset, distance)
        return replace(self, beam_origin=origin.astype(np.float32), beam_direction=direction, range=distance)

    def select(self, keep: Array) -> Sweep:
        """The same beams with only the returns where ``keep`` (n,) is true.

        A beam that loses all its returns becomes `BeamStatus.DROPPED`.
        """
        keep = np.asarray(keep, dtype=bool)
        status = self.beam_status.copy()
        had = np.zeros(self.n_beams, bool)
        had[self.beam] = True
        has = np.zeros(self.n_beams, bool)
        has[self.beam[keep]] = True
        status[had & ~has] = BeamStatus.DROPPED
        rows = np.flatnonzero(keep)  # sooner taken than marks are
        columns = {name: getattr(self, name)[rows] for name in _RETURN_COLUMNS}
        extra = {name: values[rows] for name, values in self.extra.items()}
        return replace(self, beam_status=status, extra=extra, **columns)

    def select_beams(self, keep: Array) -> Sweep:
        """Only the beams where ``keep`` (b,) is true, with the returns on them."""
        keep = np.asarray(keep, dtype=bool)
        renumbered = np.cumsum(keep) - 1
        rows = keep[self.beam]
        columns = {name: getattr(self, name)[keep] for name in _BEAM_COLUMNS}
        columns |= {name: getattr(self, name)[rows] for name in _RETURN_COLUMNS}
        columns["beam"] = renumbered[columns["beam"]]
        extra = {name: values[rows] for name, values in self.extra.items()}
        beam_extra = {name: values[keep] for name, values in self.beam_extra.items()}
        return replace(self, extra=extra, beam_extra=beam_extra, **columns)

    @classmethod
    def from_points(
        cls,
        points: Array,
        *,
        pose: Array | None = None,
        intensity: Array | None = None,
        time: Array | None = None,
        ring: Array | None = None,
        column: Array | None = None,
        label: Array | None = None,
        instance: Array | None = None,
        timestamp: float = 0.0,
        trajectory: Trajectory | None = None,
        sensor: str = "",
        extra: Mapping[str, Array] | None = None,
        boxes: Boxes | None = None,
    ) -> Sweep:
        """A sweep of bare points (n, 3) in the sensor frame: one beam a point, no empty beams known."""
        points = np.asarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ResweepError(f"points: expected shape (n, 3), got {points.shape}")
        count = len(points)
        distance = np.linalg.norm(points, axis=1)
        zeros = np.zeros(count)

        def given(values: Array | None, default: Array) -> Array:
            return default if values is None else values

        return cls(
            pose=np.eye(4) if pose is None else pose,
            beam_origin=np.broadcast_to(np.zeros(3, np.float32), (count, 3)),
            beam_direction=_point_to(points, distance),
            beam_time=given(time, np.full(count, timestamp)),
            beam_ring=given(ring, zeros),
            beam_column=given(column, np.arange(count)),
            beam_status=zeros,
            beam=np.arange(count),
            range=distance,
            intensity=given(intensity, zeros),
            return_index=zeros,
            label=given(label, zeros),
            instance=given(instance, zeros),
            timestamp=timestamp,
            trajectory=trajectory,
            sensor=sensor,
            extra={} if extra is None else extra,
            boxes=boxes,
        )


def _restore(fields: Mapping[str, Any]) -> Sweep:
    """The sweep that was pickled."""
    return Sweep.trusted(**fields)
