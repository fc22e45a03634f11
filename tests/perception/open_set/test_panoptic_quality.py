"""Panoptic and unknown quality of segments whose figures are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set import Quality, Segments, add_up, find_quality

CLASSES = ("road", "vehicle", "unknown")
THINGS = ("vehicle", "unknown")


def make(*parts: tuple[int, int, int]) -> Segments:
    """Segments of (class, instance, returns) one after the other."""
    count = [part[2] for part in parts]
    return Segments(np.repeat([part[0] for part in parts], count), np.repeat([part[1] for part in parts], count))


def test_truth_is_perfect() -> None:
    true = make((0, 0, 50), (1, 4, 20), (1, 9, 20), (2, 1, 30))
    renamed = make(
        (0, 7, 50), (1, 1, 20), (1, 2, 20), (2, 5, 30)
    )  # instances are names; those of the road mean nothing
    found = find_quality(renamed, true, CLASSES, THINGS)
    assert found["vehicle"] == Quality(2.0, 2, 0, 0)
    assert all(quality.pq == quality.uq == 1.0 for quality in found.values())


def test_parts_of_quality() -> None:
    """Of two vehicles one is found with 30 of 40 returns, the other missed; one more is seen in the road."""
    true = make((1, 1, 40), (1, 2, 20), (0, 0, 40))
    answer = make((1, 1, 30), (0, 0, 10), (0, 0, 20), (1, 3, 10), (0, 0, 30))
    found = find_quality(answer, true, CLASSES, THINGS)
    vehicle = found["vehicle"]
    assert (vehicle.tp, vehicle.fp, vehicle.fn) == (1, 1, 1)
    assert vehicle.sq == pytest.approx(0.75)
    assert vehicle.rq == pytest.approx(0.5)
    assert vehicle.pq == pytest.approx(0.375)
    assert vehicle.uq == pytest.approx(0.375)
    assert found["road"] == Quality(0.0, 0, 1, 1)  # an IoU of 30/70 is no match


def test_unknown_quality_leaves_out_what_is_found_beyond_the_truth() -> None:
    true = make((2, 1, 40), (0, 0, 60))
    answer = make((2, 1, 40), (2, 2, 15), (2, 3, 15), (0, 0, 30))
    unknown = find_quality(answer, true, CLASSES, THINGS)["unknown"]
    assert unknown.fp == 2
    assert unknown.uq == 1.0
    assert unknown.pq == pytest.approx(0.5)


def test_one_half_is_no_match() -> None:
    half = find_quality(make((2, 1, 20), (0, 0, 20)), make((2, 1, 40)), CLASSES, THINGS)["unknown"]
    assert (half.tp, half.fp, half.fn) == (0, 1, 1)
    more = find_quality(make((2, 1, 21), (0, 0, 19)), make((2, 1, 40)), CLASSES, THINGS)["unknown"]
    assert (more.tp, more.fp, more.fn) == (1, 0, 0)


def test_void_counts_neither_way() -> None:
    """Void within a match leaves its IoU; a segment that is mostly void is no error; small truth is void."""
    true = make((1, 1, 30), (UNKNOWN, 0, 30), (2, 5, 4), (0, 0, 20))
    answer = make((1, 1, 45), (2, 1, 15), (2, 2, 4), (0, 0, 20))
    found = find_quality(answer, true, CLASSES, THINGS)
    assert found["vehicle"] == Quality(1.0, 1, 0, 0)
    assert found["unknown"] == Quality(0.0, 0, 0, 0)
    assert find_quality(answer, true, CLASSES, THINGS, min_returns=1)["unknown"] == Quality(1.0, 1, 0, 0)


def test_sweeps_add_up() -> None:
    total = add_up([Quality(0.8, 1, 0, 1), Quality(0.6, 1, 1, 0)])
    assert (total.tp, total.fp, total.fn) == (2, 1, 1)
    assert total.pq == pytest.approx(1.4 / 3)
    assert total.recall == pytest.approx(2 / 3)
    assert np.isnan(Quality().pq)


def test_answers_of_another_sweep_are_an_error() -> None:
    with pytest.raises(ResweepError, match="3 predicted returns, but 2 true ones"):
        find_quality(make((0, 0, 3)), make((0, 0, 2)), CLASSES, THINGS)
    with pytest.raises(ResweepError, match="instances"):
        Segments(np.zeros(3), np.zeros(2))
