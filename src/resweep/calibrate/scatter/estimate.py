"""How a sensor scatters, from sweeps and the same beams in the world that was built from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.scatter.drop_table import estimate_drops
from resweep.calibrate.scatter.intensity_tables import estimate_intensities
from resweep.calibrate.scatter.range_scatter import SecondDifferences, compare_neighbours, estimate_range_noise
from resweep.calibrate.scatter.scatter_numbers import ScatterNumbers
from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.pose import Array
from resweep.sensor_scatter import SensorScatter

_MAX_RANGES = 20_000  # of a sweep, by which the step of the sensor is known


def estimate_scatter(pairs: Sequence[ScatterPair], gains: Sequence[Array], labelled: bool) -> SensorScatter:
    """What the pairs show of intensities, ranges and lost beams; ``gains`` (b,) are those of the beams of each."""
    if not pairs:
        return SensorScatter()
    ranges = np.concatenate([pair.recorded[np.isfinite(pair.recorded)][:_MAX_RANGES] for pair in pairs])
    intensity, correlation = estimate_intensities(pairs, gains, labelled), None
    if intensity is not None:
        numbers = ScatterNumbers.of(intensity, pairs)
        intensity, correlation = numbers.count_returns(intensity), numbers.estimate_correlation()
    return SensorScatter(
        intensity=intensity,
        range=estimate_range_noise([_find_differences(pair) for pair in pairs], ranges),
        drops=estimate_drops(pairs),
        correlation=correlation,
    )


def _find_differences(pair: ScatterPair) -> SecondDifferences:
    left, middle, right = pair.order[:-2], pair.order[1:-1], pair.order[2:]
    along = (pair.ring[left] == pair.ring[middle]) & (pair.ring[middle] == pair.ring[right])
    left, middle, right = left[along], middle[along], right[along]
    good = pair.same & pair.surface
    return compare_neighbours(left, middle, right, good, pair.recorded, pair.simulated, pair.incidence_deg)
