"""The simulator: a world scanned by a sensor along a trajectory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import resweep
from resweep import _core
from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, Trajectory, check_rigid
from resweep.scenario import Actor
from resweep.scenario.actors import common_labels
from resweep.sensors import Firing, Sensor, fire, load_sensor
from resweep.simulate.actors import Cast
from resweep.simulate.ego import Box, Ego
from resweep.simulate.scene import native_plan, native_scene
from resweep.sweep import Sweep
from resweep.worlds import Mesh, World

# Pulses are traced in chunks of one ring over this many columns: neighbours on a ring run through the
# same geometry, neighbours in a column do not.
_CHUNK_COLUMNS = 128


class Simulator:
    """Sweeps of one sensor in one world.

    The native scene is built once, here, and reused by every sweep. ``seed`` fixes all randomness: the
    same seed gives the same bytes, whatever ``threads`` (0: all cores).

    ``actors`` move while the sensor sweeps: each pulse meets them where they are when it is fired. Sweeps then have
    ``boxes`` of the actors at their timestamp, and ``extra["velocity"]`` (n, 3): metres a second, in the world, of
    what each return was measured on.

    ``ego`` is what of the vehicle stands in the sensor's way: a box (x0, y0, z0, x1, y1, z1) or a mesh in the sensor's
    frame. Beams whose axis meets it are not traced; their status is `BeamStatus.DROPPED`.
    """

    def __init__(
        self,
        world: World,
        sensor: Sensor | str,
        *,
        actors: Sequence[Actor] = (),
        ego: Box | Mesh | None = None,
        seed: int = 0,
        threads: int = 0,
        packet: int = 0,
    ) -> None:
        self.world = world
        self.sensor = load_sensor(sensor) if isinstance(sensor, str) else sensor
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ResweepError(f"seed: expected a whole number from 0 to 2^64 - 1, got {seed!r}")
        if packet not in (0, 1, 8, 16):
            raise ResweepError(f"packet: expected 0 (chosen for you), 1, 8 or 16 rays, got {packet}")
        self.seed = int(seed)
        self.threads = int(threads)
        self.packet = packet
        self._plan = native_plan(self.sensor)
        self._cast = Cast(world, actors)
        self._ego = None if ego is None else Ego(ego)

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors."""
        return self._cast.actors

    @cached_property
    def scene(self) -> Any:
        """The native scene, built on first use."""
        return native_scene(self.world)

    def with_sensor(self, sensor: Sensor | str) -> Simulator:
        """A simulator of another sensor in the same world, which shares the native scene."""
        other = Simulator(self.world, sensor, seed=self.seed, threads=self.threads, packet=self.packet)
        other.__dict__["scene"] = self.scene
        other._cast = self._cast
        other._ego = self._ego
        return other

    def with_actors(self, actors: Sequence[Actor]) -> Simulator:
        """A simulator of the same sensor and world with other actors; layers already built are built no more."""
        other = self.with_sensor(self.sensor)
        other._cast = Cast(self.world, actors, self._cast.shapes)
        return other

    def sweep(self, pose: ArrayLike | Trajectory, *, start: float | None = None, index: int = 0) -> Sweep:
        """One sweep from a standing sensor (``pose`` 4x4, ``T_world_sensor``) or a moving one.

        A `Trajectory` must cover the sweep, which begins at ``start`` seconds (default: where the
        trajectory begins); the sweep's ``pose`` is the one at its start. ``index`` numbers the sweep:
        it picks the random numbers, and the part of a pattern that does not repeat.
        """
        if index < 0:
            raise ResweepError(f"index: sweeps are numbered from 0, got {index}")
        firing = fire(self.sensor, index)
        motion, begin = self._motion(pose, start, float(firing.time[-1]))
        fired = self._fired(firing, motion, begin)
        stage = self._cast.stage(begin, begin + float(firing.time[-1]), motion, self.sensor.range_max_m)
        columns = self.scene.sweep(
            self._plan,
            **fired,
            seed=self.seed,
            index=index,
            threads=self.threads,
            packet=self.packet,
            stage=None if stage is None else stage.native,
        )
        points, extra = columns.pop("points"), {"primitive": columns.pop("kind")}
        boxes = None
        if stage is not None:
            second = begin + firing.time[columns["beam"]]
            extra["velocity"], seen = stage.velocities(
                columns["instance"], second, points, fired["knot_times"], fired["knots"]
            )
            boxes = stage.boxes(motion.at(begin), begin, columns["instance"], second, seen)
        sweep = Sweep(
            pose=motion.at(begin),
            beam_origin=_no_origin(len(firing)),
            beam_direction=firing.direction,
            beam_time=begin + firing.time,
            beam_ring=firing.ring,
            beam_column=firing.column,
            timestamp=begin,
            trajectory=motion if len(motion) > 1 else None,
            sensor=self.sensor.name,
            extra=extra,
            boxes=boxes,
            **columns,
        )
        sweep.__dict__["points"] = points  # the cached property, computed natively on the way
        return sweep

    def rays(self, pose: ArrayLike | Trajectory, *, start: float | None = None, index: int = 0) -> tuple[Array, Array]:
        """Origins and directions (n, 3) float32 of every ray of a sweep, from the world's origin."""
        firing = fire(self.sensor, index)
        motion, begin = self._motion(pose, start, float(firing.time[-1]))
        origins, directions = self.scene.rays(
            self._plan, **self._fired(firing, motion, begin), seed=self.seed, index=index
        )
        return origins, directions

    def run(self, trajectory: Trajectory | ArrayLike, *, sweeps: int | None = None) -> Log:
        """A drive, computed sweep by sweep as it is read.

        Along a `Trajectory`, one sweep follows the other for as long as it covers them (or
        ``sweeps`` of them). An array of poses (n, 4, 4) gives one sweep standing at each.
        """
        period = self.sensor.sweep_period_s
        if not isinstance(trajectory, Trajectory):
            poses = check_rigid(trajectory, "pose").reshape(-1, 4, 4)[:sweeps]
            times = np.arange(len(poses)) * period
            return self._log(lambda i: self.sweep(poses[i], start=float(times[i]), index=i), times, poses)
        needed = float(fire(self.sensor, 0).time[-1])
        count = math.floor((trajectory.end - trajectory.start - needed) / period + 1e-6) + 1
        if count < 1 or (sweeps is not None and sweeps > count):
            wanted = 1 if sweeps is None else sweeps
            raise ResweepError(
                f"the trajectory lasts {trajectory.end - trajectory.start:.3f} s and covers {max(count, 0)} sweeps of "
                f"'{self.sensor.name}' ({period:.3f} s each), {wanted} are asked for; give a longer one"
            )
        times = trajectory.start + np.arange(count if sweeps is None else sweeps) * period
        return self._log(lambda i: self.sweep(trajectory, start=float(times[i]), index=i), times, trajectory.at(times))

    def _log(self, load: Any, times: Array, poses: Array) -> Log:
        meta = {"resweep": resweep.__version__, "seed": self.seed, "world": self.world.meta}
        return Log(
            load,
            times,
            poses,
            name=self.sensor.name,
            sensor=self.sensor,
            labels=common_labels(self.world, self.actors),
            empty_beams=EmptyBeams("fired", "simulated"),
            meta=meta,
        )

    def _motion(self, pose: ArrayLike | Trajectory, start: float | None, duration: float) -> tuple[Trajectory, float]:
        if not isinstance(pose, Trajectory):
            begin = 0.0 if start is None else float(start)
            return Trajectory(np.array([begin]), check_rigid(pose, "pose").reshape(-1, 4, 4)), begin
        begin = pose.start if start is None else float(start)
        if not pose.covers(begin, begin + duration):
            raise ResweepError(
                f"the trajectory covers {pose.start:.6f} to {pose.end:.6f} s, the sweep needs "
                f"{begin:.6f} to {begin + duration:.6f} s; extend it, or start the sweep elsewhere"
            )
        return pose.window(begin, begin + duration), begin

    def _fired(self, firing: Firing, motion: Trajectory, begin: float) -> dict[str, Any]:
        knots = motion.poses.copy()
        knots[:, :3, 3] -= self.world.origin
        return {"firing": _traced(firing, self._ego), "knot_times": motion.times, "knots": knots, "start": begin}


@lru_cache(maxsize=16)
def _traced(firing: Firing, ego: Ego | None) -> _core.Firing:
    """The pulses that the vehicle does not block, in an order that keeps neighbours together in chunks."""
    if firing.azimuth_step_deg == 0.0:
        order = np.arange(len(firing))
        group = order // _CHUNK_COLUMNS
    else:
        group = (firing.column // _CHUNK_COLUMNS) * np.int64(firing.n_rings) + firing.ring
        order = np.lexsort((firing.column, group))
        group = group[order]
    if ego is not None:
        free = ~ego.blocks(firing.direction)[order]
        if not free.any():
            raise ResweepError("ego: the vehicle blocks every beam of the sensor; check the frame of the box or mesh")
        order, group = order[free], group[free]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    return _core.Firing(
        direction=np.ascontiguousarray(firing.direction[order].T),
        time=firing.time[order],
        beam=order.astype(np.int32),
        chunk=np.append(begins, len(order)).astype(np.int32),
        reported=firing.direction,
        origin=None,
    )


@lru_cache(maxsize=16)
def _no_origin(count: int) -> Array:
    return np.broadcast_to(np.zeros(3, np.float32), (count, 3))
