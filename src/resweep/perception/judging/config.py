"""How sweeps are judged."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import Field, field_validator

from resweep.config import Positive, Spec


class JudgingConfig(Spec):
    """Settings of `resweep.judge`.

    Intervals come from drawing *places* again: a place is one of ``sectors`` of the horizon, seen from ``stretch_m``
    of the drive.
    """

    range_edges_m: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=100)] = (10.0, 20.0, 40.0)
    """Where one bin of ranges ends and the next begins, metres."""
    min_returns: Annotated[int, Field(ge=1, le=10**9)] = 20
    """True returns of a class from which on it has an IoU."""
    null_sigma_m: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01
    """Sigma of the noise that the null adds to recorded ranges, metres."""
    transfer_m: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    """How far the next sweep's return may be from that of this sweep whose beam it stands for, metres."""
    next_within_s: Positive = 1.0
    """How much later the next sweep may be, seconds."""
    sectors: Annotated[int, Field(ge=1, le=360)] = 12
    """Parts of the horizon."""
    stretch_m: Positive = 20.0
    """Length of the parts of the drive, metres."""
    resamples: Annotated[int, Field(ge=10, le=100_000)] = 500
    """Times that places are drawn again for an interval."""
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.95
    """Share of the draws that an interval holds."""
    feature_rows: Annotated[int, Field(ge=2, le=10**7)] = 20_000
    """Rows of features that are taken of a sweep at most, evenly spaced."""

    @field_validator("range_edges_m")
    @classmethod
    def _rises(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(second <= first for first, second in pairwise(edges)):
            raise ValueError("each edge must be above the one before")
        return edges
