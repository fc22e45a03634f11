"""Limits of a sensor, as its recording shows them: why beams have no return where the world has a surface."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep.build.plan import Plan
from resweep.build.refine.blind_sectors import BlindSectors, RangeLimit
from resweep.build.refine.refine_beams import EMPTY_RANGE_M
from resweep.build.store import LayerStore
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.map.beams import extract_beams
from resweep.pose import Array
from resweep.progress import track
from resweep.simulate.scene import make_native_scene
from resweep.worlds import World

_MIN_SWEEPS, _MAX_SWEEPS = 6, 12  # that are looked at: half of the log's, spread over it
_NEAR_M = 120.0  # around a sweep, within which the layers are looked at


def estimate_limits(
    log: Log, calibration: Calibration, origin: Array, layers: LayerStore, plan: Plan, progress: bool = False
) -> Calibration:
    """The calibration with the blind sectors and the range limit of the log's sensor, as its beams show them.

    What was completed (`resweep.build.complete`) says nothing, nor does what lies beyond 120 m of a sweep.
    """
    layers.near(origin, 0.0)  # the layers are computed here, in stages of their own
    sectors, limit = BlindSectors(), RangeLimit()
    slope = 0.0 if log.sensor is None else log.sensor.beam_slope
    count = min(len(log), max(_MIN_SWEEPS, min(len(log) // 2, _MAX_SWEEPS)))
    numbers = np.unique(np.linspace(0, len(log) - 1, count).astype(int))
    for sweep in track(log[numbers.tolist()], "estimating blind sectors", show=progress):
        near = [layer for layer in layers.near(sweep.pose[:3, 3], _NEAR_M) if layer.name != "completed"]
        if not near:
            continue
        scene = make_native_scene(World(near))
        beams = extract_beams(sweep, origin, find_mappable(sweep, plan.config.map, plan.labels), EMPTY_RANGE_M)
        sectors.add(sweep, beams, scene, slope, EMPTY_RANGE_M)
        limit.add(beams, scene, slope, EMPTY_RANGE_M)
    return replace(calibration, blind=sectors.find_shares(), range_limit_m=limit.find())
