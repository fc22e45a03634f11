"""Range noise of a sensor, estimated from pairs: how far recorded ranges scatter about a smooth surface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.learn.beam_pairs import BeamPair
from resweep.learn.intensity_bins import find_step
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS
from resweep.simulate.noise import RangeNoise

RANGE_EDGES_M = (6.0, 10.0, 15.0, 22.0, 32.0, 45.0)
INCIDENCE_EDGES_DEG = (35.0, 55.0, 70.0, 79.0, 84.0)
_SAME_SURFACE_M = 0.3  # by which recorded and simulated ranges differ at most where both hit the same surface
_MIN_RESIDUALS = 60  # of a bin: a median of fewer is off by more than a tenth
_SIGMA_PER_MAD = 1.4826  # per median absolute deviation of a normal variable
_MAX_SPREADS = 3.0  # spreads of the residuals, in which roughness is looked for
_SPREAD_OF_SECOND = 1.5  # variance of a value less the mean of its two neighbours, of independent values of variance 1
_RANGE, _INCIDENCE = CHANNELS.index("range_m"), CHANNELS.index("incidence_deg")


def estimate_noise(pairs: Sequence[BeamPair]) -> RangeNoise | None:
    """Range noise by bins of range and incidence, of beams that hit a surface; None if too few did.

    The residual of a beam, recorded less simulated range, is compared with those of both neighbours on its ring: an
    offset or a curve of the surface cancels out, and what changes from beam to beam is left. Part of that is how rough
    the map is by itself, which simulated ranges have already: it counts against the noise.
    """
    parts = [_compare_neighbours(pair) for pair in pairs]
    values, second = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    if len(second) < _MIN_RESIDUALS:
        return None
    row = np.digitize(values[:, 0], RANGE_EDGES_M)
    column = np.digitize(values[:, 1], INCIDENCE_EDGES_DEG)
    whole = _find_sigma(second)
    sigma = np.zeros((len(RANGE_EDGES_M) + 1, len(INCIDENCE_EDGES_DEG) + 1))
    for place in np.ndindex(*sigma.shape):
        own = second[(row == place[0]) & (column == place[1])]
        sigma[place] = _find_sigma(own) if len(own) >= _MIN_RESIDUALS else whole
    ranges = np.concatenate([pair.range[pair.returned][:20_000] for pair in pairs])
    step = find_step(ranges[:200_000])
    return RangeNoise(
        range_edges_m=RANGE_EDGES_M,
        incidence_edges_deg=INCIDENCE_EDGES_DEG,
        sigma_m=np.round(np.minimum(sigma, 1.0), 5).tolist(),
        step_m=step if step < 0.1 else 0.0,
    )


def _find_sigma(second: Array) -> float:
    """Sigma of the noise to add, from second differences (n, 2) along rings: of residuals, and of simulated ranges.

    Residuals have the variance N + S of noise and roughness; as roughness is in the simulated ranges too, with the
    other sign, their covariance is -S. Simulated ranges with a variance of N - S on top scatter as recorded ones do.
    """
    residual, simulated = second[:, 0] - np.median(second[:, 0]), second[:, 1]
    sigma = _SIGMA_PER_MAD * float(np.median(np.abs(residual)))
    flat = (np.abs(simulated) < _MAX_SPREADS * sigma) & (np.abs(residual) < _MAX_SPREADS * sigma)
    rough = -float((residual[flat] * simulated[flat]).mean()) if np.count_nonzero(flat) >= _MIN_RESIDUALS else 0.0
    return float(np.sqrt(max(sigma**2 - 2.0 * max(rough, 0.0), 0.0) / _SPREAD_OF_SECOND))


def _compare_neighbours(pair: BeamPair) -> tuple[Array, Array]:
    """Range and incidence (n, 2) of beams on surfaces, and by how much (n, 2) they differ from the neighbours' mean.

    The first column is of residuals, the second of simulated ranges.
    """
    channels = pair.channels
    cells = channels.find_cells(pair.layout.columns)
    order = np.argsort(cells, kind="stable")
    residual = pair.range - channels.values[:, _RANGE]
    good = channels.occupied & pair.returned & pair.counted & channels.surface & (np.abs(residual) < _SAME_SURFACE_M)
    left, middle, right = order[:-2], order[1:-1], order[2:]
    near = (cells[middle] - cells[left] == 1) & (cells[right] - cells[middle] == 1)
    used = near & good[left] & good[middle] & good[right]
    left, middle, right = left[used], middle[used], right[used]
    both = np.stack([residual, channels.values[:, _RANGE]], axis=1).astype(np.float64)
    second = both[middle] - (both[left] + both[right]) / 2
    return channels.values[middle][:, [_RANGE, _INCIDENCE]], second
