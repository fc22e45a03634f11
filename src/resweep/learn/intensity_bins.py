"""Bins of intensity that networks predict, steps of a sensor, and how much of the scatter belongs to surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.learn.beam_pairs import BeamPair
from resweep.pose import Array
from resweep.simulate.intensity import IntensityModel, Texture
from resweep.simulate.normal import find_normal
from resweep.voxels import find_cells

BINS = 28  # of equal shares of the returns, but for the tail
_TAIL = (0.98, 0.99, 0.995, 0.999)
_KNOTS = 9
_MAX_LEVELS = 70_000  # distinct values of a sensor that counts in steps
_FINE_M, _COARSE_M = 0.15, 1.0  # scales of paint and leaves, and of whole things
_STEP_TOLERANCE, _MIN_FITTING_SHARE = 0.02, 0.999


def find_step(values: Array) -> float:
    """The step in which values (n,) are counted, such as 0.01 or 1/65535; 0 if they are continuous.

    It is the step between neighbouring values that all are multiples of.
    """
    levels = np.unique(np.asarray(values, np.float64))
    if len(levels) < 3 or len(levels) > _MAX_LEVELS:
        return 0.0
    between = np.diff(levels)
    step = float(np.median(between[between < 1.5 * np.quantile(between, 0.1)]))
    counts = np.round(levels / step)
    step = float((counts * levels).sum() / max(float((counts**2).sum()), 1.0))  # all levels say how large it is
    apart = np.abs(levels / step - np.round(levels / step))
    # Continuous values that were rounded to float32 would pass by chance if steps are few times that.
    if step < 1e-6 * float(np.abs(levels).max()) or float(np.mean(apart < _STEP_TOLERANCE)) < _MIN_FITTING_SHARE:
        return 0.0
    return float(f"{step:.6g}")


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
    fine, coarse = (_correlate(pairs, rows, levels, size) for size in (_FINE_M, _COARSE_M))
    coarse = min(coarse, fine)
    parts = ((_COARSE_M, coarse), (_FINE_M, fine - coarse))
    return tuple(Texture(size_m=size, share=round(share, 3)) for size, share in parts if share > 0.005)


def _correlate(pairs: Sequence[BeamPair], rows: Sequence[Array], levels: Sequence[Array], size_m: float) -> float:
    """The correlation of levels of different sweeps in the same cell, from 0 to 1."""
    together, total, count, number = 0.0, 0.0, 0.0, 0
    for place in dict.fromkeys(pair.place for pair in pairs):
        own = [at for at, pair in enumerate(pairs) if pair.place == place]
        value = np.concatenate([find_normal(levels[at]) for at in own])
        cell = np.concatenate([find_cells(pairs[at].hit[rows[at]], size_m) for at in own])
        sweep = np.repeat(np.arange(len(own)), [len(rows[at]) for at in own])
        cells, key = np.unique(cell, axis=0, return_inverse=True)
        of_sweep = np.unique(key.reshape(-1) * len(own) + sweep, return_inverse=True)
        sums = np.bincount(of_sweep[1].reshape(-1), value)
        counts = np.bincount(of_sweep[1].reshape(-1)).astype(np.float64)
        # One value for each sweep and cell, so that near cells, which hold many returns, do not rule.
        home, mean = of_sweep[0] // len(own), sums / counts
        whole, sweeps = np.bincount(home, mean, len(cells)), np.bincount(home, minlength=len(cells))
        pairs_of_means = (whole**2 - np.bincount(home, mean**2, len(cells))).sum()
        together += float(pairs_of_means)
        count += float((sweeps * (sweeps - 1)).sum())
        total += float((value**2).sum())
        number += len(value)
    if count == 0 or number == 0:
        return 0.0
    return float(np.clip((together / count) / max(total / number, 1e-9), 0.0, 1.0))


def find_neighbours(pair: BeamPair) -> tuple[Array, Array]:
    """The beams (n,) of a pair that are fired one after the other by the same laser: left and right."""
    channels = pair.channels
    order = np.lexsort((channels.turn, channels.laser))
    left, right = order[:-1], order[1:]
    near = (channels.turn[right] - channels.turn[left]) * pair.layout.columns
    used = (channels.laser[left] == channels.laser[right]) & (near < 1.9)
    return left[used], right[used]
