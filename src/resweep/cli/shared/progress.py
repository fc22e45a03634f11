"""What a command counts while sweeps pass: for its progress, and for what it prints at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from resweep.log import Log
    from resweep.progress import Progress
    from resweep.sweep import Sweep
    from resweep.worlds import StreamedWorld, World


class Tally:
    """Counts the sweeps, returns and beams of logs as they are loaded, and reports them to a progress.

    ``seconds`` is the time since the latest log began to be counted.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.sweeps = self.returns = self.beams = self.unknown = self.empty = 0
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the latest log began to be counted."""
        return time.perf_counter() - self._began

    def begin(self, total: int, period_s: float, what: str) -> Callable[[int, int, int], None]:
        """What counts each of ``total`` sweeps, as `resweep.io.folders.pending.OnSweep`; a sweep lasts ``period_s``."""
        self._progress.start(what, total)
        self._began, first = time.perf_counter(), self.sweeps

        def add(returns: int, beams: int, unknown: int) -> None:
            self.sweeps += 1
            self.returns += returns
            self.beams += beams
            self.unknown += unknown
            self.empty += returns == 0
            done = self.sweeps - first
            pace = done / self.seconds
            note = f"{done}/{total}, {pace:.1f} sweeps/s, {pace * period_s:.2f} × real time"
            self._progress.advance(1, note)

        return add

    def count(self, log: Log, period_s: float, what: str) -> Log:
        """``log``, each of whose sweeps counts once it is loaded; ``period_s`` is what a sweep lasts."""
        add = self.begin(len(log), period_s, what)

        def load(sweep: Sweep) -> Sweep:
            add(len(sweep), sweep.n_beams, sweep.n_unknown)
            return sweep

        return log.map(load, "count")

    @property
    def unknown_share(self) -> float:
        """The share of beams that look where nothing was recorded."""
        return self.unknown / max(self.beams, 1)

    def report_unknown(self, world: World | StreamedWorld) -> None:
        """Print what share of beams look where nothing was recorded; warn of sweeps that have no return."""
        from resweep.worlds.layers import KINDS

        if world.observed is not None:
            typer.echo(f"{100 * self.unknown_share:.1f} % of the beams look where nothing was recorded")
        elif any(KINDS[layer.kind].keeps_extra for layer in world.layers):  # built from a recording
            typer.echo(
                "the world does not know which space was recorded; build it again, from sweeps with poses, to tell "
                "empty from unknown"
            )
        if self.empty:
            typer.echo(f"resweep: warning: {self.empty:,} of {self.sweeps:,} sweeps have no return", err=True)
