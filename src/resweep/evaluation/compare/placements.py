"""Range errors of recorded beams, by the placement of the sweep and by the kind of return."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.evaluation.compare.beam_comparison import Match, make_comparable
from resweep.evaluation.compare.pair import sum_beams
from resweep.evaluation.compare.recorded_beams import pair_recorded
from resweep.evaluation.metrics.sums import MetricSums
from resweep.labels import LabelSet
from resweep.map_filter import MapFilter
from resweep.simulate import Retracer
from resweep.sweep import Sweep

PLACEMENTS = ("at the recorded pose", "registered by pose", "registered with motion")
HEADLINE = "registered by pose"  # what `resweep.resimulate` does, and of its drawn returns are the other figures
RETURNS = ("most_likely", "drawn")
FIGURES = ("range_median_m", "within_0.10m", "recovered_0.10m", "return_f1")


class Placements:
    """Figures of recorded sweeps fired again in one world, three placements by two kinds of return.

    ``left_out`` selects the recorded returns that have no counterpart in the world.
    """

    def __init__(self, retracer: Retracer, left_out: MapFilter, labels: LabelSet) -> None:
        self.retracer, self.left_out, self.labels = retracer, left_out, labels
        self.sums = {(where, how): MetricSums() for where in PLACEMENTS for how in RETURNS}

    def place(self, real: Sweep) -> dict[str, Sweep]:
        """The sweep where it is by each of the `PLACEMENTS`."""
        register = self.retracer.register
        return dict(zip(PLACEMENTS, (real, register(real), register(real, motion=True)), strict=True))

    def add(self, real: Sweep, number: int, placed: dict[str, Sweep], headline: Sweep) -> None:
        """Take in a prepared sweep, ``number`` in its log; its drawn returns at the `HEADLINE` are there already."""
        for where, there in placed.items():
            self._add(where, "most_likely", self.retracer.predict(real, there), real)
            drawn = headline if where == HEADLINE else self.retracer.sweep(real, number, there)
            self._add(where, "drawn", drawn, real)

    def _add(self, where: str, how: str, sim: Sweep, real: Sweep) -> None:
        sim, real = pair_recorded(sim, real, self.left_out)
        every, sums = np.arange(real.n_beams), MetricSums()
        sum_beams(sums, make_comparable(sim, real, np.eye(4)), Match(every, every, "index"), self.labels)
        self.sums[where, how].add(sums)

    def table(self) -> list[dict[str, Any]]:
        """A row a placement: its name, and the figures of ``most_likely`` and ``drawn`` returns by their names."""
        return [{"placement": where, **{how: self._figures(where, how) for how in RETURNS}} for where in PLACEMENTS]

    def _figures(self, where: str, how: str) -> dict[str, float | None]:
        metrics = self.sums[where, how].metrics((), 1.0)
        return {name: metrics[name] for name in FIGURES}
