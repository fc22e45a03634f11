"""Bins of intensity that networks predict, steps of a sensor, and how much of the scatter belongs to surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.scatter.step import find_step
from resweep.calibrate.scatter.texture_cells import COARSE_M, FINE_M, CellSums, find_textures
from resweep.learn.beam_pairs import BeamPair
from resweep.normal import find_normal
from resweep.pose import Array
from resweep.sensor_scatter import Texture
from resweep.simulate.intensity import IntensityModel

BINS = 28  # of equal shares of the returns, but for the tail
_TAIL = (0.98, 0.99, 0.995, 0.999)
_KNOTS = 9


def make_intensity_model(values: Array) -> tuple[IntensityModel, Array]:
    """The bins of recorded intensities (n,), and their upper edges (k,): a value belongs to the first not below it."""
    shares = np.unique(np.concatenate([np.arange(1, BINS + 1) / BINS, _TAIL]))
    edges = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    if len(edges) < 2:
        edges = np.append(edges, edges[-1] + max(abs(float(edges[-1])), 1.0))
    place = find_bins(values, edges)
    knots, means = [], []
    for number, edge in enumerate(edges):
        own = values[place == number].astype(np.float64) if np.any(place == number) else np.array([edge])
        knots.append(np.quantile(own, np.linspace(0.0, 1.0, _KNOTS)))
        means.append(float(own.mean()))
    model = IntensityModel(
        knots=np.round(knots, 6).tolist(), means=np.round(means, 6).tolist(), step=find_step(values[: 1 << 20])
    )
    return model, edges


def find_bins(values: Array, edges: Array) -> Array:
    """The bin (n,) of each intensity."""
    return np.minimum(np.searchsorted(edges, values, side="left"), len(edges) - 1)


def find_levels(shares: Array, true: Array, edges: Array, model: IntensityModel, random: np.random.Generator) -> Array:
    """Where in the distribution that shares (n, k) give each true intensity (n,) lies: uniform if they are right.

    Within a bin its quantiles say where. What a step of the sensor leaves open is drawn.
    """
    place = find_bins(true, edges)
    above = np.cumsum(shares.astype(np.float64), axis=1)
    rows = np.arange(len(place))
    own = shares[rows, place]
    level = (above[rows, place] - own * (1.0 - _find_within(true, place, model, random))) / np.maximum(
        above[:, -1], 1e-12
    )
    return np.clip(level, 0.0, 1.0)


def _find_within(true: Array, place: Array, model: IntensityModel, random: np.random.Generator) -> Array:
    """The share (n,) of each intensity's bin ``place`` (n,) that lies below it."""
    knots = np.array(model.knots)[place]
    last = knots.shape[1] - 1
    value = true + model.step * (random.random(len(true)) - 0.5)
    # Of knots that are equal any place between them is as good as another.
    below, until = (knots < value[:, None]).sum(axis=1), (knots <= value[:, None]).sum(axis=1)
    low = np.clip(np.where(until > below, below, below - 1), 0, last - 1)
    rows = np.arange(len(place))
    left, right = knots[rows, low], knots[rows, low + 1]
    part = np.where(right > left, (value - left) / np.maximum(right - left, 1e-12), random.random(len(true)))
    narrow = knots[:, -1] - knots[:, 0] < model.step / 2
    return np.where(narrow, random.random(len(true)), (low + np.clip(part, 0.0, 1.0)) / last)


def estimate_textures(pairs: Sequence[BeamPair], rows: Sequence[Array], levels: Sequence[Array]) -> tuple[Texture, ...]:
    """How much of the scatter of intensities stays with the surface from sweep to sweep, at two scales.

    ``levels`` (n,) of the beams ``rows`` (n,) of each pair say where their true intensities lie in what was predicted.
    As normal variables, those of two sweeps within a cell correlate by the share of the variance that the cell has.
    """
    fine, coarse = (_correlate(pairs, rows, levels, size) for size in (FINE_M, COARSE_M))
    return find_textures(fine, coarse)


def _correlate(pairs: Sequence[BeamPair], rows: Sequence[Array], levels: Sequence[Array], size_m: float) -> float:
    """The correlation of levels of different sweeps in the same cell, from 0 to 1."""
    sums = CellSums(size_m)
    for place in dict.fromkeys(pair.place for pair in pairs):
        own = [at for at, pair in enumerate(pairs) if pair.place == place]
        sums.add([find_normal(levels[at]) for at in own], [pairs[at].hit[rows[at]] for at in own])
    return sums.find_correlation()


def find_neighbours(pair: BeamPair) -> tuple[Array, Array]:
    """The beams (n,) of a pair that are fired one after the other by the same laser: left and right."""
    channels = pair.channels
    order = np.lexsort((channels.turn, channels.laser))
    left, right = order[:-1], order[1:]
    near = (channels.turn[right] - channels.turn[left]) * pair.layout.columns
    used = (channels.laser[left] == channels.laser[right]) & (near < 1.9)
    return left[used], right[used]
