"""Has a sample one peak or two? Silverman's test, and the bimodality coefficient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

Array = NDArray[Any]

GRID = 1024
FAINT = 0.01  # bumps lower than this share of the highest are single stragglers in the tails, no modes


def smoothed(sample: Array, bandwidth: float, grid: Array) -> Array:
    """Gaussian kernel density of ``sample`` on the evenly spaced ``grid``."""
    step = grid[1] - grid[0]
    edges = np.append(grid, grid[-1] + step) - step / 2
    counts = np.histogram(sample, bins=edges)[0].astype(np.float64)
    filtered = gaussian_filter1d(counts, bandwidth / step, mode="constant", truncate=6.0)
    return np.asarray(filtered / (len(sample) * step))


def modes(sample: Array, bandwidth: float) -> Array:
    """Places of the peaks of the kernel density, left to right."""
    reach = 6.0 * bandwidth
    grid = np.linspace(sample.min() - reach, sample.max() + reach, GRID)
    density = smoothed(sample, bandwidth, grid)
    inner = density[1:-1]
    peak = (inner > density[:-2]) & (inner >= density[2:]) & (inner > FAINT * density.max())
    return np.asarray(grid[1:-1][peak])


def critical_bandwidth(sample: Array, count: int, steps: int = 30) -> float:
    """The least bandwidth at which the kernel density has no more than ``count`` peaks."""
    spread = float(sample.std())
    low, high = 0.005 * spread, 2.0 * spread
    for _ in range(steps):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if len(modes(sample, middle)) > count else (low, middle)
    return high


def silverman(sample: Array, count: int = 1, draws: int = 500, seed: int = 0) -> tuple[float, float]:
    """Critical bandwidth, and the p-value of "no more than ``count`` modes".

    The sample is smoothed until only ``count`` modes are left, and drawn anew from that density, scaled back
    to the sample's variance. The p-value is the share of draws that have more modes at the same bandwidth
    (B. W. Silverman, Using kernel density estimates to investigate multimodality, J. R. Statist. Soc. B 43,
    1981, 97-99). It tends to be too large, so that a small one is safe evidence.
    """
    rng = np.random.default_rng(seed)
    h = critical_bandwidth(sample, count)
    mean, spread = sample.mean(), sample.std()
    more = 0
    for _ in range(draws):
        drawn = rng.choice(sample, len(sample)) + h * rng.normal(size=len(sample))
        drawn = mean + (drawn - mean) / np.sqrt(1.0 + (h / spread) ** 2)
        more += len(modes(drawn, h)) > count
    return h, (more + 1) / (draws + 1)


def bimodality_coefficient(sample: Array) -> float:
    """(skewness² + 1) / kurtosis: 1/3 for a normal law, 5/9 for a uniform one, up to 1 for two points."""
    z = (sample - sample.mean()) / sample.std()
    return float(((z**3).mean() ** 2 + 1.0) / (z**4).mean())
