"""Reflectance behind intensities that scatter from return to return."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.build import Map, MapConfig, SplatConfig, VolumeConfig
from resweep.build.refine.densify import add_volumes
from resweep.build.splats.splats import fit
from resweep.map.reflectance import smooth_reflectance
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.worlds import Volumes
from tests.places import BUILDING, LABELS, ROAD, VEGETATION, cloud_of, plane

SCATTER = 1 / 3  # of the intensity of one return


def scattered(bright: Array | float, count: int, seed: int) -> Array:
    """Intensities (n,) of returns from surfaces of these reflectances."""
    return np.asarray(bright * np.maximum(1 + SCATTER * np.random.default_rng(seed).standard_normal(count), 0.05))


def test_what_is_near_counts_more_and_what_is_far_nothing() -> None:
    places = np.array([[0.0, 0, 0], [0.15, 0, 0], [50.0, 0, 0]], np.float32)
    found = smooth_reflectance(Neighbours(places), places, np.array([0.2, 0.6, 0.9]), np.array([3.0, 2.0, 1.0]))
    # At 15 cm a primitive counts a quarter of what its weight says.
    assert found == pytest.approx([(3 * 0.2 + 0.5 * 0.6) / 3.5, (2 * 0.6 + 0.75 * 0.2) / 2.75, 0.9], abs=1e-4)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    places = np.random.default_rng(0).uniform(0, 1, (500, 3)).astype(np.float32)
    given = (Neighbours(places), places, np.random.default_rng(1).random(500), np.ones(500))
    whole = smooth_reflectance(*given)
    monkeypatch.setattr("resweep.map.reflectance._BLOCK", 32 * 7)
    assert np.array_equal(smooth_reflectance(*given), whole)


def test_splats_have_the_paint_and_not_the_scatter_of_returns() -> None:
    points = plane(2.0, 0.04)
    painted = np.abs(points[:, 0]) < 0.3
    above = np.array([0.0, 0.0, 30.0])  # so high that incidence hardly matters
    cloud = cloud_of(points, ROAD, above, scattered(np.where(painted, 0.6, 0.2), len(points), 2))
    (splats,) = fit(Map(cloud, LABELS), SplatConfig(resample=False))
    for inside, true in ((np.abs(splats.centre[:, 0]) < 0.12, 0.6), (np.abs(splats.centre[:, 0]) > 0.6, 0.2)):
        found = splats.reflectance[inside]
        assert found.mean() == pytest.approx(true, rel=0.08)
        assert found.std() < 0.4 * SCATTER * true


def bush(seed: int = 3) -> rs.Log:
    """Sweeps of a bush whose left half is darker than its right one, before a wall."""
    rng = np.random.default_rng(seed)
    made = []
    for index in range(6):
        y, z = (a.ravel() for a in np.meshgrid(np.linspace(-0.15, 0.15, 40), np.linspace(-0.1, 0.1, 30)))
        direction = np.stack([np.ones_like(y), y, z], axis=1)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        stopped = rng.random(len(y)) < 0.5
        reach = np.where(stopped, 8.0 + 0.3 * rng.standard_normal(len(y)), 12.0 / direction[:, 0])
        light = scattered(np.where(y > 0, 0.5, 0.2), len(y), seed + 10 * index)
        label = np.where(stopped, VEGETATION, BUILDING).astype(np.int32)
        points = direction * reach[:, None]
        made.append(Sweep.from_points(points, timestamp=0.1 * index, label=label, intensity=light))
    return rs.Log.from_sweeps(made, "bush", labels=LABELS)


def check_halves(y: Array, reflectance: Array) -> None:
    for inside, true in ((y < -0.3, 0.2), (y > 0.3, 0.5)):
        found = reflectance[inside]
        assert len(found) > 20
        assert found.mean() == pytest.approx(true, rel=0.08)
        assert found.std() < 0.5 * SCATTER * true


def test_volumes_of_one_return_have_the_reflectance_of_the_leaves_around() -> None:
    config = VolumeConfig(voxel_m=0.06, calibrate=None, map=MapConfig(ego_radius_m=0.0, moving="none"))
    (volumes,) = rs.build(bush(), config, progress=False).layers
    assert isinstance(volumes, Volumes)
    leaves = volumes.label == VEGETATION
    assert np.median(volumes.extra["count"][leaves]) <= 2
    check_halves(volumes.mean[leaves, 1], volumes.reflectance[leaves])


def test_volumes_that_are_born_have_it_too() -> None:
    log = bush()
    points = np.concatenate([sweep.points[sweep.label == VEGETATION] for sweep in log])
    light = np.concatenate([sweep.intensity[sweep.label == VEGETATION] for sweep in log])
    cloud = cloud_of(points, VEGETATION, np.zeros(3), light)
    ahead = points[:, 2] > 0
    known = Volumes(
        points[~ahead], np.tile([1e-3, 0, 0, 1e-3, 0, 1e-3], (len(points[~ahead]), 1)), 0.5, reflectance=0.3
    )
    both = add_volumes(known, cloud, points[ahead], VolumeConfig(voxel_m=0.06))
    born = np.arange(len(both)) >= len(known)
    assert np.all(both.reflectance[~born] == np.float32(0.3))  # those that were there stay as they are
    far = born & (both.mean[:, 2] > 0.3)
    check_halves(both.mean[far, 1], both.reflectance[far])
