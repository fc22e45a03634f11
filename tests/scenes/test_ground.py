"""Terrain, scattering on it, and plain parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from resweep.errors import ResweepError
from resweep.scenes import (
    Label,
    Terrain,
    box,
    building,
    car,
    cylinder,
    fractal_terrain,
    ground_plane,
    heightfield,
    jittered_positions,
    merged,
    placements,
    poisson_positions,
    pole,
    spaced_positions,
    tilings,
    wall,
)
from resweep.worlds import Material


def test_heights_between_grid_points_lie_on_the_mesh(areas):
    rng = np.random.default_rng(0)
    ground = Terrain(rng.uniform(0, 2, (7, 5)), 0.5, -1.0, 3.0)
    mesh = ground.mesh()
    assert mesh.n_triangles == 2 * 6 * 4
    share = rng.dirichlet([1, 1, 1], mesh.n_triangles)
    point = (share[:, :, None] * mesh.vertices[mesh.faces]).sum(axis=1)
    np.testing.assert_allclose(ground.height_at(point[:, 0], point[:, 1]), point[:, 2], atol=1e-5)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    assert areas(mesh).min() > 0


def test_terrain_refuses_what_it_cannot_answer():
    ground = fractal_terrain(10.0, 1.0, 1.0)
    with pytest.raises(ResweepError, match="outside"):
        ground.height_at(5.2, 0.0)
    with pytest.raises(ResweepError, match="NaN"):
        heightfield([[0, 1], [np.nan, 0]], 1.0)
    with pytest.raises(ResweepError, match="at least 2 x 2"):
        heightfield([1, 2, 3], 1.0)


def test_fractal_terrain_has_its_size_and_relief_and_is_smooth():
    ground = fractal_terrain(64.0, 0.5, 4.0, seed=2)
    assert ground.bounds == (-32.0, -32.0, 32.0, 32.0)
    assert ground.heights.min() == pytest.approx(0)
    assert ground.heights.max() == pytest.approx(4)
    slope = np.abs(np.diff(ground.heights, axis=0)) / 0.5
    assert np.median(slope) < 0.3
    assert not np.array_equal(ground.heights, fractal_terrain(64.0, 0.5, 4.0, seed=3).heights)
    np.testing.assert_array_equal(ground.heights, fractal_terrain(64.0, 0.5, 4.0, seed=2).heights)


def test_poisson_positions_have_the_poisson_count_and_are_uniform():
    rng = np.random.default_rng(1)
    counts = [len(poisson_positions(rng, (0, 0, 4, 5), 2.0)) for _ in range(400)]
    # A sum of Poisson numbers is Poisson; and their variance is their mean.
    assert 1e-3 < stats.poisson(40 * 400).cdf(sum(counts)) < 1 - 1e-3
    dispersion = (len(counts) - 1) * np.var(counts, ddof=1) / np.mean(counts)
    assert 1e-3 < stats.chi2(len(counts) - 1).cdf(dispersion) < 1 - 1e-3
    at = poisson_positions(rng, (-2, 3, 2, 4), 500.0)
    assert stats.kstest(at[:, 0], stats.uniform(-2, 4).cdf).pvalue > 1e-3
    assert stats.kstest(at[:, 1], stats.uniform(3, 1).cdf).pvalue > 1e-3


def test_jittered_positions_take_one_place_in_each_cell():
    at = jittered_positions(np.random.default_rng(0), (0, 0, 6, 4), 2.0)
    cells = {tuple(cell) for cell in np.floor(at / 2).astype(int)}
    assert cells == {(i, j) for i in range(3) for j in range(2)}
    centres = jittered_positions(np.random.default_rng(0), (0, 0, 4, 2), 2.0, jitter=0.0)
    np.testing.assert_allclose(centres, [[1, 1], [3, 1]])


def test_spaced_positions_keep_their_distance_or_say_that_they_cannot():
    at = spaced_positions(np.random.default_rng(0), (0, 0, 50, 50), 40, 4.0, keep=lambda p: p[:, 0] > 10)
    gaps = np.linalg.norm(at[:, None] - at, axis=2)[~np.eye(40, dtype=bool)]
    assert gaps.min() >= 4.0
    assert at[:, 0].min() > 10
    with pytest.raises(ResweepError, match="lower the count"):
        spaced_positions(np.random.default_rng(0), (0, 0, 5, 5), 100, 4.0)


def test_placements_are_turns_with_a_uniform_scale_on_the_ground():
    ground = fractal_terrain(20.0, 0.5, 2.0)
    at = np.random.default_rng(2).uniform(-10, 10, (500, 2))
    transforms = placements(np.random.default_rng(3), at, scale=(0.5, 2.0), height_at=ground.height_at)
    linear = transforms[:, :, :3].astype(np.float64)
    square = linear @ linear.transpose(0, 2, 1)
    scale = np.sqrt(square[:, 0, 0])
    np.testing.assert_allclose(square, scale[:, None, None] ** 2 * np.eye(3), atol=1e-6)
    assert (np.linalg.det(linear) > 0).all()
    assert stats.kstest(scale, stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3
    np.testing.assert_allclose(transforms[:, :2, 3], at, atol=1e-5)
    np.testing.assert_allclose(transforms[:, 2, 3], ground.height_at(*at.T), atol=1e-5)
    np.testing.assert_allclose(linear[:, 2], np.column_stack([0 * scale, 0 * scale, scale]), atol=1e-6)


def test_tilings_use_all_eight_poses_of_a_square_and_stay_in_it():
    transforms = tilings(np.random.default_rng(0), np.zeros((200, 2)))
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0.5], [-1, 1, 0.5]])
    moved = square @ transforms[:, :, :3].transpose(0, 2, 1)
    assert np.abs(moved[..., :2]).max() == 1.0
    assert len(np.unique(transforms[:, :, :3], axis=0)) == 8


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [
        (box((1, 2, 3), (5, -4, 2), 0.3), 6.0),
        (wall((1, 1), (4, 5), 2.0, 0.2), 5 * 2 * 0.2),
        (cylinder(0.5, 2.0, (3, 3, 1), sides=200), np.pi * 0.25 * 2),
        (pole(4.0, 0.2, sides=100), np.pi * 0.01 * 4),
    ],
)
def test_closed_parts_enclose_their_volume_and_face_outward(mesh, expected, volume, areas):
    assert volume(mesh) == pytest.approx(expected, rel=2e-3)
    assert areas(mesh).min() > 0


def test_parts_stand_where_they_are_put():
    np.testing.assert_allclose(box((2, 4, 3), (1, 1, 1)).bounds, [[0, -1, 1], [2, 3, 4]])
    np.testing.assert_allclose(wall((0, 0), (0, 10), 2.0, 0.2).bounds, [[-0.1, 0, 0], [0.1, 10, 2]], atol=1e-6)
    np.testing.assert_allclose(ground_plane((4, 6), (1, 0, 2)).bounds, [[-1, -3, 2], [3, 3, 2]])
    with pytest.raises(ResweepError, match="above zero"):
        box((1, 0, 1))


def test_merging_keeps_each_faces_attributes():
    shiny, retro = Material("shiny", specular=1.0), Material("retro", retro=2.0)
    first = box((1, 1, 1), label=50, reflectance=0.1, instance=3, material=retro)
    second = box((1, 1, 1), (4, 0, 0), label=81, reflectance=0.9, instance=4, material=shiny)
    both = merged([first, second, first], "both")
    assert [both.materials[i].name for i in both.material[[0, 12, 24]]] == ["retro", "shiny", "retro"]
    assert both.label[[0, 12, 24]].tolist() == [50, 81, 50]
    assert both.instance[[0, 12, 24]].tolist() == [3, 4, 3]
    np.testing.assert_allclose(both.vertices[both.faces[12:24]].max(axis=(0, 1)), [4.5, 0.5, 1])


def test_a_car_has_the_size_of_a_car_and_stands_on_its_wheels(areas):
    model = car((10, 2, 0), np.pi / 2, length_m=4.4, width_m=1.8, height_m=1.5, instance=7)
    size = np.ptp(model.bounds, axis=0)
    np.testing.assert_allclose(size, [1.81, 4.42, 1.5], atol=0.02)
    assert model.bounds[0, 2] == pytest.approx(0, abs=0.02)
    assert set(model.label) == {int(Label.CAR)}
    assert set(model.instance) == {7}
    assert {m.name for m in model.materials} >= {"car paint", "glass", "number plate"}
    assert areas(model).min() > 0


def test_windows_are_glass_behind_the_facade(areas):
    model = building(12.0, 10.0, 3, (0, 5, 0))
    glass = model.material == [m.name for m in model.materials].index("glass")
    assert glass.sum() == 2 * 4 * 3
    np.testing.assert_allclose(model.vertices[model.faces[glass]][..., 1], 5.15, atol=1e-5)
    np.testing.assert_allclose(np.ptp(model.bounds, axis=0), [12, 10, 9], atol=1e-5)
    assert model.bounds[0, 1] == pytest.approx(5.0)
    # All of the façade but the openings is wall: 11 windows and a door are left out.
    front = (np.abs(model.vertices[model.faces][..., 1] - 5.0) < 1e-5).all(axis=1)
    assert areas(model)[front].sum() == pytest.approx(12 * 9 - 11 * 1.2 * 1.4 - 1.0 * 2.1, rel=1e-4)
