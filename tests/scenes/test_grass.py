"""Blades, tiles of them, and the stems of B, 3.4.1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from resweep.errors import ResweepError
from resweep.scenes import Label, blades, grass_tile, stems


def test_a_blade_has_the_height_width_and_taper_asked_for():
    one = np.ones(1)
    shape = blades(np.array([[2.0, 3.0, 1.0]]), 0.5 * one, 0.01 * one, 0.7 * one, 0.2 * one, 0.9 * one, 8)
    assert shape.faces.shape == (16, 3)
    lines = shape.vertices.reshape(9, 2, 3)
    spine, width = lines.mean(axis=1), np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
    np.testing.assert_allclose(spine[0], [2, 3, 1], atol=1e-6)
    assert spine[-1, 2] == pytest.approx(1.5, abs=1e-5)
    assert width[0] == pytest.approx(0.01, rel=1e-4)
    assert (np.diff(width) < 0).all()
    bow = spine[-1, :2] - spine[0, :2]
    assert np.arctan2(bow[1], bow[0]) == pytest.approx(0.7, abs=1e-3)


def test_a_straight_blade_stands_upright():
    one, zero = np.ones(1), np.zeros(1)
    shape = blades(np.zeros((1, 3)), 0.4 * one, 0.01 * one, zero, zero, zero, 4)
    spine = shape.vertices.reshape(5, 2, 3).mean(axis=1)
    np.testing.assert_allclose(spine, [[0, 0, z] for z in (0, 0.1, 0.2, 0.3, 0.4)], atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 5.0])
def test_a_tile_holds_its_blades_and_keeps_them_inside(size, areas):
    tile = grass_tile(size, 80.0, (0.2, 0.6), seed=3, segments=6)
    count = round(80 * size**2)
    assert tile.n_triangles == count * 12
    assert np.abs(tile.vertices[:, :2]).max() <= size / 2 + 1e-6
    each = tile.vertices.reshape(count, -1, 3)
    height = np.ptp(each[:, :, 2], axis=1)
    assert height.min() > 0.19
    assert height.max() < 0.61
    assert np.abs(each[:, :2, 2]).max() < 1e-6
    assert areas(tile).min() > 1e-8
    assert set(tile.label) == {int(Label.VEGETATION)}


def test_blades_are_spread_evenly_over_a_tile():
    tile = grass_tile(10.0, 100.0, seed=1, segments=2)
    root = tile.vertices.reshape(10_000, -1, 3)[:, :2].mean(axis=1)
    inner = root[np.abs(root[:, :2]).max(axis=1) < 4]  # the border pushes blades inward by design
    counts = np.histogram2d(inner[:, 0], inner[:, 1], bins=8, range=[[-4, 4], [-4, 4]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_tiles_depend_on_the_seed_alone():
    first, again, other = (grass_tile(2.0, 30.0, seed=seed) for seed in (5, 5, 6))
    assert first.vertices.tobytes() == again.vertices.tobytes()
    assert first.vertices.tobytes() != other.vertices.tobytes()


def test_a_tile_too_small_for_its_blades_is_refused():
    with pytest.raises(ResweepError, match="larger size_m"):
        grass_tile(0.1, 1000.0, seed=0)
    with pytest.raises(ResweepError, match="at least one blade"):
        grass_tile(1.0, 0.0)


@pytest.mark.parametrize(("density", "count"), [(50, 2500), (100, 5000)])
def test_the_stand_of_stems_is_the_papers(density, count, areas, volume):
    stand = stems(10.0, 5.0, density, 0.02, 1.5, sides=12, seed=2)
    assert stand.n_triangles == count * (2 * 12 + 2 * 10)
    centre = stand.vertices.reshape(count, 24, 3).mean(axis=1)
    assert centre[:, 0].min() >= 0
    assert centre[:, 0].max() <= 5
    assert np.abs(centre[:, 1]).max() <= 5
    assert stats.kstest(centre[:, 0], stats.uniform(0, 5).cdf).pvalue > 1e-3
    assert stats.kstest(centre[:, 1], stats.uniform(-5, 10).cdf).pvalue > 1e-3
    assert areas(stand).min() > 0
    polygon = (np.pi * 0.02) ** 2 / (4 * 12 * np.tan(np.pi / 12))  # of the circle's perimeter
    assert volume(stand) == pytest.approx(count * polygon * 1.5, rel=1e-3)


def test_a_stem_is_as_wide_as_the_model_says_whatever_its_sides():
    for sides in (3, 6, 16):
        stem = stems(1.0, 1.0, 1.0, 0.02, 1.0, sides=sides)
        angle = np.linspace(0, np.pi, 721)[:-1]
        shadow = stem.vertices[:, :2].astype(np.float64) @ np.array([np.cos(angle), np.sin(angle)])
        assert np.ptp(shadow, axis=0).mean() == pytest.approx(0.02, rel=1e-3)
