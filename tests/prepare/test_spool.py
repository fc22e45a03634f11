"""Sweeps are decoded once while a spool is open, in memory or on disk, and again where neither has room."""

from __future__ import annotations

import shutil
from collections import Counter, namedtuple
from pathlib import Path

import numpy as np
import pytest

from resweep.log import Log
from resweep.prepare.spool import count_bytes, open_spool
from resweep.sweep import Sweep
from tests.places import shrub_sweeps

N = 3


class CountedLoads:
    """A log, and how often each of its sweeps was decoded."""

    def __init__(self) -> None:
        self.loads: Counter[int] = Counter()
        self.log = Log.from_sweeps(shrub_sweeps(N)).map(self._load, indexed=True)

    def _load(self, sweep: Sweep, at: int) -> Sweep:
        self.loads[at] += 1
        return sweep

    def read_twice(self, log: Log) -> None:
        for at in (*range(N), *range(N)):
            np.testing.assert_array_equal(log[at].range, self.log.load(at).range)
            self.loads[at] -= 1  # that of the comparison


@pytest.mark.parametrize("held", [0, 1, N])
def test_a_sweep_is_decoded_once_whatever_has_room_for_it(tmp_path: Path, held: int) -> None:
    counted = CountedLoads()
    memory = held * max(count_bytes(sweep) for sweep in shrub_sweeps(N))
    with open_spool(counted.log, memory, tmp_path) as log:
        counted.read_twice(log)
        assert counted.loads == dict.fromkeys(range(N), 1)
        assert len(list(tmp_path.rglob("*.sweep"))) <= N - held
        assert bool(list(tmp_path.rglob("*.sweep"))) == (held < N)
    assert list(tmp_path.iterdir()) == []
    assert len(log[0]) > 0  # decoded again
    assert counted.loads[0] == 2


def test_without_room_anywhere_sweeps_are_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = CountedLoads()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(1000))
    with open_spool(counted.log, 0, tmp_path) as log:
        counted.read_twice(log)
    assert counted.loads == dict.fromkeys(range(N), 2)
