"""Radii of splats: cut where beams pass their rim, grown to ends that nothing explains."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.build.refine.radii import cut_radii, grow_radii
from resweep.build.refine.refine_beams import sum_beams
from resweep.build.refine.steps import change_splats
from resweep.build.settings.refine import REFINEMENTS
from resweep.map.beams import Beams
from resweep.pose import Array
from resweep.worlds import Splats
from tests.places import WALL_M, beams_to, wall, work

RADIUS_M = 0.8
FULL = REFINEMENTS["full"]


def one_disc(at_m: float = WALL_M, radius_m: float = RADIUS_M) -> Splats:
    """One splat across the x axis."""
    return Splats(np.array([[at_m, 0, 0]]), np.array([[-1.0, 0, 0]]), np.array([radius_m]), depth=8)


def off_axis(beams: Beams) -> Array:
    """How far (n,) from the x axis beams cross the plane of the wall."""
    return np.linalg.norm(beams.direction[:, 1:] / beams.direction[:, :1], axis=1) * WALL_M


def test_rings_count_the_beams_that_end_and_pass_where_they_hit_the_disc() -> None:
    rng = np.random.default_rng(5)
    ends = np.where(rng.random(4000) < 0.25, WALL_M + 3.0, WALL_M)
    beams = beams_to(ends, noise_m=0.0)
    sums = sum_beams([one_disc()], [beams], 80.0, 0.0, 0.03, 0.02, rings=True).sums
    ring = np.floor(8 * (off_axis(beams) / RADIUS_M) ** 2).astype(int)
    for ended, counted in ((True, sums.ended_by_ring()), (False, sums.passed_by_ring())):
        own = ring[((ends == WALL_M) == ended) & (ring < 8)]
        np.testing.assert_allclose(counted[0], np.bincount(own, minlength=8), atol=3, rtol=5e-3)


@pytest.mark.parametrize("true_m", [0.3, 0.6])
def test_a_disc_whose_rim_beams_pass_is_cut_back_to_what_stops_them(true_m: float) -> None:
    beams = beams_to(WALL_M)
    beams = beams_to(np.where(off_axis(beams) < true_m, WALL_M, WALL_M + 2.0))
    layers = [one_disc()]
    found = work().take(layers, [("radii", "permeability")] * 2, [beams])[0]
    assert isinstance(found, Splats)
    assert 0.9 * true_m < found.radius[0] < 1.15 * true_m
    assert found.permeability is None or found.permeability[0] == 0.0


def test_a_disc_that_beams_pass_everywhere_keeps_its_radius_and_becomes_permeable() -> None:
    rng = np.random.default_rng(6)
    beams = beams_to(np.where(rng.random(4000) < 0.5, WALL_M, WALL_M + 2.0))
    found = work().take([one_disc()], [("radii", "permeability")], [beams])[0]
    assert isinstance(found, Splats)
    assert found.radius[0] == np.float32(RADIUS_M)
    assert found.permeability is not None
    np.testing.assert_allclose(found.permeability[0], 0.5, atol=0.05)


def test_a_disc_that_no_beam_meets_stays_and_one_that_all_pass_is_cut_away() -> None:
    layers = [one_disc(WALL_M - 2.0)]
    sums = sum_beams(layers, [beams_to(WALL_M)], 80.0, 0.0, 0.03, 0.02, rings=True).sums
    assert cut_radii(sums, FULL).share[0] == 0.0
    behind = sum_beams([one_disc(WALL_M + 2.0)], [beams_to(WALL_M)], 80.0, 0.0, 0.03, 0.02, rings=True).sums
    assert cut_radii(behind, FULL).share[0] == 1.0


def test_splats_grow_to_the_ends_beside_them_in_their_plane() -> None:
    splats = one_disc(radius_m=0.2)
    ends = np.array([[WALL_M, 0.25, 0], [WALL_M, 0, 0.28], [WALL_M, 0.5, 0], [WALL_M - 0.3, 0.22, 0]])
    np.testing.assert_allclose(grow_radii(splats, ends, FULL), [0.28 * 1.02], rtol=1e-5)
    np.testing.assert_array_equal(grow_radii(splats, np.zeros((0, 3)), FULL), splats.radius)


def test_a_wall_with_gaps_closes_and_does_not_grow_beyond_its_edge() -> None:
    """Discs that are too small for their distance; beams end between them, and beside the wall pass on."""
    whole = wall(WALL_M, 0.2)
    sparse = change_splats(whole, radius=np.full(len(whole), 0.09, np.float32))
    beams = beams_to(WALL_M, 6000)
    free = beams_to(WALL_M + 3.0, 4000, seed=2)
    free.direction[:, 1] += 0.3  # beside the wall
    free.direction[:] = free.direction / np.linalg.norm(free.direction, axis=1)[:, None]
    batches = [beams, free[off_axis(free) > 1.6]]
    before = sum_beams([sparse], batches, 80.0, 0.0, 0.03, 0.02).log_likelihood
    grown = work().take([sparse], [("growth",)] * 2, batches)[0]
    assert sum_beams([grown], batches, 80.0, 0.0, 0.03, 0.02).log_likelihood > before + 1.0
    assert isinstance(grown, Splats)
    assert np.median(grown.radius) > 0.12


def test_threads_change_no_byte_of_a_radius() -> None:
    rng = np.random.default_rng(2)
    beams = beams_to(np.where(rng.random(4000) < 0.3, WALL_M, WALL_M + 1.0))
    sparse = change_splats(wall(WALL_M), radius=np.full(400, 0.05, np.float32))
    rounds = [("radii", "permeability"), ("growth",)]
    made = [work(threads=n).take([sparse], rounds, [beams])[0] for n in (1, 2)]
    np.testing.assert_array_equal(made[0].radius, made[1].radius)
