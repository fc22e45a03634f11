"""Range noise of a sensor, estimated from pairs: how far recorded ranges scatter about a smooth surface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.scatter.range_scatter import (
    SAME_SURFACE_M,
    SecondDifferences,
    compare_neighbours,
    estimate_range_noise,
)
from resweep.learn.beam_pairs import BeamPair
from resweep.sensor_scatter import RangeNoise
from resweep.simulate.beam_channels import CHANNELS

_RANGE, _INCIDENCE = CHANNELS.index("range_m"), CHANNELS.index("incidence_deg")
_MAX_RANGES = 20_000  # of a pair, by which the step of the sensor is known


def estimate_noise(pairs: Sequence[BeamPair]) -> RangeNoise | None:
    """Range noise by bins of range and incidence, of beams that hit a surface; None if too few did."""
    ranges = np.concatenate([pair.range[pair.returned][:_MAX_RANGES] for pair in pairs])
    return estimate_range_noise([_compare_neighbours(pair) for pair in pairs], ranges)


def _compare_neighbours(pair: BeamPair) -> SecondDifferences:
    channels = pair.channels
    cells = channels.find_cells(pair.layout.columns)
    order = np.argsort(cells, kind="stable")
    simulated = channels.values[:, _RANGE]
    same = np.abs(pair.range - simulated) < SAME_SURFACE_M
    good = channels.occupied & pair.returned & pair.counted & channels.surface & same
    left, middle, right = order[:-2], order[1:-1], order[2:]
    near = (cells[middle] - cells[left] == 1) & (cells[right] - cells[middle] == 1)
    return compare_neighbours(
        left[near], middle[near], right[near], good, pair.range, simulated, channels.values[:, _INCIDENCE]
    )
