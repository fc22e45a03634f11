"""How rays sample a beam: the stencils of B, random rays by their statistics, and the beam's frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from resweep.errors import ResweepError
from resweep.sensors import Beam, random_offsets, stencil, tangent_frame
from resweep.sensors.stencil import find_half_widths, ray_directions

SPOTS: dict[str, dict[str, Any]] = {
    "circular": {"spot": "circular", "divergence_h_rad": 0.0129, "divergence_v_rad": 0.0129},
    "elliptical": {"spot": "elliptical", "divergence_h_rad": 0.004, "divergence_v_rad": 0.001},
    "rectangular": {"spot": "rectangular", "divergence_h_rad": 0.0033, "divergence_v_rad": 0.0007},
}


@pytest.mark.parametrize("spot", SPOTS)
def test_nine_points_are_symmetric_within_the_spot_and_weigh_one(spot: str) -> None:
    beam = Beam(**SPOTS[spot])
    offsets, weights = stencil(beam)
    assert offsets.shape == (9, 2)
    assert offsets.dtype == weights.dtype == np.float32
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)
    assert (weights > 0).all()
    assert len(np.unique(offsets.round(9), axis=0)) == 9
    np.testing.assert_array_equal(offsets[0], 0.0)
    unit = offsets / find_half_widths(beam)
    assert (np.abs(unit).max() if spot == "rectangular" else np.hypot(*unit.T).max()) <= 1.0
    for mirror in ([-1, 1], [1, -1]):
        mirrored, kept = (np.sort((unit * m) @ [1.0, np.pi]) for m in (mirror, [1, 1]))
        np.testing.assert_allclose(mirrored, kept, atol=1e-6)


def test_circle_has_the_radius_that_b_prints() -> None:
    offsets, _ = stencil(Beam(**SPOTS["circular"]))
    np.testing.assert_allclose(np.hypot(*offsets[1:].T), np.sqrt(2) * np.tan(0.0129 / 2) / 4, rtol=1e-6)
    bearings = np.sort(np.arctan2(offsets[1:, 1], offsets[1:, 0]))
    np.testing.assert_allclose(np.diff(bearings), np.pi / 4, atol=1e-6)


def test_ellipse_is_the_circle_stretched() -> None:
    circle, _ = stencil(Beam(**SPOTS["circular"]))
    beam = Beam(**SPOTS["elliptical"])
    np.testing.assert_allclose(
        stencil(beam)[0] / find_half_widths(beam), circle / find_half_widths(Beam(**SPOTS["circular"])), atol=1e-6
    )


def test_rectangle_is_sampled_at_the_middles_of_its_cells() -> None:
    beam = Beam(**SPOTS["rectangular"])
    unit = stencil(beam)[0] / find_half_widths(beam)
    np.testing.assert_allclose(np.unique(unit.round(5)), [-0.66667, 0.0, 0.66667], atol=1e-5)


def test_single_ray_is_the_axis_and_random_rays_have_no_stencil() -> None:
    offsets, weights = stencil(Beam(**SPOTS["circular"], rays="single"))
    np.testing.assert_array_equal(offsets, [[0, 0]])
    np.testing.assert_array_equal(weights, [1])
    with pytest.raises(ResweepError, match="random_offsets"):
        stencil(Beam(**SPOTS["circular"], rays="random"))


def draw(beam: Beam, n: int, seed: int) -> np.ndarray[Any, Any]:
    """Offsets in units of the spot's half-widths."""
    return random_offsets(beam, np.random.default_rng(seed).random((n, 2))) / find_half_widths(beam)


@pytest.mark.parametrize("spot", ["circular", "elliptical"])
def test_uniform_rays_fill_the_disc_evenly(spot: str) -> None:
    unit = draw(Beam(**SPOTS[spot], rays="random"), 40_000, seed=11)
    area, bearing = (unit**2).sum(axis=1), np.arctan2(unit[:, 1], unit[:, 0]) / (2 * np.pi) + 0.5
    assert area.max() <= 1.0
    counts, *_ = np.histogram2d(area, bearing, bins=(8, 8), range=((0, 1), (0, 1)))
    assert stats.chisquare(counts.ravel()).pvalue > 0.001


def test_uniform_rays_fill_the_rectangle_evenly() -> None:
    unit = draw(Beam(**SPOTS["rectangular"], rays="random"), 40_000, seed=12)
    counts, *_ = np.histogram2d(*unit.T, bins=(8, 8), range=((-1, 1), (-1, 1)))
    assert counts.sum() == len(unit)
    assert stats.chisquare(counts.ravel()).pvalue > 0.001


@pytest.mark.parametrize("spot", SPOTS)
def test_gaussian_rays_are_a_normal_cut_at_its_edge(spot: str) -> None:
    unit = draw(Beam(**SPOTS[spot], rays="random", profile="gaussian"), 20_000, seed=13)
    assert np.hypot(*unit.T).max() <= 1.0 + 1e-12
    # The divergence is four sigma; what falls outside the 1/e² edge is drawn again.
    normal = np.random.default_rng(14).normal(scale=0.5, size=(60_000, 2))
    normal = normal[np.hypot(*normal.T) <= 1.0]
    for axis in (0, 1):
        assert stats.ks_2samp(unit[:, axis], normal[:, axis]).pvalue > 0.001
    assert stats.ks_2samp(np.hypot(*unit.T), np.hypot(*normal.T)).pvalue > 0.001


def test_gaussian_and_uniform_differ() -> None:
    uniform = draw(Beam(**SPOTS["circular"], rays="random"), 5_000, seed=15)
    gaussian = draw(Beam(**SPOTS["circular"], rays="random", profile="gaussian"), 5_000, seed=15)
    assert stats.ks_2samp(np.hypot(*uniform.T), np.hypot(*gaussian.T)).pvalue < 1e-6


@pytest.mark.parametrize("spot", SPOTS)
@pytest.mark.parametrize("profile", ["uniform", "gaussian"])
def test_extreme_uniform_numbers_stay_in_the_spot(spot: str, profile: str) -> None:
    corner = np.nextafter(1.0, 0.0)
    beam = Beam(**SPOTS[spot], rays="random", profile=profile)
    unit = random_offsets(beam, np.array([[0, 0], [0, corner], [corner, 0], [corner, corner]])) / find_half_widths(beam)
    assert np.isfinite(unit).all()
    assert np.abs(unit).max() <= 1.0 + 1e-12


def test_frame_of_a_beam_is_left_and_up() -> None:
    h, v = tangent_frame(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(h, [[0, 1, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(v, [[0, 0, 1], [0, 0, 1], [-1, 0, 0], [1, 0, 0]], atol=1e-12)


def test_frame_is_orthonormal_everywhere() -> None:
    d = np.random.default_rng(16).normal(size=(1000, 3))
    d = np.concatenate([d, [[1e-7, 0, 1], [1e-5, 0, 1], [0, 1e-7, -1]]])
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    h, v = tangent_frame(d)
    frames = np.stack([d, h, v], axis=1)
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (len(d), 3, 3)), atol=1e-6
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-6)


def test_rays_of_a_level_beam_pass_the_stencil_at_one_metre() -> None:
    offsets, _ = stencil(Beam(**SPOTS["rectangular"]))
    rays = ray_directions(np.array([[1.0, 0.0, 0.0]]), offsets)[0]
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1.0)
    np.testing.assert_allclose(rays[:, 1:] / rays[:, :1], offsets, atol=1e-9)
