"""Recorded beams traced again: what a world returns on each of them, or predicts for it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import resweep
from resweep import portable
from resweep.errors import InputError
from resweep.log import Log
from resweep.pose import Array, Trajectory, transform
from resweep.scenario import Actor
from resweep.scenario.actors import common_labels
from resweep.sensors import Sensor
from resweep.sensors.catalog import beam_slope as catalog_beam_slope
from resweep.sensors.infer.drive import Preparation
from resweep.simulate.align import Surfaces
from resweep.simulate.empty_sweep import NothingMet
from resweep.simulate.pulses import Pulses
from resweep.simulate.realism import RealismModel
from resweep.simulate.tracer import LOOK_AHEAD, Tracer
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import StreamedWorld, World

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


def recorded_sensor(log: Log) -> Sensor:
    """Beam and receiver of the sensor that recorded a log, without range noise; its pattern is not used.

    Where the sensor is unknown, each beam is one exact ray up to 200 m. Range noise is none either way: the surfaces
    of a world built from a recording hold its noise already. Biases and gains of lasers are those of the world's
    calibration.
    """
    if log.sensor is None:
        return Sensor.model_validate(_RECORDED)
    noises = ("range_noise_sigma_m", "range_noise_per_m", "range_noise_per_tan_m")
    return log.sensor.with_(lasers=None, **{f"receiver.{name}": 0.0 for name in noises})


@dataclass(frozen=True)
class PredictionConfig:
    """How a world's prediction for a beam is read.

    ``sigma_m`` is the spread of a range that a surface gives, and noise on top of a volume's; ``height_m`` that of the
    surface along its normal, which grazing beams spread by the incidence; ``clutter`` the
    share of beams that follow no model (half of them return anywhere, half not at all), which keeps the
    likelihood of an unlikely range above zero. The most likely return is the one with most probability within
    ``window_m``; half of what lies within 3 m counts too, and of returns that are likely alike, to a twentieth, the
    farthest is taken.
    """

    sigma_m: float = 0.02
    height_m: float = 0.005
    clutter: float = 0.02
    window_m: float = 0.1


class Retracer:
    """Traces the beams of recorded sweeps in one world, whose native scene is built once.

    ``sensor`` gives beam, receiver and noise; without one each beam is one exact ray up to 200 m.
    ``beam_slope`` is the width of the recorded beams at 1 m, metres, by which predictions see small parts of volumes;
    by default that of ``sensor``, or of the catalog sensor that a sweep names, or 0 if the catalog has none.
    The firing pattern is always the recorded one. A world built from a log keeps the calibration of its lasers
    (``world.calibration``): beams then leave as the lasers really fire, and read as they really read.
    With ``aligned`` each sweep is first registered to the world, which corrects its pose by centimetres.
    ``actors`` are met where they are when each beam is fired, as in a `Simulator`. A learned model ``realism`` changes
    sweeps as it does there, but not predictions.
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
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.calibration = world.calibration
        self.aligned = aligned
        self.prediction = prediction or PredictionConfig()
        self.beam_slope = sensor.beam_slope if beam_slope is None and sensor is not None else beam_slope
        chosen = Sensor.model_validate(_RECORDED) if sensor is None else sensor
        self.tracer = Tracer(world, chosen, actors, seed=seed, threads=threads)
        if realism is not None:
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
        seed: int = 0,
        threads: int = 0,
    ) -> Retracer:
        """A retracer for the beams of a log (`run`), with the beam and receiver of ``sensor`` or of its own sensor.

        Its own has no range noise (`recorded_sensor`). Sweeps are aligned if the world was calibrated, since that moved
        the map by centimetres from the recorded poses.
        """
        chosen = recorded_sensor(log) if sensor is None else sensor
        aligned = world.calibration is not None
        return cls(world, chosen, actors=actors, aligned=aligned, realism=realism, seed=seed, threads=threads)

    @cached_property
    def _surfaces(self) -> Surfaces:
        """What sweeps are aligned with."""
        return Surfaces(self.world)

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
        """The same, whose sweeps also say what they know of the primitives hit (`Tracer.with_hits`).

        Its sweeps keep the returns that blind sectors take: models of drops are learned from them.
        """
        other = copy.copy(self)
        other.tracer = self.tracer.with_hits()
        other._keeps_blind = True
        return other

    def find_pose(self, recorded: Sweep) -> Array:
        """``T_world_sensor`` (4, 4) of the recorded sweep in this world: its own, or registered if ``aligned``."""
        return self.place(recorded).pose

    def place(self, recorded: Sweep, motion: bool = True) -> Sweep:
        """The recorded sweep where it lies in this world: as recorded or, if ``aligned``, registered.

        Its pose is then found and, with ``motion``, how the sensor moved within it, if its beams have times.
        """
        if not self.aligned:
            return recorded
        calibrated = self._calibrated(recorded)
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
        slope = catalog_beam_slope(recorded.sensor) if self.beam_slope is None else self.beam_slope
        origins = transform(place, start.astype(np.float64))
        around = np.array([origins.min(axis=0), origins.max(axis=0)]) if len(origins) else place[None, :3, 3]
        with self.tracer.covering(around + self.world.origin) as scene:
            found = scene.predict(
                origins.astype(np.float32),
                np.ascontiguousarray(portable.matmul(direction.astype(np.float64), place[:3, :3].T), np.float32),
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
        return dict(found) if blind is None else _with_blind_spots(found, blind, how, self.sensor.range_max_m, measured)

    def _find_reach(self, recorded: Sweep) -> float:
        """How far off the recorded sweep's sensor can return from, metres."""
        limit = self.calibration.range_limit_m if self.calibration is not None and self._fits(recorded) else None
        return self.sensor.range_max_m if limit is None else min(limit, self.sensor.range_max_m)

    def _fits(self, recorded: Sweep) -> bool:
        return self.calibration is not None and self.calibration.fits(recorded)

    def find_gain(self, ring: Array, recorded: Sweep) -> Array:
        """How bright the lasers ``ring`` (n,) of a recorded sweep report what others report as 1; 1 if unknown."""
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
        seen = self._drop_unseen(traced, index)
        if self.realism is not None:
            labels = common_labels(self.world, self.tracer.actors.actors)
            seen = self.realism.run(
                seen,
                labels,
                seed=self.tracer.seed,
                index=index,
                threads=self.tracer.threads,
                receiver=self.sensor.receiver,
                calibration=self.calibration,
                range_max_m=None if self.sensor.name == _RECORDED["name"] else self.sensor.range_max_m,
            )
            if self.realism.predicts_intensity:
                return seen  # it knows the gains of its lasers
        return replace(seen, intensity=seen.intensity * self.find_gain(seen.ring, recorded))

    def _drop_unseen(self, sweep: Sweep, index: int) -> Sweep:
        """The sweep without the returns that its sensor does not have: from too far off, or taken by blind sectors.

        The latter are drawn by seed and number of the sweep.
        """
        far = sweep.range > self._find_reach(sweep)
        if far.any():
            lost, sweep = sweep.beam[far], sweep.select(~far)
            status = sweep.beam_status.copy()
            status[lost[status[lost] == BeamStatus.DROPPED]] = BeamStatus.OUT_OF_RANGE
            sweep = replace(sweep, beam_status=status)
        blind = None if self.calibration is None or self._keeps_blind else self.calibration.find_blind(sweep)
        if blind is None:
            return sweep
        draw = np.random.Generator(np.random.Philox(key=[self.tracer.seed % 2**64, index])).random(sweep.n_beams)
        return sweep.select((draw >= blind)[sweep.beam])

    def run(self, log: Log) -> Log:
        """The drive of a log in this world, computed as it is read: its own beams, times and poses, sweep by sweep.

        Beams that came back empty are fired too, where the log knows them. The sweeps have the log's poses and times;
        ``aligned`` poses and motion that compensation left in the log's sweeps only say where the world is met.
        """
        if len(log) == 0:
            raise InputError(f"log '{log.name}': holds no sweep to fire again; choose a longer part of it")
        if len(log) > 1:  # one sweep has a world of its own
            log.require_poses("its beams have no place in a world")
        log.require_beams("its beams are unknown too")
        nothing_met = NothingMet(self.world)
        prepare = Preparation.of(log)

        def trace(recorded: Sweep, at: int) -> Sweep:
            self.tracer.look_ahead(log.poses[at : at + LOOK_AHEAD, :3, 3])
            fired = nothing_met.check(self.sweep(prepare(recorded, at), at), at)
            return replace(fired, beam_time=recorded.beam_time, trajectory=recorded.trajectory)

        return log.map(
            trace,
            "fire again",
            indexed=True,
            sensor=None if log.sensor is None else self.sensor,
            labels=common_labels(self.world, self.tracer.actors.actors),
            meta={
                "resweep": resweep.__version__,
                "seed": self.tracer.seed,
                "world": self.world.meta,
                "beams": "recorded",
                "beams_of": str(log.meta.get("path", log.name)),
            },
        )

    def _calibrated(self, recorded: Sweep) -> Sweep:
        return self.calibration.applied(recorded) if self.calibration and self._fits(recorded) else recorded


def _with_blind_spots(
    found: Mapping[str, Array], blind: Array, how: PredictionConfig, range_max_m: float, measured: Array | None
) -> dict[str, Array]:
    """Native predictions (b,) of a sensor that returns nothing with the chance ``blind`` (b,), whatever is there."""
    returns = found["returns"] * (1.0 - blind)
    kept = np.isfinite(found["range"]) & (returns > 0.5)
    changed = {
        **found,
        "range": np.where(kept, found["range"], np.float32(np.inf)),
        "returns": returns.astype(np.float32),
        "probability": np.where(kept, found["probability"] * (1.0 - blind), 1.0 - returns).astype(np.float32),
    }
    for name in ("reflected", "label", "instance", "kind"):
        changed[name] = np.where(kept, found[name], found[name].dtype.type(0))
    if measured is None:
        return changed
    returned = np.isfinite(measured)
    any_ = how.clutter * np.where(returned, 0.5 / range_max_m, 0.5)
    own = np.maximum(portable.exp(found["log_likelihood"].astype(np.float64)) - any_, 0.0)
    own = np.where(returned, own * (1.0 - blind), own + (1.0 - how.clutter - own) * blind)
    changed["log_likelihood"] = portable.log(own + any_).astype(np.float32)
    return changed
