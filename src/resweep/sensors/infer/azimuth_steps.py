"""How far a ring turns between two shots, from the azimuths or columns of its returns."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

_MIN_DIFFERENCES = 30  # differences that are enough for a ring's own step
_MAX_UNUSED_SHARE = 0.01  # share of the returns of the fullest column of a cycle, below which another is never fired


def estimate_steps(places: list[Array], rings: list[Array], n_rings: int, turn: float) -> Array:
    """Mean step (k,) of each ring between two shots, from ``places`` (n,) in [0, turn) of several sweeps.

    Steps need not be even: an encoder may round them, and lasers that take turns leave out some. Rings with
    few points take the median of the others.
    """
    apart: list[list[Array]] = [[] for _ in range(n_rings)]
    for place, ring in zip(places, rings, strict=True):
        order = np.argsort(ring * (2.0 * turn) + place, kind="stable")
        bounds = np.searchsorted(ring[order], np.arange(n_rings + 1))
        for at in range(n_rings):
            apart[at].append(np.diff(place[order[bounds[at] : bounds[at + 1]]]))
    step = np.array([_estimate_step(np.concatenate(parts), 1e-6 * turn) for parts in apart])
    if np.isnan(step).all():
        return np.full(n_rings, turn)
    return np.where(np.isnan(step), np.nanmedian(step), step)


def find_fired_columns(places: list[Array], rings: list[Array], n_rings: int, n_columns: int) -> Array:
    """Columns (k, c) bool that each ring fires in, from the numbered columns (n,) of its returns.

    Lasers that take turns leave out the same columns of every cycle of two to eight.
    """
    column, ring = np.concatenate(places).astype(np.int64), np.concatenate(rings)
    best = np.zeros((n_rings, 1), bool)
    for cycle in range(2, 9):
        count = np.bincount(ring * cycle + column % cycle, minlength=n_rings * cycle).reshape(n_rings, cycle)
        unused = (count < _MAX_UNUSED_SHARE * count.max(axis=1, keepdims=True)) & (
            count.sum(axis=1, keepdims=True) > 10 * _MIN_DIFFERENCES
        )
        if unused.mean() > best.mean() + 1e-9:
            best = unused
    return np.asarray(~best[:, np.arange(n_columns) % best.shape[1]])


def _estimate_step(apart: Array, min_step: float) -> float:
    apart = apart[apart > min_step]  # several returns of one beam
    if len(apart) < _MIN_DIFFERENCES:
        return float("nan")
    base = float(np.median(apart))
    # With much dropout the median is two steps, and half of it is common too.
    while np.mean((apart > 0.4 * base) & (apart < 0.6 * base)) > 0.15:
        base /= 2.0
    single = (apart > 0.3 * base) & (apart < 1.5 * base)
    double = (apart >= 1.5 * base) & (apart < 2.5 * base)
    if _is_regular(double, single):
        single |= double
    return float(apart[single].mean())


def _is_regular(double: Array, single: Array) -> bool:
    """Whether double steps recur so regularly that no beam was fired in them."""
    if double.mean() < 0.1:
        return False
    for period in range(2, 9):
        # Runs of one double step and single ones up to where the next double is due.
        run = double[:-period].copy()
        for at in range(1, period):
            run &= single[at : len(single) - period + at]
        if run.sum() >= _MIN_DIFFERENCES and np.mean(double[period:][run]) > 0.9:
            return True
    return False
