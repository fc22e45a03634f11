"""Real beams traced again: what a world says to the very beams of a recorded sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep import _core
from resweep.pose import Array, Trajectory
from resweep.sensors import Sensor
from resweep.simulate.scene import native_plan, native_scene
from resweep.sweep import Sweep
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


class Retracer:
    """Traces the beams of recorded sweeps in one world, whose native scene is built once.

    ``sensor`` gives beam, receiver and noise; without one each beam is one exact ray up to 200 m.
    The firing pattern is always the recorded one.
    """

    def __init__(self, world: World, sensor: Sensor | None = None, *, seed: int = 0, threads: int = 0) -> None:
        self.world = world
        self.sensor = Sensor.model_validate(_RECORDED) if sensor is None else sensor
        self.seed = seed
        self.threads = threads
        self.scene = native_scene(world)
        self._plan = native_plan(self.sensor)

    def sweep(self, recorded: Sweep, index: int = 0) -> Sweep:
        """The recorded sweep's beams, with what this world returns on them."""
        trajectory = recorded.trajectory
        if trajectory is None:
            trajectory = Trajectory(np.array([recorded.timestamp]), recorded.pose[None])
        knots = trajectory.poses.copy()
        knots[:, :3, 3] -= self.world.origin
        columns: dict[str, Any] = self.scene.sweep(
            self._plan,
            _as_fired(recorded),
            knot_times=trajectory.times,
            knots=knots,
            start=0.0,
            seed=self.seed,
            index=index,
            threads=self.threads,
        )
        points = columns.pop("points")
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
            **columns,
        )
        sweep.__dict__["points"] = points  # the cached property, computed natively on the way
        return sweep


def _as_fired(recorded: Sweep) -> _core.Firing:
    """The recorded beams in an order that keeps neighbours together: ring by ring, or by direction."""
    direction = np.ascontiguousarray(recorded.beam_direction, np.float32)
    azimuth = np.arctan2(direction[:, 1], direction[:, 0])
    row: Array = recorded.beam_ring
    if len(row) and row.min() == row.max():
        row = np.floor(np.arcsin(np.clip(direction[:, 2], -1, 1)) / np.radians(0.4)).astype(np.int64)
    order = np.lexsort((azimuth, row))
    ends = np.flatnonzero(np.diff(row[order])) + 1
    starts = np.concatenate([[0], ends, [len(order)]])
    chunk = np.unique(
        np.concatenate(
            [np.arange(a, b, _CHUNK_PULSES) for a, b in zip(starts[:-1], starts[1:], strict=True)] + [[len(order)]]
        )
    )
    moved = bool(recorded.beam_origin.any())
    return _core.Firing(
        direction=np.ascontiguousarray(direction[order].T),
        time=recorded.beam_time[order].astype(np.float64),
        beam=order.astype(np.int32),
        chunk=chunk.astype(np.int32),
        reported=direction,
        origin=np.ascontiguousarray(recorded.beam_origin, np.float32) if moved else None,
    )
