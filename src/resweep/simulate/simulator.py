"""The simulator: a world scanned by a sensor along a trajectory."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import resweep
from resweep import _core, portable
from resweep.calibration import Calibration
from resweep.errors import InputError, ResweepError
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, Trajectory, check_rigid
from resweep.scenario import Actor
from resweep.scenario.actors import find_common_labels
from resweep.sensors import Firing, Rosette, Sensor, fire, load_sensor
from resweep.simulate.beam_channels import NEEDED
from resweep.simulate.ego import Box, Ego
from resweep.simulate.empty_sweep_warning import EmptySweepWarning
from resweep.simulate.ideal_sensor import make_ideal_sensor
from resweep.simulate.pulses import Pulses
from resweep.simulate.realism import RealismModel
from resweep.simulate.tracer import LOOK_AHEAD, Tracer
from resweep.simulate.world_noise import WorldNoise
from resweep.sweep import Sweep
from resweep.worlds import Mesh, StreamedWorld, World

_MAX_SWEEPS = 2_000_000  # of a drive: two days at 10 Hz; each has a pose


class Simulator:
    """Sweeps of one sensor in one world, which is in memory or read tile by tile (`StreamedWorld`).

    The native scene is built once, on first use, and reused by every sweep. ``seed`` fixes all randomness: the
    same seed gives the same bytes, whatever ``threads`` (0: all cores). ``packet`` is the number of rays in one Embree
    call; another one than 8 rounds differently.

    ``actors`` move while the sensor sweeps: each pulse hits them where they are when it is fired. Sweeps then have
    ``boxes``, each where its actor was when it was hit, and ``extra["velocity"]`` (n, 3): metres a second, in the
    world, of what each return was measured on.

    ``ego`` is the part of the vehicle that blocks beams: a box (x0, y0, z0, x1, y1, z1) or a mesh in the sensor's
    frame. Beams whose axis hits it are not traced; their status is `BeamStatus.DROPPED`.

    Intensities scatter as those of the recording that the world was built from (``world.calibration.scatter``), unless
    the sensor has a noise of its own. A sensor whose spec has ``scatter`` draws ranges, intensities and lost beams from
    that. Without ``noise`` the sensor measures without errors.

    ``realism`` is a learned model of the sensor (`resweep.load_realism`): which beams do not return, and the
    intensity of the others (`RealismModel.run`). The world must know how it was recorded.
    """

    def __init__(
        self,
        world: World | StreamedWorld,
        sensor: Sensor | str,
        *,
        actors: Sequence[Actor] = (),
        ego: Box | Mesh | None = None,
        realism: RealismModel | None = None,
        noise: bool = True,
        seed: int = 0,
        threads: int = 0,
        packet: int = 8,
    ) -> None:
        if packet not in (1, 8, 16):
            raise ResweepError(f"packet: expected 1, 8 or 16 rays, got {packet}")
        chosen = load_sensor(sensor) if isinstance(sensor, str) else sensor
        self.noise = noise
        self._world_noise = WorldNoise.of(world.calibration) if noise else None
        self.tracer = Tracer(
            world, self._choose(chosen), actors, seed=_check_seed(seed), threads=int(threads), packet=packet
        )
        self._own_noise = _find_own_noise(self.tracer.sensor)
        if realism is not None:
            self.tracer = self.tracer.with_hits()
        self.realism = realism
        self.ego = None if ego is None else Ego(ego)
        self._empty_sweep_warning = EmptySweepWarning(world)
        self._fired: Firing | None = None

    @property
    def world(self) -> Any:
        """The world that is swept: the `World` or `StreamedWorld` that was given."""
        return self.tracer.world

    @property
    def sensor(self) -> Sensor:
        """The sensor that sweeps it."""
        return self.tracer.sensor

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors."""
        return self.tracer.actors.actors

    @property
    def seed(self) -> int:
        """The seed, which fixes all randomness."""
        return self.tracer.seed

    @property
    def threads(self) -> int:
        """Threads used; 0: all cores."""
        return self.tracer.threads

    @property
    def scene(self) -> _core.Scene:
        """The native scene, built on first use."""
        return self.tracer.scene

    def with_sensor(self, sensor: Sensor | str, *, noise: bool | None = None) -> Simulator:
        """A simulator of another sensor in the same world, which shares the native scene.

        It has ``noise`` or not; as this one if left out.
        """
        chosen = load_sensor(sensor) if isinstance(sensor, str) else sensor
        other = self._with(self.tracer)
        if noise is not None:
            other.noise, other._world_noise = noise, WorldNoise.of(self.world.calibration) if noise else None
        return other._with(self.tracer.with_sensor(other._choose(chosen)))

    def with_actors(self, actors: Sequence[Actor]) -> Simulator:
        """A simulator of the same sensor and world with other actors; layers that are built already are shared."""
        return self._with(self.tracer.with_actors(actors))

    def with_seed(self, seed: int) -> Simulator:
        """A simulator of the same with other random numbers."""
        return self._with(self.tracer.with_seed(_check_seed(seed)))

    def with_threads(self, threads: int) -> Simulator:
        """A simulator of the same on another number of threads, which changes no result."""
        return self._with(self.tracer.with_threads(threads))

    def with_realism(self, realism: RealismModel | None) -> Simulator:
        """A simulator of the same with a learned model of the sensor, or without."""
        other = self._with(self.tracer if realism is None else self.tracer.with_hits())
        other.realism = realism
        return other

    def _with(self, tracer: Tracer) -> Simulator:
        other = copy.copy(self)
        other.tracer = tracer
        if tracer.sensor is not self.tracer.sensor:
            other._fired = None
            other._own_noise = _find_own_noise(tracer.sensor)
        other._empty_sweep_warning = EmptySweepWarning(self.world)
        return other

    def sweep(
        self, pose: ArrayLike | Trajectory, *, start: float | None = None, index: int = 0, bare: bool = False
    ) -> Sweep:
        """One sweep from a stationary sensor (``pose`` 4x4, ``T_world_sensor``) or a moving one.

        A `Trajectory` must cover the sweep, which begins at ``start`` seconds (default: where the
        trajectory begins); the sweep's ``pose`` is the one at its start. ``index`` numbers the sweep:
        it picks the random numbers, and the part of a pattern that does not repeat.

        A ``bare`` sweep has what the sensor itself reports, which is sooner done: no boxes, no velocities, and nothing
        of how the world was recorded, nor of what lies beyond the sensor's range. Its returns are the same. Learned
        models need the rest.
        """
        if index < 0:
            raise ResweepError(f"index: sweeps are numbered from 0, got {index}")
        if bare and self.realism is not None:
            raise ResweepError("bare: the learned model needs to know how the world was recorded; leave it out")
        firing = self._fire(index)
        motion, begin = self._motion(pose, start, float(firing.time[-1]))
        tracer, plain = self._find_tracer(bare)
        traced = tracer.trace(Pulses.from_firing(firing, self.ego), motion, start=begin, index=index, bare=plain)
        sweep = traced.to_sweep(
            pose=motion.at(begin) if len(motion) > 1 else motion.poses[0].copy(),
            timestamp=begin,
            trajectory=motion if len(motion) > 1 else None,
            sensor=self.sensor.name,
            beam_origin=_make_zero_origin(len(firing)) if firing.origin is None else firing.origin,
            beam_direction=firing.direction,
            beam_time=begin + firing.time if begin else firing.time,
            beam_ring=firing.ring,
            beam_column=firing.column,
        )
        sweep = self._empty_sweep_warning.check(sweep, index)
        if self.realism is None:
            noisy = self._add_noise(sweep, index)
            return noisy if bare == plain else _strip(noisy)
        labels = find_common_labels(self.world, self.actors)
        sweep = self.realism.run(
            sweep,
            labels,
            seed=self.seed,
            index=index,
            threads=self.threads,
            receiver=self.sensor.receiver,
            calibration=self.world.calibration,
            range_max_m=self.sensor.range_max_m,
        )
        return sweep if self.realism.predicts_intensity else self._add_noise(sweep, index)

    def _add_noise(self, sweep: Sweep, index: int) -> Sweep:
        """The sweep as the sensor's own tables scatter it, or with intensities that do as those of the recording."""
        if self._own_noise is not None:
            noisy = self._own_noise.add_to_own(
                sweep, seed=self.seed, index=index, only_intensity=self.realism is not None, threads=self.threads
            )
            if self.realism is not None:
                return noisy
            return replace(noisy, extra={name: values for name, values in noisy.extra.items() if name not in NEEDED})
        if self._world_noise is None:
            return sweep
        return self._world_noise.add_to_other(sweep, self.sensor, seed=self.seed, index=index, threads=self.threads)

    def _find_tracer(self, bare: bool) -> tuple[Tracer, bool]:
        """What traces a sweep, and whether it gives what the sensor reports alone: its own tables need to know more."""
        if self._own_noise is None or self.world.observed is None or self.realism is not None:
            return self.tracer, bare
        return self.tracer.with_hits(), False

    def _find_intensity_scale(self) -> float | None:
        """The full scale of intensities: that of the world's recording, or 1 in worlds that were not recorded."""
        calibration: Calibration | None = self.world.calibration
        if calibration is not None:
            return calibration.intensity_scale
        return 1.0 if self.world.map_filter is None else None

    def _describe_noise(self) -> str:
        """Where the noise of sweeps is from, for people."""
        if not self.noise:
            return "none"
        spec = "of the sensor's spec"
        if self._own_noise is not None:
            return f"{spec}, as a recording showed"
        return spec if self._world_noise is None else f"{spec}, intensities of the world's recording"

    def _choose(self, sensor: Sensor) -> Sensor:
        return sensor if self.noise else make_ideal_sensor(sensor)

    def rays(self, pose: ArrayLike | Trajectory, *, start: float | None = None, index: int = 0) -> tuple[Array, Array]:
        """Origins and directions (n, 3) float32 of every ray of a sweep, from the world's origin."""
        firing = fire(self.sensor, index)
        motion, begin = self._motion(pose, start, float(firing.time[-1]))
        return self.tracer.rays(Pulses.from_firing(firing, self.ego), motion, start=begin, index=index)

    def run(
        self, trajectory: Trajectory | ArrayLike, *, sweeps: int | None = None, starts: ArrayLike | None = None
    ) -> Log:
        """A drive, computed sweep by sweep as it is read.

        Along a `Trajectory`, one sweep follows the other for as long as it covers them (or
        ``sweeps`` of them). An array of poses (n, 4, 4) gives one sweep from a stationary sensor at each.
        ``starts`` (n,) are the seconds at which sweeps begin, if they do not follow one another.
        """
        period = self.sensor.sweep_period_s
        times: Array = np.zeros(0) if starts is None else np.asarray(starts, np.float64).reshape(-1)[:sweeps]
        if not isinstance(trajectory, Trajectory):
            poses = check_rigid(trajectory, "pose").reshape(-1, 4, 4)[:sweeps]
            if starts is None:
                times = np.arange(len(poses)) * period
            if len(times) != len(poses):
                raise ResweepError(f"starts: {len(times)} for {len(poses)} poses; give one for each pose")
            return self._log(lambda i: self.sweep(poses[i], start=float(times[i]), index=i), times, poses)
        if starts is None:
            times = trajectory.start + np.arange(self._count_sweeps(trajectory, sweeps)) * period
        return self._log(lambda i: self.sweep(trajectory, start=float(times[i]), index=i), times, trajectory.at(times))

    def run_like(self, log: Log, *, offset: Array | None = None, standing: bool = False) -> Log:
        """A drive like that of a log, computed as it is read: as many sweeps, at the same times and poses.

        Sweep i begins at the timestamp of the log's sweep i, from its pose, and lasts as long as this sensor takes. Its
        motion during the last sweep is that before it. ``offset`` (4, 4) is ``T_log_sensor``, where the sensor sits in
        the frame of the log's poses. With ``standing``, or along a single pose, the sensor does not move.
        """
        if len(log) == 0:
            raise InputError(f"log '{log.name}': holds no sweep to drive like; choose a longer part of it")
        log.require_poses("there is nothing to drive like")
        log.require_beams("there is nothing to drive like")
        mount = np.eye(4) if offset is None else check_rigid(offset, "offset")
        if standing or len(log) == 1:
            return self.run(portable.matmul(log.poses, mount), starts=log.times)
        lasts = float(fire(self.sensor).time[-1]) + self.sensor.sweep_period_s
        return self.run(log.trajectory.offset(mount).extended(lasts), starts=log.times)

    def _count_sweeps(self, trajectory: Trajectory, sweeps: int | None) -> int:
        """How many sweeps a trajectory covers, or ``sweeps`` of them, which it must cover."""
        period = self.sensor.sweep_period_s
        needed = float(fire(self.sensor, 0).time[-1])
        covered = (trajectory.end - trajectory.start - needed) / period + 1e-6
        if not covered < _MAX_SWEEPS:
            raise ResweepError(
                f"the trajectory lasts {trajectory.end - trajectory.start:.4g} s and covers {covered:.3g} sweeps of "
                f"'{self.sensor.name}' ({period:.3g} s each), {_MAX_SWEEPS:,} at most; cut it, or check its times"
            )
        count = math.floor(covered) + 1
        if count < 1 or (sweeps is not None and sweeps > count):
            wanted = 1 if sweeps is None else sweeps
            raise ResweepError(
                f"the trajectory lasts {trajectory.end - trajectory.start:.3f} s and covers {max(count, 0)} sweeps of "
                f"'{self.sensor.name}' ({period:.3f} s each), {wanted} are asked for; give a longer one"
            )
        return count if sweeps is None else sweeps

    def _log(self, sweep: Callable[[int], Sweep], times: Array, poses: Array) -> Log:
        def load(index: int) -> Sweep:
            self.tracer.look_ahead(poses[index : index + LOOK_AHEAD, :3, 3])
            return sweep(index)

        meta = {
            "resweep": resweep.__version__,
            "seed": self.seed,
            "world": self.world.meta,
            "noise": self._describe_noise(),
        }
        return Log(
            load,
            times,
            poses,
            name=self.sensor.name,
            sensor=self.sensor,
            labels=find_common_labels(self.world, self.actors),
            empty_beams=EmptyBeams("fired", "simulated"),
            intensity_scale=self._find_intensity_scale(),
            meta=meta,
        )

    def _fire(self, index: int) -> Firing:
        """The pulses of a sweep; those of all sweeps are kept if they are alike."""
        if self._fired is not None:
            return self._fired
        firing = fire(self.sensor, index)
        if not isinstance(self.sensor.pattern, Rosette):
            self._fired = firing
        return firing

    def _motion(self, pose: ArrayLike | Trajectory, start: float | None, duration: float) -> tuple[Trajectory, float]:
        if not isinstance(pose, Trajectory):
            begin = 0.0 if start is None else float(start)
            poses = check_rigid(pose, "pose").reshape(-1, 4, 4)
            if len(poses) != 1 or not math.isfinite(begin):
                return Trajectory(np.array([begin]), poses), begin  # which says what is wrong
            return Trajectory.trusted(np.array([begin]), poses), begin
        begin = pose.start if start is None else float(start)
        if not pose.covers(begin, begin + duration):
            raise ResweepError(
                f"the trajectory covers {pose.start:.6f} to {pose.end:.6f} s, the sweep needs "
                f"{begin:.6f} to {begin + duration:.6f} s; extend it, or start the sweep elsewhere"
            )
        return pose.window(begin, begin + duration), begin


def _find_own_noise(sensor: Sensor) -> WorldNoise | None:
    """The tables of a sensor's spec; None if it has none."""
    return None if sensor.scatter is None else WorldNoise(sensor.scatter)


def _strip(sweep: Sweep) -> Sweep:
    """The sweep with what the sensor itself reports, as a bare one is traced."""
    return replace(sweep, extra={"primitive": sweep.extra["primitive"]}, boxes=None)


def _check_seed(seed: int) -> int:
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise ResweepError(f"seed: expected a whole number from 0 to 2^64 - 1, got {seed!r}")
    return int(seed)


@lru_cache(maxsize=16)
def _make_zero_origin(count: int) -> Array:
    return np.broadcast_to(np.zeros(3, np.float32), (count, 3))
