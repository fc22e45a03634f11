"""Recorded scatter of intensities, as models keep it (`resweep.simulate.recorded_scatter`)."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence

import numpy as np

from resweep.learn.beam_pairs import BeamPair
from resweep.pose import Array
from resweep.simulate.beam_channels import number_beams
from resweep.simulate.recorded_scatter import STEPS, RecordedScatter

FILE = "scatter.npy"
_MAX_SWEEPS = 8  # that a model keeps: some megabytes
_TURNS = 16  # parts of a turn, by which gaps are filled from elsewhere on the ring


def keep_scatter(pairs: Sequence[BeamPair], rows: Sequence[Array], levels: Sequence[Array]) -> Array:
    """Levels (s, rings, columns) uint8 of some sweeps, from those (n,) of the beams ``rows`` (n,) of each pair.

    Beams whose level is unknown have that of another beam of the ring. Levels of a ring are replaced by their ranks:
    what a model has wrong for a laser in one place would be wrong in another way elsewhere.
    """
    chosen = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), _MAX_SWEEPS)).astype(int))
    numbers = [number_beams(pairs[at].channels) for at in chosen]
    rings = max(pairs[at].layout.rings for at in chosen)
    columns = int(np.median([np.bincount(pairs[at].channels.laser).max() for at in chosen]))
    fields = np.full((len(chosen), rings, columns), np.nan)
    for field, at, number in zip(fields, chosen, numbers, strict=True):
        own = rows[at]
        inside = (number[own] < columns) & (pairs[at].channels.laser[own] < rings)
        field[pairs[at].channels.laser[own][inside], number[own][inside]] = levels[at][inside]
    random = np.random.default_rng(0)
    for turn in range(1, _TURNS):
        fields = np.where(np.isnan(fields), np.roll(fields, turn * columns // _TURNS, axis=2), fields)
    fields = np.where(np.isnan(fields), random.random(fields.shape), fields)
    order = fields.transpose(1, 0, 2).reshape(rings, -1).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    steps = (order * STEPS // order.shape[1]).astype(np.uint8)
    return np.asarray(steps.reshape(rings, len(chosen), columns).transpose(1, 0, 2))


def pack_scatter(levels: Array) -> tuple[bytes, RecordedScatter]:
    """The file of levels, and its entry in the card."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(levels), allow_pickle=False)
    data = buffer.getvalue()
    return data, RecordedScatter(file=FILE, sha256=hashlib.sha256(data).hexdigest(), sweeps=len(levels))
