"""The limits of a sensor, as its recording shows them: blind sectors, the farthest return, and how it scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.build.plan import Plan
from resweep.build.refine.blind_sectors import BlindSectors, RangeLimit
from resweep.build.refine.losses import learn_losses
from resweep.build.refine.refine_beams import EMPTY_RANGE_M
from resweep.build.store import LayerStore, MapStore
from resweep.calibrate.scatter.estimate import estimate_scatter
from resweep.calibrate.scatter.scatter_pair import ScatterPair, pair_sweeps
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.map.beams import Beams, extract_beams
from resweep.pose import Array
from resweep.progress import track
from resweep.simulate import Retracer
from resweep.simulate.loss_map import LossMap
from resweep.simulate.recorded_sensor import make_recorded_sensor
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Layer, World

_MIN_SWEEPS, _MAX_SWEEPS = 6, 12  # that are looked at: half of the log's, spread over it
_QUICK_SWEEPS = 3  # by a quick build
_LOSS_SWEEPS = 40  # at most, of which empty beams are looked at
_NEAR_M = 120.0  # around a sweep, within which the layers are looked at


def estimate_limits(
    log: Log, calibration: Calibration, store: MapStore, layers: LayerStore, plan: Plan, progress: bool = False
) -> Calibration:
    """The calibration with the blind sectors, the range limit and the scatter of the log's sensor, as its beams show.

    What was completed (`resweep.build.complete`) says nothing, nor does what lies beyond 120 m of a sweep.
    """
    layers.near(store.origin, 0.0)  # the layers are computed here, in stages of their own
    losses: LossMap | None = None
    sectors, limit = BlindSectors(), RangeLimit()
    slope = 0.0 if log.sensor is None else log.sensor.beam_slope
    numbers = np.unique(np.linspace(0, len(log) - 1, count_sweeps(len(log), plan.config.quick)).astype(int))
    retracer: Retracer | None = None
    around: list[Layer] = []
    fired: list[tuple[Sweep, Sweep]] = []
    shown = track(log[numbers.tolist()], "estimating limits", show=progress)
    for number, sweep in zip(numbers.tolist(), shown, strict=True):
        near = [layer for layer in layers.near(sweep.pose[:3, 3], _NEAR_M) if layer.name != "completed"]
        if not near:
            continue
        if retracer is None or not _are_same(near, around):
            retracer, around, losses = _fire_at(near, log, store), near, LossMap.of(near)
        scene = retracer.tracer.scene
        beams = _extract_beams(sweep, store, plan)
        sectors.add(sweep, beams, scene, slope, EMPTY_RANGE_M)
        limit.add(beams, scene, slope, EMPTY_RANGE_M)
        fired.append((sweep, retracer.sweep(sweep, number)))
    found = replace(
        calibration, blind=sectors.find_shares(losses), range_limit_m=limit.find(), intensity_scale=log.full_scale
    )
    gains = [found.find_gain(sweep.beam_ring) for sweep, _ in fired]
    pairs = [_pair(sweep, simulated, found, plan) for sweep, simulated in fired]
    if losses is not None:
        pairs = [_add_losses(pair, losses, store.origin) for pair in pairs]
    return replace(found, scatter=estimate_scatter(pairs, gains, plan.labels.known))


def record_losses(log: Log, store: MapStore, layers: LayerStore, plan: Plan, progress: bool = False) -> LayerStore:
    """The layers with the share of beams that come back empty from each splat; those of tiles as they are."""
    present = layers.whole
    if not present:
        return layers
    slope = 0.0 if log.sensor is None else log.sensor.beam_slope
    scene = _fire_at([layer for layer in present if layer.name != "completed"], log, store).tracer.scene
    seen = BlindSectors()
    numbers = np.unique(np.linspace(0, len(log) - 1, min(len(log), _LOSS_SWEEPS)).astype(int)).tolist()
    for sweep in track(log[numbers], "finding what returns nothing", show=progress):
        seen.add(sweep, _extract_beams(sweep, store, plan), scene, slope, EMPTY_RANGE_M)
    return layers.with_whole(learn_losses(present, seen))


def _extract_beams(sweep: Sweep, store: MapStore, plan: Plan) -> Beams:
    return extract_beams(sweep, store.origin, find_mappable(sweep, plan.config.map, plan.labels), EMPTY_RANGE_M)


def _add_losses(pair: ScatterPair, losses: LossMap, origin: Array) -> ScatterPair:
    """The pair whose beams may also be lost on what they hit."""
    lost = np.where(pair.surface, losses.find(np.asarray(pair.points - origin, np.float32)), 0.0)
    return replace(pair, blind=1.0 - (1.0 - pair.blind) * (1.0 - lost))


def count_sweeps(sweeps: int, quick: bool) -> int:
    """How many of a log's ``sweeps`` are looked at, by a ``quick`` build or another."""
    return min(sweeps, _QUICK_SWEEPS if quick else max(_MIN_SWEEPS, min(sweeps // 2, _MAX_SWEEPS)))


def _are_same(layers: Sequence[Layer], others: Sequence[Layer]) -> bool:
    return len(layers) == len(others) and all(one is other for one, other in zip(layers, others, strict=True))


def _fire_at(layers: Sequence[Layer], log: Log, store: MapStore) -> Retracer:
    """What fires beams again, whose lasers are corrected already, at the layers."""
    world = World(layers, store.origin, observed=store.observed)
    retracer = Retracer(world, make_recorded_sensor(log), noise=False)
    return retracer if store.observed is None else retracer.with_hits()


def _pair(sweep: Sweep, simulated: Sweep, calibration: Calibration, plan: Plan) -> ScatterPair:
    known = simulated.beam_status != BeamStatus.UNKNOWN
    limit = calibration.range_limit_m
    if limit is not None:
        known[simulated.beam[simulated.range > limit]] = False
    mappable = find_mappable(sweep, plan.config.map, plan.labels)
    return pair_sweeps(sweep, simulated, mappable, calibration.find_blind(sweep), known)
