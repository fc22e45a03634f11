"""A log: sweeps in order, loaded only when asked for."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import from_xyz_rpy
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
