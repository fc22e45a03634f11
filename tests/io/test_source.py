"""Logs as they are sent to workers: the words that opened them, and what was done to them since."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log, write_log, write_poses
from resweep.io.folders.faults import refuse_empty
from resweep.io.recorded_log import LogSource
from resweep.log import EmptyBeams, Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.register import join
from resweep.sweep import Sweep
from resweep.work import clear_cache

from .test_logs import OPTIONS, WRITABLE

cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(autouse=True)
def nothing_is_open() -> None:
    """As in a process that has opened no log yet."""
    clear_cache()


def assert_same_sweep(one: Sweep, other: Sweep) -> None:
    for field in fields(Sweep):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, its, err_msg=field.name)
    np.testing.assert_array_equal(one.world_points(), other.world_points())


@pytest.mark.parametrize("format", WRITABLE)
def test_a_log_is_sent_as_the_words_that_opened_it(format: str, log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format=format, progress=False, **OPTIONS.get(format, {}))
    opened = open_log(tmp_path / "out")
    sent = cloudpickle.dumps(opened)
    assert len(sent) < 40_000, "points are in it"
    back = pickle.loads(sent)
    assert repr(back) == repr(opened)
    for at in range(len(opened)):
        assert_same_sweep(back[at], opened[at])
    assert back.empty_beams == opened.empty_beams


def test_what_was_done_to_a_log_is_sent_with_it(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    motion = Trajectory(log.times, np.stack([from_xyz_rpy(5.0 + at, 1, 2, yaw=0.2 * at) for at in range(3)]))
    write_poses(motion, tmp_path / "poses.txt", "tum")
    opened = open_log(tmp_path / "out", poses=tmp_path / "poses.txt", keep_going=True, labels="semantickitti")
    opened = refuse_empty(opened, tmp_path)[1:]
    both = join([opened, opened])
    back = pickle.loads(cloudpickle.dumps(both))
    assert repr(back) == repr(both)
    opened_again, reopen = [], LogSource.open
    monkeypatch.setattr(LogSource, "open", lambda self: opened_again.append(self) or reopen(self))
    for at in (0, 1, 3):
        assert_same_sweep(back[at], both[at])
    assert len(opened_again) == 1, "both are the same log"


def test_a_log_in_memory_is_sent_whole(log: Log) -> None:
    back = pickle.loads(cloudpickle.dumps(log[1:]))
    assert_same_sweep(back[0], log[1])


def test_a_log_that_is_gone_says_so(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="sweep", progress=False)
    sent = cloudpickle.dumps(open_log(tmp_path / "out"))
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    back = pickle.loads(sent)
    with pytest.raises(ResweepError, match="out: is not there for a worker"):
        back[0]


def test_beams_that_are_known_are_not_looked_for_again() -> None:
    found = pickle.loads(pickle.dumps(EmptyBeams("inferred", "so")))
    assert found.found
    assert found == EmptyBeams("inferred", "so")
