"""Which returns a map of a place leaves out, whatever sensor measured them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from resweep.config import NotNegative, Spec
from resweep.pose import Array
from resweep.quantities import MAX_ROWS, LabelId
from resweep.sweep import Sweep


class MapFilter(Spec):
    """The returns that no map of a place holds: those of the vehicle, nearer than ``near_m``, and those of ``labels``.

    ``labels`` are the ids of what moves, of outliers and of what else the settings leave out of the map. In a sweep
    without labels all are 0, which leaves out nothing.
    """

    near_m: NotNegative = 0.0
    labels: Annotated[tuple[LabelId, ...], Field(max_length=MAX_ROWS)] = ()

    def keeps_labels(self, label: Array) -> Array:
        """Rows (n,) bool whose label does not leave them out."""
        unwanted = self.labels if label.any() else [item for item in self.labels if item != 0]
        return ~np.isin(label, unwanted)

    def keeps(self, sweep: Sweep) -> Array:
        """Returns (n,) bool of a sweep that a map could hold."""
        return (sweep.range >= self.near_m) & self.keeps_labels(sweep.label)

    def keeps_beams(self, sweep: Sweep) -> Array:
        """Beams (b,) bool of a sweep, all but those that returned from what no map holds."""
        kept = np.ones(sweep.n_beams, bool)
        kept[sweep.beam[~self.keeps(sweep)]] = False
        return kept
