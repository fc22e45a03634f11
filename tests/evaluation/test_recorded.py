"""The whole recorded cloud: exact, in memory and in files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from resweep.evaluation.compare.recorded import TILE_M, KeptClouds, RecordedCloud
from resweep.pose import Array, from_xyz_rpy
from resweep.sweep import Sweep


@pytest.fixture
def sweeps(rng: np.random.Generator) -> list[Sweep]:
    """Five sweeps far from zero, 30 m apart, over several tiles; some points are not finite."""
    made = []
    for at in range(5):
        points = rng.normal(0, (25.0, 25.0, 2.0), (400, 3))
        points[7] = np.nan
        pose = from_xyz_rpy(500_000.0 + 30.0 * at, 5_000_000.0, 100.0, yaw=0.1 * at)
        made.append(Sweep.from_points(points, pose=pose, label=rng.integers(0, 3, 400)))
    return made


def gathered(sweeps: list[Sweep], **options: int) -> RecordedCloud:
    cloud = RecordedCloud(sweeps[0].pose[:3, 3], **options)
    for sweep in sweeps:
        cloud.add(sweep)
    return cloud


def all_of(sweeps: list[Sweep], choose: Callable[[Sweep], Array] = Sweep.world_points) -> Array:
    return np.concatenate([choose(sweep) for sweep in sweeps])


@pytest.mark.parametrize("max_points", [10_000_000, 900, 1], ids=["in memory", "some in files", "all in files"])
def test_distances_are_those_of_all_pairs(sweeps: list[Sweep], rng: np.random.Generator, max_points: int) -> None:
    cloud = gathered(sweeps, max_points=max_points)
    points, label = all_of(sweeps), all_of(sweeps, lambda sweep: sweep.label)
    finite = np.isfinite(points).all(axis=1)
    points, label = points[finite], label[finite]
    assert len(cloud) == len(points) == 5 * 399
    asked = points[::3] + rng.normal(0, 3 * TILE_M, points[::3].shape)  # most far from any return, some tiles away
    every = np.linalg.norm(asked[:, None] - points[None], axis=2)
    np.testing.assert_allclose(cloud.distances(asked), every.min(axis=1), rtol=1e-9)
    for item in range(3):
        nearest = every[:, label == item].min(axis=1)
        np.testing.assert_allclose(cloud.class_distances(asked, item), nearest, rtol=1e-9)
    assert np.isinf(cloud.class_distances(asked, 99)).all()
    assert (cloud.distances(points) == 0).all()
    assert cloud.distances(np.zeros((0, 3))).shape == (0,)


def test_few_points_stay_in_memory(sweeps: list[Sweep]) -> None:
    cloud = gathered(sweeps, max_points=800)
    points = all_of(sweeps)
    cloud.distances(points[np.isfinite(points).all(axis=1)][::50])
    assert cloud._n_read <= 800
    assert cloud._held <= 800


@pytest.mark.parametrize("max_points", [10_000, 500, 0])
def test_kept_clouds_come_back(sweeps: list[Sweep], max_points: int) -> None:
    kept = KeptClouds(max_points)
    for sweep in sweeps:
        kept.append(sweep.world_points(), sweep.label)
    assert len(kept) == 5
    for at, sweep in enumerate(sweeps):
        points, label = kept[at]
        finite = np.isfinite(sweep.range)
        np.testing.assert_array_equal(points, sweep.world_points()[finite])
        np.testing.assert_array_equal(label, sweep.label[finite])
