"""Progress: silent for short work, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from resweep import progress
from resweep.progress import Bar, Lines, Silent, open_progress, track


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.05)
    monkeypatch.setattr(progress, "LINE_PERIOD_S", 0.0)


def slow(count: int) -> Iterator[int]:
    for at in range(count):
        time.sleep(0.06)
        yield at


def test_short_work_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(track([1, 2, 3], "counting")) == [1, 2, 3]
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("quick")
def test_long_work_gives_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(slow(3), "counting", total=3)) == [0, 1, 2]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "counting ..."
    assert "counting: 2/3" in lines
    assert lines[-1].startswith("counting: 3/3, done in ")


@pytest.mark.usefixtures("quick")
def test_a_piece_of_work_without_steps_gives_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress() as shown:
        shown.start("thinking")
        time.sleep(0.1)
        shown.start("a moment")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "thinking ..."
    assert lines[1].startswith("thinking: done in ")


@pytest.mark.usefixtures("quick")
def test_a_note_stands_in_place_of_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress() as shown:
        shown.start("counting", 2)
        time.sleep(0.1)
        shown.advance(1, "one, at leisure")
    assert "counting: one, at leisure" in capsys.readouterr().err.splitlines()


@pytest.mark.usefixtures("quick")
def test_work_that_fails_is_not_said_to_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Iterator[int]:
        time.sleep(0.1)
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
    assert isinstance(open_progress(), Lines)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(open_progress(), Bar)
    assert isinstance(open_progress(show=False), Silent)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(open_progress(), Silent)


def test_only_the_outermost_is_shown() -> None:
    with open_progress():
        assert isinstance(open_progress(), Silent)
        assert list(track([1, 2], "inner")) == [1, 2]
    assert isinstance(open_progress(), Lines)


def test_work_left_early_is_over() -> None:
    for item in track([1, 2, 3], "counting"):
        assert item == 1
        break
    assert isinstance(open_progress(), Lines)


SCRIPT = """
import sys, time
from resweep import progress
progress.PATIENCE_S = {patience}
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
    out, shown = run_on_a_terminal(patience=10.0)
    assert out.strip() == "False"
    assert shown == ""
