"""What a command counts while sweeps pass: for its progress, and for what it prints at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.progress import Progress
    from resweep.sweep import Sweep


class Tally:
    """Counts the sweeps, returns and beams of logs as they are loaded, and reports them to a progress.

    ``seconds`` is the time since the latest log began to be counted.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.sweeps = self.returns = self.beams = self.empty = 0
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the latest log began to be counted."""
        return time.perf_counter() - self._began

    def count(self, log: Log, period_s: float, what: str) -> Log:
        """``log``, each of whose sweeps counts once it is loaded; ``period_s`` is what a sweep lasts."""
        self._progress.start(what, len(log))
        self._began, first = time.perf_counter(), self.sweeps

        def add(sweep: Sweep) -> Sweep:
            self.sweeps += 1
            self.returns += len(sweep)
            self.beams += sweep.n_beams
            self.empty += len(sweep) == 0
            done = self.sweeps - first
            pace = done / self.seconds
            note = f"{done}/{len(log)}, {pace:.1f} sweeps/s, {pace * period_s:.2f} × real time"
            self._progress.advance(1, note)
            return sweep

        return log.map(add, "count")

    def say_empty(self) -> None:
        """Say on stderr how many sweeps had no return, if any had none."""
        if self.empty:
            typer.echo(f"resweep: warning: {self.empty:,} of {self.sweeps:,} sweeps have no return", err=True)
