"""Progress of long work on stderr: a bar on a terminal, plain lines elsewhere.

Work that takes less than two seconds shows nothing, and rich is imported only when a bar appears. Only the outermost
progress is shown: one that is opened while another is open stays silent. `Stages` are the exception: what is opened
within them is shown with the stage before it, as in ``stage 2 of 5, reading sweeps: 34/150, 3.2/s, 36 s left``.

`set_verbosity` silences all of it, or shows every piece of work, however short.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from types import TracebackType
from typing import TypeVar

from resweep.progress.display import BarDisplay, DisplayState, LineDisplay, Progress, Verbosity, format_seconds
from resweep.progress.expected import MIN_STATED_S, ExpectedTime

__all__ = [
    "MIN_STATED_S",
    "ExpectedTime",
    "Heartbeat",
    "Progress",
    "SilentProgress",
    "Stages",
    "Verbosity",
    "begin_stage",
    "is_shown",
    "open_progress",
    "set_verbosity",
    "track",
    "write_line",
]

RESTATE_PERIOD_S = 1.0  # between two looks at whether stages take as long as expected
SILENCE_S = 20.0  # after which a command that shows no progress says that it still works

T = TypeVar("T")


def set_verbosity(verbosity: Verbosity) -> None:
    """Show no progress, that of long work, or that of all work as lines."""
    DisplayState.verbosity = verbosity


def open_progress(show: bool = True) -> Progress:
    """A bar if stderr is a terminal, else lines; silent unless ``show``, or while another progress is shown."""
    if not show or sys.stderr is None or DisplayState.verbosity == Verbosity.QUIET:
        return SilentProgress()
    if DisplayState.open:
        first = DisplayState.open[0]
        return _StagePart(first) if len(DisplayState.open) == 1 and isinstance(first, Stages) else SilentProgress()
    return _open_display()


def _open_display() -> BarDisplay | LineDisplay:
    return BarDisplay() if sys.stderr.isatty() and DisplayState.verbosity == Verbosity.NORMAL else LineDisplay()


def is_shown() -> bool:
    """Whether progress that is opened now would be shown."""
    return sys.stderr is not None and not DisplayState.open and DisplayState.verbosity != Verbosity.QUIET


def write_line(text: str) -> None:
    """Print a line about the work on stderr, above its bar if it has one."""
    if sys.stderr is not None and DisplayState.verbosity != Verbosity.QUIET:
        DisplayState.last_line = time.perf_counter()
        print(text, file=sys.stderr, flush=True)


def track(items: Iterable[T], what: str, *, total: int | None = None, show: bool = True) -> Iterator[T]:
    """The items, with progress of ``what`` shown if ``show``; their number is ``total``, or their length."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with open_progress(show) as progress:
        progress.start(what, total)
        for item in items:
            yield item
            progress.advance()


class SilentProgress:
    """Progress that is not shown."""

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass


class Stages:
    """The stages of a long piece of work, by name: ``with Stages(("reading", "building")) as stages``.

    Each is one piece of work, named ``stage 2 of 5, ...``; progress that is opened meanwhile is shown as part of it.
    A line says so when they take another time than was ``expected``.
    """

    def __init__(self, names: Sequence[str], show: bool = True, expected: ExpectedTime | None = None) -> None:
        self.names = tuple(names)
        self._expected = expected
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._restate, daemon=True)
        self._display: BarDisplay | LineDisplay | None = _open_display() if show and is_shown() else None
        self._at = ""

    def __enter__(self) -> Stages:
        if self._display is not None:
            DisplayState.open.append(self)
            self._display.begin()
            if self._expected is not None:
                self._watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._display is not None:
            self._over.set()
            if self._expected is not None:
                self._watch.join()
            DisplayState.open.remove(self)
            self._display.end(error is None)

    def _restate(self) -> None:
        assert self._expected is not None
        while not self._over.wait(RESTATE_PERIOD_S):
            if (line := self._expected.restate()) is not None:
                write_line(line)

    @property
    def has_bar(self) -> bool:
        """Whether they are shown as a bar."""
        return isinstance(self._display, BarDisplay)

    def begin(self, name: str) -> None:
        """Begin the stage of that name, one of ``names``."""
        self._at = f"stage {self.names.index(name) + 1} of {len(self.names)}"
        if self._expected is not None:
            self._expected.begin(name)
        if self._display is not None:
            self._display.start(f"{self._at}, {name}")

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a part of this stage, until `resume`."""
        if self._display is not None:
            self._display.suspend(f"{self._at}, {what}", total)

    def resume(self) -> None:
        """End a part, and go on with the stage."""
        if self._display is not None:
            self._display.resume()

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        if self._display is not None:
            self._display.advance(n, note)


def begin_stage(name: str) -> None:
    """Begin a stage of the `Stages` that are open, if there are any with that name: for code that may run alone."""
    if DisplayState.open and isinstance(DisplayState.open[0], Stages) and name in DisplayState.open[0].names:
        DisplayState.open[0].begin(name)


class _StagePart:
    """Progress of pieces of work within a stage."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._begun = False

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""
        if self._begun:
            self._stages.resume()
        self._begun = True
        self._stages.start(what, total)

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        self._stages.advance(n, note)

    def __enter__(self) -> Progress:
        DisplayState.open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        DisplayState.open.remove(self)
        if self._begun and error is None:
            self._stages.resume()


def _has_bar(shown: Progress) -> bool:
    return isinstance(shown, BarDisplay) or (isinstance(shown, Stages) and shown.has_bar)


class Heartbeat:
    """A line now and then while ``what`` shows no progress of its own: no command is silent for long."""

    def __init__(self, what: str) -> None:
        self._what, self._began = what, time.perf_counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Heartbeat:
        DisplayState.last_line = self._began
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, SILENCE_S / 4)):
            now = time.perf_counter()
            bar = any(map(_has_bar, DisplayState.open))
            quiet = DisplayState.verbosity == Verbosity.QUIET or bar or sys.stderr is None
            if not quiet and now - DisplayState.last_line >= SILENCE_S:
                DisplayState.last_line = now
                print(f"{self._what}: working, {format_seconds(now - self._began)} so far", file=sys.stderr, flush=True)
