"""Progress: silent for short work, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from resweep import progress
from resweep.progress import (
    Heartbeat,
    SilentProgress,
    Stages,
    Verbosity,
    begin_stage,
    display,
    open_progress,
    set_verbosity,
    track,
)
from resweep.progress.display import BarDisplay, LineDisplay, format_seconds


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PATIENCE_S", 0.05)
    monkeypatch.setattr(display, "LINE_PERIOD_S", 0.05)


def slow(count: int) -> Iterator[int]:
    for at in range(count):
        time.sleep(0.06)
        yield at


def test_short_work_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(track([1, 2, 3], "counting")) == [1, 2, 3]
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("quick")
def test_long_work_gives_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(slow(6), "counting", total=6)) == list(range(6))
    lines = capsys.readouterr().err.splitlines()
    # How many, how fast, how long: each of the steps took 0.06 s.
    shown = [found for line in lines if (found := re.fullmatch(r"counting: ([1-5])/6, ([\d.]+)/s, \d+ s left", line))]
    assert shown
    assert 0 < float(shown[-1][2]) < 17  # a busy machine is slower, none is faster
    assert lines[-1].startswith("counting: 6/6, done in ")


@pytest.mark.usefixtures("quick")
def test_a_piece_of_work_without_steps_gives_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress() as shown:
        shown.start("thinking")
        time.sleep(1.0)
        shown.start("a moment")
    lines = capsys.readouterr().err.splitlines()
    # One long step is not silent: a line comes every LINE_PERIOD_S.
    assert len(lines) >= 3
    assert lines[0] == "thinking ..."
    assert all(re.fullmatch(r"thinking( \.\.\.|: \d+ s so far)", line) for line in lines[:-1])
    assert lines[-1].startswith("thinking: done in ")


@pytest.mark.usefixtures("quick")
def test_a_note_stands_in_place_of_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress() as shown:
        shown.start("counting", 2)
        time.sleep(0.1)
        shown.advance(1, "one, at leisure, 3 sweeps/s")
        time.sleep(0.8)
    assert "counting: one, at leisure, 3 sweeps/s, 0 s left" in capsys.readouterr().err.splitlines()


@pytest.mark.usefixtures("quick")
def test_work_that_fails_is_not_said_to_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Iterator[int]:
        time.sleep(0.8)
        yield 1
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        list(track(fail(), "counting"))
    shown = capsys.readouterr().err
    assert shown.startswith("counting ...")
    assert "done" not in shown


@pytest.mark.usefixtures("quick")
def test_hidden_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(slow(3), "counting", show=False)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_progress(), LineDisplay)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(open_progress(), BarDisplay)
    assert isinstance(open_progress(show=False), SilentProgress)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(open_progress(), SilentProgress)


def test_only_the_outermost_is_shown() -> None:
    with open_progress():
        assert isinstance(open_progress(), SilentProgress)
        assert list(track([1, 2], "inner")) == [1, 2]
    assert isinstance(open_progress(), LineDisplay)


def test_work_left_early_is_over() -> None:
    for item in track([1, 2, 3], "counting"):
        assert item == 1
        break
    assert isinstance(open_progress(), LineDisplay)


@pytest.mark.usefixtures("quick")
def test_stages_are_numbered_and_hold_what_runs_within_them(capsys: pytest.CaptureFixture[str]) -> None:
    with Stages(("reading", "building")) as stages:
        stages.begin("reading")
        for _ in track(slow(3), "reading sweeps", total=3):
            assert list(track([1], "inner")) == [1]  # silent: it is part of a part
        begin_stage("building")
        begin_stage("unknown")  # of code that runs alone too
        time.sleep(0.8)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("stage 1 of 2, reading sweeps: 3/3, done in ") for line in lines)
    assert "stage 2 of 2, building ..." in lines
    assert lines[-1].startswith("stage 2 of 2, building: done in ")
    assert not any("inner" in line or "unknown" in line for line in lines)
    assert isinstance(open_progress(), LineDisplay)
    begin_stage("building")  # no stages are open: nothing happens


def test_quiet_is_silent_and_verbose_shows_short_work_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_verbosity(Verbosity.QUIET)
    assert isinstance(open_progress(), SilentProgress)
    with Stages(("reading",)) as stages:
        stages.begin("reading")
    assert capsys.readouterr().err == ""
    set_verbosity(Verbosity.VERBOSE)
    assert list(track([1, 2], "counting")) == [1, 2]
    begun, ended = capsys.readouterr().err.splitlines()
    assert begun == "counting ..."
    assert re.fullmatch(r"counting: 2/2, done in \d\.\d s", ended)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(open_progress(), LineDisplay)  # every step stays on the screen


def test_a_command_without_progress_says_that_it_works(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    with Heartbeat("resweep info"):
        time.sleep(0.8)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(re.fullmatch(r"resweep info: working, \d+ s so far", line) for line in lines)
    set_verbosity(Verbosity.QUIET)
    with Heartbeat("resweep info"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (36, "36 s"), (90, "1 min 30 s"), (754, "13 min"), (4800, "1 h 20 min")]
)
def test_times_are_for_people(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


SCRIPT = """
import sys, time
from resweep import progress
progress.display.PATIENCE_S = {patience}
for at in progress.track(range(4), "counting"):
    time.sleep(0.1)
print("rich" in sys.modules)
"""


def run_on_a_terminal(patience: float) -> tuple[str, str]:
    """Standard output, and what a terminal got on stderr."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(patience=patience)], stdout=subprocess.PIPE, stderr=side, text=True
    )
    os.close(side)
    shown = b""
    while True:
        try:
            block = os.read(main, 4096)
        except OSError:  # the other end was closed
            break
        if not block:
            break
        shown += block
    os.close(main)
    out, _ = process.communicate()
    return out, shown.decode()


def test_the_bar_appears_late_and_rich_with_it() -> None:
    out, shown = run_on_a_terminal(patience=0.05)
    assert out.strip() == "True"
    assert "counting" in shown
    out, shown = run_on_a_terminal(patience=600.0)
    assert out.strip() == "False"
    assert shown == ""
