"""How progress is shown: a bar on a terminal, or lines; and how much of it."""

from __future__ import annotations

import sys
import threading
import time
from enum import IntEnum
from types import TracebackType
from typing import Any, Protocol

from resweep.errors import printable
from resweep.terminal import make_console

PATIENCE_S = 2.0  # work shorter than this shows nothing
LINE_PERIOD_S = 10.0  # between two lines about one piece of work, where there is no terminal


class Verbosity(IntEnum):
    """How much is shown of work."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class Progress(Protocol):
    """What work reports to: pieces of work one after another, each in steps. A context: ``with ... as progress``."""

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work, of ``total`` steps if they can be counted."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report ``n`` more steps done; ``note`` is shown in place of how many of how many."""

    def __enter__(self) -> Progress:
        """Begin to report."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the last piece of work."""


class DisplayState:
    """What is shown now, for the whole process."""

    open: list[Progress] = []  # noqa: RUF012  # at most one, and a part of its stage
    verbosity = Verbosity.NORMAL
    last_line = 0.0  # when it was written


class Work:
    """One piece of work: what it is, and how far it has come."""

    def __init__(self, what: str = "", total: int | None = None) -> None:
        self.what, self.total, self.done, self.note = what, total, 0, ""
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.began

    def advance(self, n: int, note: str) -> None:
        self.done += n
        self.note = note or (f"{self.done}/{self.total}" if self.total is not None else str(self.done))

    def describe(self) -> str:
        """Steps done, steps a second, and the time that is left."""
        if not self.done:
            return f"{format_seconds(self.seconds)} so far" if self.seconds > PATIENCE_S + 1 else ""
        left = ""
        if self.total is not None and self.done < self.total:
            left = f", {format_seconds((self.total - self.done) / self.pace)} left"
        return f"{self.describe_pace()}{left}"

    @property
    def pace(self) -> float:
        """Steps a second."""
        return self.done / max(self.seconds, 1e-9)

    def describe_pace(self) -> str:
        """Steps done, and steps a second."""
        return self.note if "/s" in self.note else f"{self.note}, {self.pace:.3g}/s"


def format_seconds(seconds: float) -> str:
    """A duration as text: ``36 s``, ``12 min``, ``1 h 20 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Display(Progress, Protocol):
    """Progress that is displayed; while one is open, no other is."""

    def __enter__(self) -> Progress:
        DisplayState.open.append(self)
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        DisplayState.open.remove(self)
        self.end(error is None)

    def begin(self) -> None:
        """Begin to show the work."""

    def end(self, finished: bool) -> None:
        """Show no more; the last piece of work ``finished``, or an error ended it."""


class BarDisplay(Display):
    """Progress as a bar on a terminal, there once the work has taken `PATIENCE_S`, and gone at its end."""

    def __init__(self) -> None:
        self._work = self._suspended = Work()
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_S, self._appear)
        self._timer.daemon = True
        self._display: Any = None
        self._task: Any = None

    def begin(self) -> None:
        """Begin to wait for the time at which the bar appears."""
        self._timer.start()

    def end(self, finished: bool) -> None:
        """Take the bar away, whether the work ``finished`` or not."""
        self._timer.cancel()
        self._timer.join()  # a bar that appears only now would stay on the screen
        if self._display is not None:
            self._display.stop()

    def _appear(self) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        columns = (
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=12)),
            *(TextColumn("{task.fields[note]}", markup=False), TimeRemainingColumn(compact=True)),
        )
        with self._lock:
            work = self._work
            display = Display(*columns, console=make_console(stderr=True), transient=True)
            note = work.describe_pace() if work.done else ""
            self._task = display.add_task(printable(work.what), total=work.total, completed=work.done, note=note)
            display.start()
            self._display = display

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""
        with self._lock:
            self._work = Work(what, total)
            if self._display is not None:
                self._display.reset(self._task, description=printable(what), total=total, note="")

    def suspend(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work that is part of the present one."""
        self._suspended = self._work
        self.start(what, total)

    def resume(self) -> None:
        """Go on with what the last piece of work was part of."""
        self.start(self._suspended.what, self._suspended.total)

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        with self._lock:
            self._work.advance(n, note)
            if self._display is not None:
                self._display.update(self._task, advance=n, note=self._work.describe_pace())


class LineDisplay(Display):
    """Progress as lines, for logs and pipes: one once a piece of work has taken `PATIENCE_S`, then one now and then.

    A thread of its own writes them, so that work of a single long step is not silent.
    """

    def __init__(self) -> None:
        self._work: Work | None = None
        self._written: float | None = None  # when the last line about this work was
        self._suspended: tuple[Work | None, float | None] = (None, None)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self) -> None:
        """Begin to write."""
        self._thread.start()

    def end(self, finished: bool) -> None:
        """Stop writing; say that the last piece of work is done if it ``finished``."""
        self._over.set()
        self._thread.join()
        self._end(finished)

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""
        self._end(report=True)
        self._take(Work(what, total), None)

    def suspend(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work that is part of the present one, which goes on with `resume`."""
        self._suspended = (self._work, self._written)
        self._take(Work(what, total), None)

    def resume(self) -> None:
        """End a part, and go on with what it is part of."""
        self._end(report=True)
        work, written = self._suspended
        with self._lock:
            self._work, self._written = work, written

    def _take(self, work: Work, written: float | None) -> None:
        with self._lock:
            self._work, self._written = work, written
        if DisplayState.verbosity == Verbosity.VERBOSE:
            self._write()

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        with self._lock:
            if self._work is not None:
                self._work.advance(n, note)
        self._write_if_due()

    def _watch(self) -> None:
        while not self._over.wait(max(min(PATIENCE_S, LINE_PERIOD_S) / 4, 0.01)):
            self._write_if_due()

    def _write_if_due(self) -> None:
        with self._lock:
            if self._work is None:
                return
            if self._written is None:
                due = self._work.seconds >= PATIENCE_S
            else:
                due = time.perf_counter() - self._written >= LINE_PERIOD_S
        if due:
            self._write()

    def _end(self, report: bool) -> None:
        if report and self._work is not None and self._written is not None:
            self._write(f"done in {self._work.seconds:.1f} s")
        with self._lock:
            self._work = None

    def _write(self, end: str = "") -> None:
        with self._lock:
            if self._work is None:
                return
            self._written = DisplayState.last_line = time.perf_counter()
            words = ", ".join(part for part in (self._work.note, end) if part) if end else self._work.describe()
            print(f"{self._work.what}: {words}" if words else f"{self._work.what} ...", file=sys.stderr, flush=True)
