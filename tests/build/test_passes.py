"""How often a build reads its recording: decoding sweeps is a large part of a build, so each pass over them counts."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import numpy as np
import pytest

import resweep as rs
from resweep.build import CalibrateConfig, HybridConfig, Map, MapConfig, SurfelConfig, pipeline
from resweep.calibrate.calibrate import calibrate, correct_log
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.register import join
from resweep.sweep import Sweep
from resweep.worlds import Splats, Volumes
from tests.places import LABELS, shrub_sweeps

N = 6
QUICK = {"iterations": 1, "samples": 1000, "points_per_sweep": 2000}


class Counted:
    """A log that counts how often each of its sweeps is loaded, and notes which are still in memory."""

    def __init__(self, sweeps: list[Sweep]) -> None:
        self.loads: Counter[int] = Counter()
        self.alive: list[weakref.ref[Sweep]] = []
        log = Log.from_sweeps(sweeps, "drive", labels=LABELS)
        self.log = log.map(self._load, indexed=True)

    def _load(self, sweep: Sweep, index: int) -> Sweep:
        self.loads[index] += 1
        fresh = sweep.select(np.ones(len(sweep), bool))
        self.alive.append(weakref.ref(fresh))
        return fresh


@pytest.mark.parametrize(("labelled", "boxed"), [(True, False), (False, True), (False, False)])
def test_a_default_build_decodes_every_sweep_once(labelled: bool, boxed: bool) -> None:
    counted = Counted(shrub_sweeps(N, labelled, boxed))
    world = rs.build(counted.log, HybridConfig(map=MapConfig(ego_radius_m=0.5), calibrate=QUICK), progress=False)
    assert {Splats, Volumes} == {type(layer) for layer in world.layers}
    first = Counter({0: 1})  # looked at once more, for the plan
    assert counted.loads == first + Counter(dict.fromkeys(range(N), 1))


@pytest.mark.parametrize("share", [4, 10**12])
def test_a_build_in_tiles_decodes_every_sweep_once(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_SPOOL_SHARE", share)  # without memory for sweeps, the disk keeps them
    counted = Counted(shrub_sweeps(N))
    rs.build(counted.log, SurfelConfig(map=MapConfig(ego_radius_m=0.5), calibrate=QUICK), tile_m=50.0, progress=False)
    assert counted.loads == Counter({0: 1}) + Counter(dict.fromkeys(range(N), 1))


def test_a_map_keeps_no_sweep_in_memory() -> None:
    counted = Counted(shrub_sweeps(N, False, True))
    map = Map.from_log(counted.log, MapConfig(ego_radius_m=0.5))
    gc.collect()
    assert len(map) > 1000
    assert len(counted.alive) == N
    assert [ref() for ref in counted.alive] == [None] * N


@pytest.mark.slow
def test_joined_and_corrected_logs_read_a_sweep_when_it_is_asked_for() -> None:
    """Neither reads ahead nor keeps a sweep, so that a drive of any length can be joined and corrected."""
    parts = [Counted(shrub_sweeps(N)) for _ in range(2)]
    log = join([part.log for part in parts])
    log = correct_log(log, Calibration(np.zeros(1), np.zeros(1)), log.poses, np.zeros((len(log), 6)))
    assert not any(part.loads for part in parts)
    for at in range(len(log)):
        sweep = log[at]
        assert len(sweep) > 0
        del sweep
        gc.collect()
        assert not any(kept() for part in parts for kept in part.alive)
    assert [part.loads for part in parts] == [dict.fromkeys(range(N), 1)] * 2


def test_a_long_log_is_calibrated_in_one_pass_and_a_sample() -> None:
    counted = Counted(shrub_sweeps(30))
    calibrate(counted.log, CalibrateConfig(**QUICK, sweeps=4, stretch=2, window=10, window_iterations=1))
    assert Counter(counted.loads.values()) == {1: 26, 2: 4}
