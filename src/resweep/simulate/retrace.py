"""Recorded beams traced again: what a world returns on each of them, or predicts for it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

import resweep
from resweep import portable
from resweep.errors import InputError
from resweep.log import Log
from resweep.map_filter import MapFilter
from resweep.pose import Array, Trajectory, transform
from resweep.scenario import Actor
from resweep.scenario.actors import find_common_labels
from resweep.sensors import Sensor
from resweep.sensors.catalog import find_beam_slope
from resweep.sensors.infer.inferred_drive import Preparation
from resweep.simulate.beam_channels import NEEDED
from resweep.simulate.empty_sweep_warning import EmptySweepWarning
from resweep.simulate.loss_map import LossMap
from resweep.simulate.prediction import PredictionConfig, add_blind_sectors
from resweep.simulate.pulses import Pulses
from resweep.simulate.realism import RealismModel
from resweep.simulate.recorded_sensor import NAME, make_recorded_sensor, make_unknown_sensor
from resweep.simulate.surface_alignment import Surfaces
from resweep.simulate.tracer import LOOK_AHEAD, Tracer
from resweep.simulate.world_noise import WorldNoise
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import StreamedWorld, World


class Retracer:
    """Traces the beams of recorded sweeps in one world, whose native scene is built once.

    ``sensor`` gives beam, receiver and noise; without one each beam is one exact ray up to 200 m.
    ``beam_slope`` is the width of the recorded beams at 1 m, metres, by which predictions see small parts of volumes;
    by default that of ``sensor``, or of the catalog sensor that a sweep names, or 0 if the catalog has none.
    The firing pattern is always the recorded one. A world built from a log keeps the calibration of its lasers
    (``world.calibration``): beams then leave as the lasers really fire, and read as they really read.
    With ``aligned`` each sweep is first registered to the world (`register`), which corrects its pose by centimetres.
    Beams hit ``actors`` where they are when each beam is fired, as in a `Simulator`. A learned model ``realism``
    changes sweeps as it does there, but not predictions. Intensities, ranges and lost beams scatter as the recording of
    the world did (``world.calibration.scatter``), or as the spec of ``sensor`` says, but for what ``realism`` draws;
    without ``noise`` they are the mean.
    """

    def __init__(
        self,
        world: World | StreamedWorld,
        sensor: Sensor | None = None,
        *,
        beam_slope: float | None = None,
        actors: Sequence[Actor] = (),
        aligned: bool = False,
        prediction: PredictionConfig | None = None,
        realism: RealismModel | None = None,
        noise: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.calibration = world.calibration
        self.aligned = aligned
        self.prediction = prediction or PredictionConfig()
        self.beam_slope = sensor.beam_slope if beam_slope is None and sensor is not None else beam_slope
        chosen = make_unknown_sensor() if sensor is None else sensor
        self.tracer = Tracer(world, chosen, actors, seed=seed, threads=threads)
        own = None if sensor is None or sensor.scatter is None else WorldNoise(sensor.scatter)
        self.noise = (own or WorldNoise.of(self.calibration)) if noise else None
        self._is_ideal = not noise
        if realism is not None or (self.noise is not None and world.observed is not None):
            self.tracer = self.tracer.with_hits()
        self.realism = realism
        self._keeps_blind = realism is not None and realism.drops  # which knows of blind sectors itself
        _ = self.tracer.source  # built here: what callers time later is tracing

    @classmethod
    def for_log(
        cls,
        world: World | StreamedWorld,
        log: Log,
        sensor: Sensor | None = None,
        *,
        actors: Sequence[Actor] = (),
        realism: RealismModel | None = None,
        noise: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> Retracer:
        """A retracer for the beams of a log (`run`), with the beam and receiver of ``sensor`` or of its own sensor.

        Its own has no range noise (`recorded_sensor`). Sweeps are aligned if the world was built from a recording,
        since its poses are off by centimetres, as are those of the log.
        """
        chosen = make_recorded_sensor(log) if sensor is None and log.sensor is not None else sensor
        aligned = world.map_filter is not None or world.calibration is not None
        return cls(
            world, chosen, actors=actors, aligned=aligned, realism=realism, noise=noise, seed=seed, threads=threads
        )

    @cached_property
    def _surfaces(self) -> Surfaces:
        """What sweeps are aligned with."""
        return Surfaces(self.world)

    @cached_property
    def _losses(self) -> LossMap | None:
        """Where beams are lost on what they hit; of a streamed world that is not known."""
        return LossMap.of(self.world.layers) if isinstance(self.world, World) else None

    @property
    def world(self) -> World | StreamedWorld:
        """The world that is traced."""
        return self.tracer.world

    @property
    def sensor(self) -> Sensor:
        """The sensor whose beam, receiver and noise are simulated."""
        return self.tracer.sensor

    def with_actors(self, actors: Sequence[Actor]) -> Retracer:
        """The same with other actors; the scene and the layers already built are shared."""
        other = copy.copy(self)
        other.tracer = self.tracer.with_actors(actors)
        return other

    def with_hits(self) -> Retracer:
        """The same, whose sweeps also have columns on the primitives hit (`Tracer.with_hits`).

        Its sweeps keep the returns that blind sectors take, and scatter no more than a world does: models of drops and
        of scatter are learned from them.
        """
        other = copy.copy(self)
        other.tracer = self.tracer.with_hits()
        other._keeps_blind = True
        other.noise, other._is_ideal = None, True
        return other

    def without_drops(self) -> Retracer:
        """The same, whose sweeps lose no returns but those that a learned model drops; the rest scatters as before."""
        other = copy.copy(self)
        other._keeps_blind = True
        if other.noise is not None:
            other.noise = WorldNoise(other.noise.scatter.model_copy(update={"drops": None}))
        return other

    def find_pose(self, recorded: Sweep) -> Array:
        """``T_world_sensor`` (4, 4) of the recorded sweep in this world: its own, or registered if ``aligned``."""
        return self.place(recorded).pose

    def place(self, recorded: Sweep) -> Sweep:
        """The recorded sweep where it lies in this world: as recorded or, if ``aligned``, registered by its pose."""
        return self.register(recorded) if self.aligned else recorded

    def register(self, recorded: Sweep, motion: bool = False) -> Sweep:
        """The recorded sweep at the pose at which the world predicts its ranges best.

        With ``motion`` that within the sweep is found too, if its beams have times. Returns that the map of the world
        left out, such as those of moving cars, are ignored.
        """
        calibrated = self._calibrated(recorded)
        if self.world.map_filter is not None:
            calibrated = calibrated.select(self.world.map_filter.keeps(recorded))
        near = calibrated.moved_to(self._surfaces.align(calibrated), calibrated.timestamp)
        found = self._surfaces.align_ranges(near, self._predict_ranges, motion)
        return replace(recorded, pose=found.pose, trajectory=found.trajectory)

    def _predict_ranges(self, placed: Sweep) -> Array:
        """Ranges (b,) that the world predicts for a sweep where it lies, whose beams are calibrated already."""
        bare = copy.copy(self)
        bare.calibration = None
        return bare._predict(placed, None, placed)["range"]

    def predict(self, recorded: Sweep, placed: Sweep | None = None) -> Sweep:
        """The recorded sweep's beams, each with its most likely return; nothing is drawn at random.

        ``placed`` is the sweep where it lies in the world, if that is known already (default: `place`).
        ``extra["probability"]`` (n,) is that of a range within ``prediction.window_m`` of it. A beam whose
        likeliest outcome is no return has none.
        """
        found = self._predict(recorded, None, placed)
        beam = np.flatnonzero(np.isfinite(found["range"]))
        ranges = found["range"][beam]
        if self.calibration is not None and self._fits(recorded):
            ring, direction = recorded.beam_ring[beam], recorded.beam_direction[beam]
            ranges = self.calibration.readings(ranges, ring, direction).astype(np.float32)
        status = np.full(recorded.n_beams, BeamStatus.NOTHING_HIT, np.uint8)
        status[beam] = BeamStatus.RETURN
        extra = {"primitive": found["kind"][beam], "probability": found["probability"][beam]}
        return replace(
            recorded,
            beam_status=status,
            beam=beam.astype(np.int32),
            range=ranges,
            intensity=found["reflected"][beam] * self.find_gain(recorded.beam_ring[beam], recorded),
            return_index=np.zeros(len(beam), np.uint8),
            label=found["label"][beam],
            instance=found["instance"][beam],
            extra=extra,
            boxes=None,
        )

    def log_likelihood(self, recorded: Sweep, placed: Sweep | None = None) -> Array:
        """Log-likelihood (b,) of each recorded beam: of its range per metre, or of no return where it has none.

        Of several returns on a beam the nearest counts.
        """
        measured = np.full(recorded.n_beams, np.inf, np.float32)
        ranges = recorded.range
        if self.calibration is not None and self._fits(recorded):
            direction = recorded.beam_direction[recorded.beam]
            ranges = self.calibration.ranges(ranges, recorded.ring, direction).astype(np.float32)
        np.minimum.at(measured, recorded.beam, ranges)
        return np.asarray(self._predict(recorded, measured, placed)["log_likelihood"])

    def _predict(self, recorded: Sweep, measured: Array | None, placed: Sweep | None) -> dict[str, Array]:
        """What the world predicts for each recorded beam, as native columns (b,)."""
        sweep = self._calibrated(self.place(recorded) if placed is None else placed)
        start, direction = sweep.deskewed_beams()
        place = sweep.pose.copy()
        place[:3, 3] -= self.world.origin
        how = self.prediction
        slope = find_beam_slope(recorded.sensor) if self.beam_slope is None else self.beam_slope
        origins = transform(place, start.astype(np.float64))
        around = np.array([origins.min(axis=0), origins.max(axis=0)]) if len(origins) else place[None, :3, 3]
        with self.tracer.covering(around + self.world.origin) as scene:
            turned = portable.matmul(direction.astype(np.float64), place[:3, :3].T)
            found = scene.predict(
                origins.astype(np.float32),
                np.ascontiguousarray(turned, np.float32),
                measured,
                sigma=how.sigma_m,
                clutter=how.clutter,
                window=how.window_m,
                slope=slope,
                range_max=self.sensor.range_max_m,
                height=how.height_m,
                reach=self._find_reach(recorded),
                threads=self.tracer.threads,
            )
        blind = None if self.calibration is None else self.calibration.find_blind(recorded)
        if self._losses is not None:
            lost = self._losses.find_predictions(found, origins, turned)
            blind = lost if blind is None else 1.0 - (1.0 - blind) * (1.0 - lost)
        return dict(found) if blind is None else add_blind_sectors(found, blind, how, self.sensor.range_max_m, measured)

    def _find_reach(self, recorded: Sweep) -> float:
        """How far off the recorded sweep's sensor can return from, metres."""
        limit = self.calibration.range_limit_m if self.calibration is not None and self._fits(recorded) else None
        return self.sensor.range_max_m if limit is None else min(limit, self.sensor.range_max_m)

    def _fits(self, recorded: Sweep) -> bool:
        return self.calibration is not None and self.calibration.fits(recorded)

    def find_gain(self, ring: Array, recorded: Sweep) -> Array:
        """The intensity that the lasers ``ring`` (n,) of a sweep report where others report 1; 1 if unknown."""
        calibration = self.calibration if self._fits(recorded) else None
        return np.ones(len(ring), np.float32) if calibration is None else calibration.find_gain(ring)

    def sweep(self, recorded: Sweep, index: int = 0, placed: Sweep | None = None) -> Sweep:
        """The recorded sweep's beams, with what this world returns on them.

        ``placed`` is the sweep where it lies in the world, if that is known already (default: `place`).
        """
        there = self.place(recorded) if placed is None else placed
        motion = there.trajectory
        if motion is None:
            motion = Trajectory(np.array([there.timestamp]), there.pose[None])
        pulses = Pulses.from_sweep(recorded, self._calibrated(recorded).beam_direction)
        traced = self.tracer.trace(pulses, motion, index=index).to_sweep(
            pose=recorded.pose,
            timestamp=recorded.timestamp,
            trajectory=recorded.trajectory,
            sensor=recorded.sensor,
            calibration=self.calibration if self._fits(recorded) else None,
            beam_origin=recorded.beam_origin,
            beam_direction=recorded.beam_direction,
            beam_time=recorded.beam_time,
            beam_ring=recorded.beam_ring,
            beam_column=recorded.beam_column,
        )
        seen = self._drop_unseen(traced, there, index)
        if self.realism is not None:
            labels = find_common_labels(self.world, self.tracer.actors.actors)
            seen = self.realism.run(
                seen,
                labels,
                seed=self.tracer.seed,
                index=index,
                threads=self.tracer.threads,
                receiver=self.sensor.receiver,
                calibration=self.calibration,
                range_max_m=None if self.sensor.name == NAME else self.sensor.range_max_m,
            )
            if self.realism.predicts_intensity:
                return seen  # it knows the gains of its lasers
        return self._add_noise(seen, recorded, index)

    def _add_noise(self, sweep: Sweep, recorded: Sweep, index: int) -> Sweep:
        """The sweep with the gains of its lasers and, where it is known and no model replaces it, the world's noise."""
        if self.noise is None:
            return replace(sweep, intensity=sweep.intensity * self.find_gain(sweep.ring, recorded))
        noisy = self.noise.add_to_recorded(
            sweep,
            lambda ring: self.find_gain(ring, recorded),
            seed=self.tracer.seed,
            index=index,
            only_intensity=self.realism is not None,
            own=self.sensor.receiver.range_noise_sigma_m > 0.0,
            threads=self.tracer.threads,
        )
        return replace(noisy, extra={name: values for name, values in noisy.extra.items() if name not in NEEDED})

    def _drop_unseen(self, sweep: Sweep, placed: Sweep, index: int) -> Sweep:
        """The sweep without the returns that its sensor does not have: from too far off, or taken by blind sectors, or
        lost on what was hit.

        The latter are drawn by seed and number of the sweep, which lies in the world as ``placed``.
        """
        far = sweep.range > self._find_reach(sweep)
        if far.any():
            lost, sweep = sweep.beam[far], sweep.select(~far)
            status = sweep.beam_status.copy()
            status[lost[status[lost] == BeamStatus.DROPPED]] = BeamStatus.OUT_OF_RANGE
            sweep = replace(sweep, beam_status=status)
        if self._keeps_blind:
            return sweep
        blind = None if self.calibration is None else self.calibration.find_blind(sweep)
        chance = None if blind is None else blind[sweep.beam]
        if self._losses is not None:
            there = replace(sweep, pose=placed.pose, trajectory=placed.trajectory)
            lost = self._losses.find_returns(there, self.world.origin)
            chance = lost if chance is None else 1.0 - (1.0 - chance) * (1.0 - lost)
        if chance is None:
            return sweep
        draw = np.random.Generator(np.random.Philox(key=[self.tracer.seed % 2**64, index])).random(sweep.n_beams)
        return sweep.select(draw[sweep.beam] >= chance)

    def run(self, log: Log) -> Log:
        """The drive of a log in this world, computed as it is read: its own beams, times and poses, sweep by sweep.

        Beams that came back empty are fired too, where the log knows them. The sweeps are what that recording would
        have held: they have its poses and times, and points with what its compensation left in them. Registered poses
        and corrected motion (`prepare_drive`) only place the beams in the world. A slice gives the same sweeps
        as the whole log.
        """
        if len(log) == 0:
            raise InputError(f"log '{log.name}': holds no sweep to fire again; choose a longer part of it")
        if len(log) > 1:  # one sweep has a world of its own
            log.require_poses("its beams have no place in a world")
        log.require_beams("its beams are unknown too")
        warning = EmptySweepWarning(self.world)
        prepare, numbers = Preparation.of(log), log.numbers

        def trace(recorded: Sweep, at: int) -> Sweep:
            self.tracer.look_ahead(log.poses[at : at + LOOK_AHEAD, :3, 3])
            fired = warning.check(self.sweep(prepare(recorded, at), int(numbers[at])), at)
            return replace(fired, beam_time=recorded.beam_time, trajectory=recorded.trajectory)

        return log.map(
            trace,
            "fire again",
            indexed=True,
            sensor=None if log.sensor is None else self.sensor,
            labels=find_common_labels(self.world, self.tracer.actors.actors),
            map_filter=self._choose_filter(),
            meta={
                "resweep": resweep.__version__,
                "seed": self.tracer.seed,
                "world": self.world.meta,
                "beams": "recorded",
                "noise": self.describe_noise(),
                "beams_of": str(log.meta.get("path", log.name)),
            },
        )

    def _choose_filter(self) -> MapFilter:
        """The recorded returns that have no counterpart in this world; actors are one for what moves."""
        left_out = self.world.map_filter or MapFilter()
        return MapFilter(near_m=left_out.near_m) if self.tracer.actors.actors else left_out

    def describe_noise(self) -> str:
        """Where the noise of sweeps is from, for people."""
        if self._is_ideal:
            return "none"
        return "unknown to the world, so none" if self.noise is None else "of the world's recording"

    def _calibrated(self, recorded: Sweep) -> Sweep:
        return self.calibration.applied(recorded) if self.calibration and self._fits(recorded) else recorded
