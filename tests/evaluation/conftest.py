"""Sweeps whose every metric can be computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from resweep.pose import Array
from resweep.sweep import BeamStatus, Sweep

ROWS, COLUMNS = 8, 90


@pytest.fixture
def make_sweep() -> Callable[..., Sweep]:
    """``make_sweep(ranges)``: a spinning scan of 8 rings × 90 columns; NaN or inf is a beam without return.

    ``label`` and ``intensity`` are given beam by beam (720,), ring after ring.
    """

    def make(ranges: Array | float, **columns: Any) -> Sweep:
        ring, column = (part.ravel() for part in np.mgrid[:ROWS, :COLUMNS])
        elevation, azimuth = np.radians(3.0 * (ring - 4)), 2 * np.pi * column / COLUMNS
        flat = np.cos(elevation)
        direction = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=1)
        distance = np.broadcast_to(np.asarray(ranges, dtype=float), ROWS * COLUMNS)
        hit = np.flatnonzero(np.isfinite(distance))
        status = np.full(len(ring), BeamStatus.NO_RETURN)
        status[hit] = BeamStatus.RETURN
        beamwise = {name: np.asarray(columns.pop(name, np.zeros(len(ring))))[hit] for name in ("label", "intensity")}
        given = {
            "pose": np.eye(4),
            "beam_origin": np.zeros((len(ring), 3)),
            "beam_direction": direction,
            "beam_time": np.zeros(len(ring)),
            "beam_ring": ring,
            "beam_column": column,
            "beam_status": status,
            "beam": hit,
            "range": distance[hit],
            "return_index": np.zeros(len(hit)),
            "instance": np.zeros(len(hit)),
            **beamwise,
        }
        return Sweep(**{**given, **columns})

    return make


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)
