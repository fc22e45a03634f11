"""Clusters of returns: apart where their distance says so, at the range that they are seen at."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.perception.open_set.instance_clusters import find_clusters


@pytest.mark.parametrize(("gap_m", "count"), [(0.3, 1), (0.5, 2)])
def test_blobs_join_by_their_gap(gap_m: float, count: int) -> None:
    line = np.column_stack([np.arange(0, 1.01, 0.1), np.zeros((11, 2))])
    found = find_clusters(np.concatenate([line, line + np.array([1.0 + gap_m, 0.0, 0.0])]), radius_m=0.4)
    assert found.max() == count
    assert (found[:11] == 1).all()


def test_the_radius_grows_with_the_range() -> None:
    pair = np.array([[0.0, 0.0, 0.0], [0.0, 0.6, 0.0]])
    assert find_clusters(pair + np.array([5.0, 0.0, 0.0])).tolist() == [1, 2]
    assert find_clusters(pair + np.array([40.0, 0.0, 0.0])).tolist() == [1, 1]


def test_order_of_points_names_clusters_alone() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-10, 10, (300, 3))
    order = rng.permutation(300)
    one, other = find_clusters(points), find_clusters(points[order])
    assert ((one[order][:, None] == one[order]) == (other[:, None] == other)).all()


def test_nothing_has_no_clusters() -> None:
    assert len(find_clusters(np.zeros((0, 3)))) == 0
    assert find_clusters(np.ones((1, 3))).tolist() == [1]
