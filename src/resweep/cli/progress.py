"""Progress on stderr: shown on a terminal, and only for work that takes more than a moment."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.sweep import Sweep

_PATIENCE_S = 1.0


@contextmanager
def warnings_told() -> Iterator[None]:
    """Warnings of the work within, as lines on stderr once it is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)


class Meter:
    """A progress bar over stages of work; ``with Meter() as meter``.

    It counts the sweeps, returns and beams that pass through `tracked` logs; ``seconds`` is the time since the
    latest of them began to be read.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, note="")
        self._timer = threading.Timer(_PATIENCE_S, self._progress.start)
        self._timer.daemon = True
        self.sweeps = self.returns = self.beams = 0
        self._began = time.perf_counter()

    def __enter__(self) -> Meter:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._timer.cancel()
        self._timer.join()  # a bar that starts only now would stay on the screen
        self._progress.stop()

    def stage(self, what: str, total: int | None = None) -> None:
        """Begin a piece of work, of ``total`` steps if they can be counted."""
        self._progress.reset(self._task, description=what, total=total, note="")

    def steps(self, done: int, total: int, what: str) -> None:
        """Show that ``done`` of ``total`` steps are done; a total of 0 is not known yet."""
        note = f"{done}/{total}" if total else ""
        self._progress.update(self._task, description=what, completed=done, total=total or None, note=note)

    @property
    def seconds(self) -> float:
        """Seconds since the latest `tracked` log began."""
        return time.perf_counter() - self._began

    def tracked(self, log: Log, period_s: float, what: str) -> Log:
        """``log``, each of whose sweeps moves the bar once it is loaded; ``period_s`` is what a sweep lasts."""
        self.stage(what, len(log))
        self._began, load, first = time.perf_counter(), log.load, self.sweeps

        def counted(at: int) -> Sweep:
            sweep = load(at)
            self.sweeps += 1
            self.returns += len(sweep)
            self.beams += sweep.n_beams
            pace = (self.sweeps - first) / self.seconds
            note = f"{self.sweeps - first}/{len(log)}, {pace:.1f} sweeps/s, {pace * period_s:.2f} × real time"
            self._progress.update(self._task, advance=1, note=note)
            return sweep

        return replace(log, load=counted)
