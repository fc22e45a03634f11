"""Work that takes another time than expected says so once it shows."""

from __future__ import annotations

import time

import pytest

from resweep import progress
from resweep.progress import ExpectedTime, Stages
from resweep.progress.expected import format_about


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_is_said_while_stages_take_as_long_as_expected(clock: Clock) -> None:
    expected = ExpectedTime({"reading": 60.0, "fitting": 120.0, "writing": 20.0}, clock)
    for stage, takes in (("reading", 70.0), ("fitting", 130.0), ("writing", 15.0)):
        expected.begin(stage)
        clock.now += takes / 2
        assert expected.restate() is None
        clock.now += takes / 2
        assert expected.restate() is None
    assert expected.estimate_left() < 10.0


def test_a_slower_pace_is_said_once_and_holds_for_the_stages_that_follow(clock: Clock) -> None:
    expected = ExpectedTime({"reading": 60.0, "fitting": 120.0, "writing": 20.0}, clock)
    expected.begin("reading")
    clock.now = 240.0  # in place of 60
    expected.begin("fitting")
    left = expected.estimate_left()
    assert 2 * 140 < left < 4 * 140
    line = expected.restate()
    assert line == f"expected to take longer: about {format_about(240 + left)} in all, {format_about(left)} left"
    clock.now += 60.0
    assert expected.restate() is None


def test_a_stage_that_does_not_end_is_noticed_before_its_end(clock: Clock) -> None:
    expected = ExpectedTime({"reading": 60.0, "fitting": 120.0}, clock)
    expected.begin("reading")
    said = []
    while clock.now < 600.0:
        clock.now += 1.0
        said.append(expected.restate())
    lines = [line for line in said if line is not None]
    assert 1 <= len(lines) <= 4  # ever farther apart
    assert lines[0].startswith("expected to take longer: about ")
    assert said.index(lines[0]) < 150  # the stages that follow are expected to be slow too


def test_a_faster_pace_is_said_too_but_resumed_stages_are_none(clock: Clock) -> None:
    seconds = {"reading": 300.0, "fitting": 600.0, "writing": 300.0}
    expected = ExpectedTime(seconds, clock)
    expected.begin("reading")
    clock.now = 50.0
    expected.begin("fitting")
    line = expected.restate()
    assert line is not None
    assert line.startswith("expected to take less: about ")
    resumed = ExpectedTime(seconds, clock)
    resumed.begin("reading")
    clock.now += 1.0
    resumed.begin("fitting")
    assert resumed.estimate_left() == pytest.approx(900.0)


def test_stages_say_so_while_they_are_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    monkeypatch.setattr(progress, "RESTATE_PERIOD_S", 0.02)
    with Stages(("reading", "fitting"), expected=ExpectedTime({"reading": 10.0, "fitting": 10.0}, clock)) as stages:
        stages.begin("reading")
        clock.now = 100.0
        for _ in range(200):
            time.sleep(0.02)
            if "expected" in (shown := capsys.readouterr().err):
                break
    assert shown.startswith("expected to take longer: about ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "10 s"),
        (42, "40 s"),
        (63, "1 min"),
        (86, "1 min 30 s"),
        (119, "2 min"),
        (305, "5 min"),
        (2900, "48 min"),
        (5000, "1 h 20 min"),
    ],
)
def test_times_are_as_rough_as_they_are_known(seconds: float, text: str) -> None:
    assert format_about(seconds) == text
