"""A log: sweeps in order, loaded only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from resweep.errors import FaultKind, ResweepError, UnknownPosesError
from resweep.labels import load_labels
from resweep.log import EmptyBeams, Fault, Log
from resweep.pose import from_xyz_rpy
from resweep.sensors import load_sensor
from resweep.sweep import Sweep


def sweep(number: int) -> Sweep:
    return Sweep.from_points(
        np.full((number + 1, 3), 1.0), pose=from_xyz_rpy(x=number), timestamp=0.1 * number, sensor="any"
    )


@pytest.fixture
def loaded() -> list[int]:
    return []


@pytest.fixture
def log(loaded: list[int]) -> Log:
    def load(number: int) -> Sweep:
        loaded.append(number)
        return sweep(number)

    return Log(load, 0.1 * np.arange(10), np.stack([from_xyz_rpy(x=x) for x in range(10)]), name="drive")


def test_sweeps_by_number(log: Log, loaded: list[int]) -> None:
    assert len(log) == 10
    assert len(log[3]) == 4
    assert len(log[-1]) == 10
    assert len(log[np.int64(2)]) == 3
    assert loaded == [3, 9, 2]
    for number in (10, -11):
        with pytest.raises(IndexError, match=f"log 'drive' has 10 sweeps, no sweep {number}"):
            log[number]


@pytest.mark.parametrize("index", [slice(2, 8, 2), [2, 4, 6], np.array([2, 4, 6]), np.isin(range(10), [2, 4, 6])])
def test_a_part_is_a_log_that_loads_nothing(log: Log, loaded: list[int], index: object) -> None:
    part = log[index]  # type: ignore[index]
    assert isinstance(part, Log)
    np.testing.assert_allclose(part.times, [0.2, 0.4, 0.6])
    np.testing.assert_allclose(part.poses[:, 0, 3], [2, 4, 6])
    assert loaded == []
    assert len(part[1]) == 5
    assert [len(item) for item in part[1:]] == [5, 7]
    assert loaded == [4, 4, 6]


def test_an_empty_part(log: Log) -> None:
    assert len(log[[]]) == len(log[3:3]) == 0


def test_iterating_loads_one_after_the_other(log: Log, loaded: list[int]) -> None:
    walk = iter(log)
    next(walk)
    next(walk)
    assert loaded == [0, 1]


def test_trajectory_is_that_of_the_sweeps(log: Log) -> None:
    np.testing.assert_allclose(log.trajectory.at(0.45)[:3, 3], [4.5, 0, 0])


def test_a_log_of_sweeps_in_memory() -> None:
    log = Log.from_sweeps([sweep(0), sweep(1)], name="two")
    assert (len(log), log.name, log.sensor_name) == (2, "two", "any")
    assert log.times.tolist() == [0.0, 0.1]
    np.testing.assert_allclose(log.poses[1], log[1].pose)
    with pytest.raises(ResweepError, match="no sweep given"):
        Log.from_sweeps([])


def test_steps_make_a_chain_that_parts_keep(log: Log) -> None:
    def shift(sweep: Sweep, at: int) -> Sweep:
        return replace(sweep, timestamp=100.0 + at)

    shifted = log.map(shift, "shift times", indexed=True, times=log.times + 100.0).map(lambda sweep: sweep, "nothing")
    part = shifted[4:]
    assert part.steps == ("shift times", "nothing")
    assert part[1].timestamp == 105.0  # the place in the log that was mapped, not in the part
    np.testing.assert_allclose(part.times, 100.4 + 0.1 * np.arange(6))
    assert repr(part).endswith("; read -> shift times -> nothing)")


def test_a_guard_acts_before_a_sweep_is_read_and_on_its_errors(log: Log, loaded: list[int]) -> None:
    def refuse(read: Callable[[], Sweep], at: int) -> Sweep:
        if at == 2:
            raise ResweepError("no")
        try:
            return read()
        except ZeroDivisionError as error:
            raise ResweepError("yes") from error

    def divide(sweep: Sweep) -> Sweep:
        return replace(sweep, timestamp=1 / (len(sweep) - 6))

    guarded = log.map(divide).guard(refuse, "refuse")
    with pytest.raises(ResweepError, match="no"):
        guarded[2]
    assert loaded == []
    with pytest.raises(ResweepError, match="yes"):
        guarded[5]
    assert guarded[6].timestamp == 1.0
    assert guarded.steps == ("divide", "refuse")


def test_empty_beams_are_looked_for_once_and_late() -> None:
    calls = []

    def find() -> EmptyBeams:
        calls.append(1)
        return EmptyBeams("inferred", "on a grid")

    later = EmptyBeams.lazy(find)
    assert (later.found, repr(later), calls) == (False, "EmptyBeams(to be found)", [])
    assert (later.source, later.detail, later.found, calls) == ("inferred", "on a grid", True, [1])
    assert later == EmptyBeams("inferred", "on a grid")
    assert later != EmptyBeams("stored", "on a grid")
    assert hash(later) == hash(EmptyBeams("inferred", "on a grid"))
    assert calls == [1]


def test_printing_says_what_is_known(log: Log) -> None:
    sensor = load_sensor("velodyne-vlp-16")
    fault = Fault(FaultKind.TRUNCATED, "cut off", 3)
    known = replace(log, sensor=sensor, labels=load_labels("semantickitti"), times_known=False, skipped=(fault,))
    assert repr(known) == (
        "Log('drive': 10 sweeps, sensor velodyne-vlp-16, labels semantickitti, poses known, times assumed, "
        "empty beams unknown, 1 skipped; read)"
    )


def test_poses_that_stand_for_nothing_are_refused(log: Log) -> None:
    log.require_poses("nothing can fail")
    with pytest.raises(UnknownPosesError, match=r"log 'drive': has no poses, so it makes no map; open it"):
        replace(log, poses_known=False).require_poses("it makes no map")
