"""Real beams traced again: what a world says to the very beams of a recorded sweep."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep import _core
from resweep.calibration import Calibration
from resweep.pose import Array, Trajectory, transform
from resweep.scenario import Actor
from resweep.sensors import Sensor
from resweep.sensors.catalog import beam_slope
from resweep.simulate.actors import Cast
from resweep.simulate.align import align
from resweep.simulate.scene import native_plan, native_scene
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import World

_CHUNK_PULSES = 64
_RECORDED = {
    "name": "recorded",
    "range_max_m": 200.0,
    "wavelength_nm": 905.0,
    "rotation_rate_hz": 10.0,
    "pattern": {"kind": "spinning", "azimuth_resolution_deg": 0.2, "channels": {"elevation_deg": [0.0]}},
    "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
    "receiver": {"mode": "strongest"},
}


def one_ray_sensor(slope: float, range_max_m: float) -> Sensor:
    """A sensor without noise whose one ray stands for a beam ``slope`` wide at 1 m, up to ``range_max_m``."""
    beam = {"divergence_h_rad": slope, "divergence_v_rad": slope, "rays": "single"}
    return Sensor.model_validate({**_RECORDED, "range_max_m": range_max_m, "beam": beam})


@dataclass(frozen=True)
class Expectation:
    """How a world is asked what it expects of a beam.

    ``sigma_m`` is the spread of a range that a surface gives, and noise on top of a volume's; ``clutter`` the
    share of beams that follow no model (half of them return anywhere, half not at all), which keeps the
    likelihood of a surprise finite. The most likely return is the one with most probability within ``window_m``.
    """

    sigma_m: float = 0.03
    clutter: float = 0.02
    window_m: float = 0.1


class Retracer:
    """Traces the beams of recorded sweeps in one world, whose native scene is built once.

    ``sensor`` gives beam, receiver and noise; without one each beam is one exact ray up to 200 m.
    The firing pattern is always the recorded one. A world built from a log keeps the calibration of its lasers
    (``world.meta["calibration"]``): beams then leave as the lasers really fire, and read as they really read.
    With ``aligned`` each sweep's pose is first found again in the world, which corrects centimetres.
    ``actors`` are met where they are when each beam is fired, as in a `Simulator`.
    ``beam_slope`` is the width at 1 m of the recorded beams that are predicted; by default it is that of the catalog
    sensor that a sweep names.
    """

    def __init__(
        self,
        world: World,
        sensor: Sensor | None = None,
        *,
        actors: Sequence[Actor] = (),
        aligned: bool = False,
        expectation: Expectation | None = None,
        beam_slope: float | None = None,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        known = world.meta.get("calibration")
        self.calibration = None if known is None else Calibration(**known)
        self.aligned = aligned
        self.beam_slope = beam_slope
        self.expectation = expectation or Expectation()
        self.world = world
        self.sensor = Sensor.model_validate(_RECORDED) if sensor is None else sensor
        self.seed = seed
        self.threads = threads
        self.scene = native_scene(world)
        self._plan = native_plan(self.sensor)
        self._cast = Cast(world, actors)

    def with_actors(self, actors: Sequence[Actor]) -> Retracer:
        """The same with other actors; the scene and the layers already built are shared."""
        other = copy.copy(self)
        other._cast = Cast(self.world, actors, self._cast.shapes)
        return other

    def pose(self, recorded: Sweep) -> Array:
        """``T_world_sensor`` (4, 4) of the recorded sweep in this world."""
        return align(self.world, self._calibrated(recorded)) if self.aligned else recorded.pose

    def expected(self, recorded: Sweep, pose: Array | None = None) -> Sweep:
        """The recorded sweep's beams, each with its most likely return, without a draw.

        ``pose`` is its place in the world, if it is known already (default: as `pose` finds it).
        ``extra["probability"]`` (n,) is that of a range within ``expectation.window_m`` of it. A beam whose
        likeliest outcome is no return has none.
        """
        found = self._predicted(recorded, None, pose)
        beam = np.flatnonzero(np.isfinite(found["range"]))
        ranges = found["range"][beam]
        if self._fits(recorded):
            ranges = ranges - self._offsets(recorded)[beam]
        status = np.full(recorded.n_beams, BeamStatus.NOTHING_HIT, np.uint8)
        status[beam] = BeamStatus.RETURN
        extra = {"primitive": found["kind"][beam], "probability": found["probability"][beam]}
        return replace(
            recorded,
            beam_status=status,
            beam=beam.astype(np.int32),
            range=ranges,
            intensity=found["reflected"][beam],
            return_index=np.zeros(len(beam), np.uint8),
            label=found["label"][beam],
            instance=found["instance"][beam],
            extra=extra,
            boxes=None,
        )

    def log_likelihood(self, recorded: Sweep, pose: Array | None = None) -> Array:
        """Log-likelihood (b,) of each recorded beam: of its range per metre, or of its having no return.

        Of several returns on a beam the nearest counts.
        """
        measured = np.full(recorded.n_beams, np.inf, np.float32)
        ranges = recorded.range
        if self._fits(recorded):
            ranges = ranges + self._offsets(recorded)[recorded.beam]
        np.minimum.at(measured, recorded.beam, ranges)
        return np.asarray(self._predicted(recorded, measured, pose)["log_likelihood"])

    def _predicted(self, recorded: Sweep, measured: Array | None, pose: Array | None) -> dict[str, Array]:
        """What the world expects of each recorded beam."""
        place = self.pose(recorded) if pose is None else pose
        sweep = replace(self._calibrated(recorded), pose=place)
        if recorded.trajectory is not None:
            sweep = replace(sweep, trajectory=recorded.trajectory.moved(sweep.pose @ np.linalg.inv(recorded.pose)))
        start, direction = sweep.deskewed_beams()
        place = place.copy()
        place[:3, 3] -= self.world.origin
        how = self.expectation
        return dict(
            self.scene.predict(
                transform(place, start.astype(np.float64)).astype(np.float32),
                np.ascontiguousarray(direction.astype(np.float64) @ place[:3, :3].T, np.float32),
                measured,
                sigma=how.sigma_m,
                clutter=how.clutter,
                window=how.window_m,
                slope=beam_slope(recorded.sensor) if self.beam_slope is None else self.beam_slope,
                range_max=self.sensor.range_max_m,
                threads=self.threads,
            )
        )

    def _fits(self, recorded: Sweep) -> bool:
        return self.calibration is not None and self.calibration.fits(recorded)

    def _offsets(self, recorded: Sweep) -> Array:
        """What calibration adds to the range (b,) of each beam: a laser reads short of the truth by that."""
        assert self.calibration is not None
        return self.calibration.range_m[recorded.beam_ring].astype(np.float32)

    def sweep(self, recorded: Sweep, index: int = 0) -> Sweep:
        """The recorded sweep's beams, with what this world returns on them."""
        pose = self.pose(recorded)
        change = pose @ np.linalg.inv(recorded.pose)
        trajectory = recorded.trajectory
        if trajectory is None:
            trajectory = Trajectory(np.array([recorded.timestamp]), recorded.pose[None])
        trajectory = trajectory.moved(change)
        knots = trajectory.poses.copy()
        knots[:, :3, 3] -= self.world.origin
        times = recorded.beam_time if recorded.n_beams else np.array([recorded.timestamp])
        stage = self._cast.stage(float(times.min()), float(times.max()), trajectory, self.sensor.range_max_m)
        columns: dict[str, Any] = self.scene.sweep(
            self._plan,
            as_fired(recorded, self._calibrated(recorded).beam_direction),
            knot_times=trajectory.times,
            knots=knots,
            start=0.0,
            seed=self.seed,
            index=index,
            threads=self.threads,
            stage=None if stage is None else stage.native,
        )
        points, extra = columns.pop("points"), {"primitive": columns.pop("kind")}
        boxes = None
        if stage is not None:
            second = recorded.beam_time[columns["beam"]]
            extra["velocity"], seen = stage.velocities(columns["instance"], second, points, trajectory.times, knots)
            boxes = stage.boxes(recorded.pose, recorded.timestamp, columns["instance"], second, seen)
        if self._fits(recorded):
            columns["range"] = columns["range"] - self._offsets(recorded)[columns["beam"]]
            points = None
        sweep = Sweep(
            pose=recorded.pose,
            beam_origin=recorded.beam_origin,
            beam_direction=recorded.beam_direction,
            beam_time=recorded.beam_time,
            beam_ring=recorded.beam_ring,
            beam_column=recorded.beam_column,
            timestamp=recorded.timestamp,
            trajectory=recorded.trajectory,
            sensor=recorded.sensor,
            extra=extra,
            boxes=boxes,
            **columns,
        )
        if points is not None:
            sweep.__dict__["points"] = points  # the cached property, computed natively on the way
        return sweep

    def _calibrated(self, recorded: Sweep) -> Sweep:
        return self.calibration.applied(recorded) if self.calibration and self._fits(recorded) else recorded


