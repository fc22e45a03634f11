"""Progress of long work on stderr: a bar on a terminal, plain lines elsewhere.

Work that takes less than two seconds shows nothing, and rich is imported only when a bar appears. Only the outermost
progress is shown: one that is opened while another is open stays silent.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, Protocol, TypeVar

from resweep.errors import printable
from resweep.terminal import make_console

PATIENCE_S = 2.0  # work shorter than this shows nothing
LINE_PERIOD_S = 10.0  # between two lines about one piece of work, where there is no terminal

T = TypeVar("T")
_open: list[Progress] = []  # what is shown now: at most one


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


def open_progress(show: bool = True) -> Progress:
    """A bar if stderr is a terminal, else lines; silent unless ``show``, or while another progress is shown."""
    if not show or _open or sys.stderr is None:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


def track(items: Iterable[T], what: str, *, total: int | None = None, show: bool = True) -> Iterator[T]:
    """The items, with progress of ``what`` shown if ``show``; their number is ``total``, or their length."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with open_progress(show) as progress:
        progress.start(what, total)
        for item in items:
            yield item
            progress.advance()


class Silent:
    """Progress that is not shown."""

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass


class _Work:
    """One piece of work: what it is, and how far it has come."""

    def __init__(self, what: str = "", total: int | None = None) -> None:
        self.what, self.total, self.done, self.note = what, total, 0, ""
        self.began = time.perf_counter()

    def advance(self, n: int, note: str) -> None:
        self.done += n
        self.note = note or (f"{self.done}/{self.total}" if self.total is not None else str(self.done))


class Bar:
    """Progress as a bar on a terminal, there once the work has taken `PATIENCE_S`, and gone at its end."""

    def __init__(self) -> None:
        self._work = _Work()
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_S, self._appear)
        self._timer.daemon = True
        self._display: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        _open.append(self)
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _open.remove(self)
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
            self._task = display.add_task(printable(work.what), total=work.total, completed=work.done, note=work.note)
            display.start()
            self._display = display

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""
        with self._lock:
            self._work = _Work(what, total)
            if self._display is not None:
                self._display.reset(self._task, description=printable(what), total=total, note="")

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        with self._lock:
            self._work.advance(n, note)
            if self._display is not None:
                self._display.update(self._task, advance=n, note=self._work.note)


class Lines:
    """Progress as lines, for logs and pipes: one once a piece of work has taken `PATIENCE_S`, then now and then."""

    def __init__(self) -> None:
        self._work: _Work | None = None
        self._written: float | None = None  # when the last line about this work was
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        _open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _open.remove(self)
        self._end(said=error is None)

    def start(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work."""
        self._end(said=True)
        with self._lock:
            self._work, self._written = _Work(what, total), None
        self._timer = threading.Timer(PATIENCE_S, self._write)
        self._timer.daemon = True
        self._timer.start()

    def advance(self, n: int = 1, note: str = "") -> None:
        """Report steps."""
        with self._lock:
            if self._work is None:
                return
            self._work.advance(n, note)
            due = self._written is not None and time.perf_counter() - self._written >= LINE_PERIOD_S
        if due:
            self._write()

    def _end(self, said: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        if said and self._work is not None and self._written is not None:
            self._write(f"done in {time.perf_counter() - self._work.began:.1f} s")
        self._work = None

    def _write(self, end: str = "") -> None:
        with self._lock:
            if self._work is None:
                return
            self._written = time.perf_counter()
            words = ", ".join(part for part in (self._work.note, end) if part)
            print(f"{self._work.what}: {words}" if words else f"{self._work.what} ...", file=sys.stderr, flush=True)
