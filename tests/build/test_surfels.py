"""Surfels: one disc a voxel, with normals and metadata (D, 3.1)."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.build import SurfelConfig
from resweep.build.surfels import cover_cloud
from resweep.errors import ResweepError
from tests.places import cloud_of, nearest_hits, plane


def test_one_surfel_a_voxel():
    points = plane(0.5, 0.01).astype(np.float32)
    cell = np.floor(points.astype(np.float64) / 0.04).astype(int)
    surfels = cover_cloud(cloud_of(points), SurfelConfig())
    assert len(surfels) == len(np.unique(cell, axis=0))
    of_surfels = np.floor(surfels.centre.astype(np.float64) / 0.04).astype(int)
    assert len(np.unique(of_surfels, axis=0)) == len(surfels)


def test_surfels_of_a_dense_plane_have_no_holes():
    surfels = cover_cloud(cloud_of(plane(0.5, 0.01)), SurfelConfig())
    assert (surfels.normal[:, 2] > 0.99).all()
    rng = np.random.default_rng(2)
    origins = np.column_stack([rng.uniform(-0.45, 0.45, (300, 2)), np.ones(300)])
    assert np.isfinite(nearest_hits(surfels, origins, np.tile([0.0, 0.0, -1.0], (300, 1)))).all()


def test_surfels_keep_range_incidence_and_intensity():
    surfels = cover_cloud(cloud_of(plane(0.5, 0.02), intensity=0.4), SurfelConfig())
    distance = np.linalg.norm(surfels.centre - [0, 0, 2], axis=1)
    assert np.allclose(surfels.extra["range_m"], distance, atol=0.03)
    assert np.allclose(surfels.extra["cosine"], 2 / distance, atol=0.03)
    assert np.allclose(surfels.extra["intensity"], 0.4)


def test_lone_points_have_no_normal_and_are_left_out():
    points = np.concatenate([plane(0.3, 0.02), [[50.0, 50.0, 0.0]]])
    assert cover_cloud(cloud_of(points), SurfelConfig()).centre[:, 0].max() < 1
    with pytest.raises(ResweepError, match="normal_radius_m"):
        cover_cloud(cloud_of(points[-1:]), SurfelConfig())