def as_fired(recorded: Sweep, fired: Array) -> _core.Firing:
    """The recorded beams in an order that keeps neighbours together: ring by ring, or by direction."""
    direction = np.ascontiguousarray(fired, np.float32)
    azimuth = np.arctan2(direction[:, 1], direction[:, 0])
    row: Array = recorded.beam_ring
    if len(row) and row.min() == row.max():
        row = np.floor(np.arcsin(np.clip(direction[:, 2], -1, 1)) / np.radians(0.4)).astype(np.int64)
    order = np.lexsort((azimuth, row))
    ends = np.flatnonzero(np.diff(row[order])) + 1
    starts = np.concatenate([[0], ends, [len(order)]])
    chunk = np.unique(
        np.concatenate([np.arange(a, b, _CHUNK_PULSES) for a, b in itertools.pairwise(starts)] + [[len(order)]])
    )
    moved = bool(recorded.beam_origin.any())
    return _core.Firing(
        direction=np.ascontiguousarray(direction[order].T),
        time=recorded.beam_time[order].astype(np.float64),
        beam=order.astype(np.int32),
        chunk=chunk.astype(np.int32),
        reported=np.ascontiguousarray(recorded.beam_direction, np.float32),
        origin=np.ascontiguousarray(recorded.beam_origin, np.float32) if moved else None,
    )
