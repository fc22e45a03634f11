"""Means, covariances and pruning of volumes: by the beam ends that each explains."""

from __future__ import annotations

import numpy as np

from resweep.build.refine.refine_beams import sum_beams
from resweep.build.refine.shapes import find_kept, reshape_volumes
from resweep.build.settings.refine import REFINEMENTS
from resweep.map.beams import Beams
from resweep.pose import Array
from resweep.worlds import Volumes
from resweep.worlds.layers.volumes import unpack_symmetric
from tests.places import WALL_M, beams_to, wall, work

SIGMA_M, CLUTTER = 0.03, 0.02
TRUE_MEAN = np.array([WALL_M - 1.0, 0.3, -0.2])
TRUE_SIGMA = np.array([0.04, 0.12, 0.08])


def bush(mean: Array, sigma: Array, permeability: float = 0.3) -> Volumes:
    """One volume with axes along x, y and z."""
    xx, yy, zz = np.asarray(sigma) ** 2
    return Volumes(np.asarray(mean)[None], np.array([[xx, 0, 0, yy, 0, zz]]), permeability)


def beams_into_the_bush(count: int = 3000, seed: int = 0) -> Beams:
    """Beams from the origin that end where the true bush has its leaves."""
    rng = np.random.default_rng(seed)
    ends = TRUE_MEAN + TRUE_SIGMA * rng.standard_normal((count, 3))
    length = np.linalg.norm(ends, axis=1)
    direction = (ends / length[:, None]).astype(np.float32)
    return Beams(np.zeros((count, 3), np.float32), direction, length.astype(np.float32), np.ones(count, bool))


def expected_moments(volume: Volumes, beams: Beams) -> tuple[float, Array]:
    """The sums of one volume by the formulas: A's eqs. 1 to 3, and each beam's share by Bayes."""
    precision = np.linalg.inv(unpack_symmetric(volume.covariance)[0])
    total, moments = 0.0, np.zeros(9)
    for direction, measured in zip(beams.direction.astype(float), beams.length.astype(float), strict=True):
        away = volume.mean[0].astype(float)
        squared = direction @ precision @ direction
        centre = direction @ precision @ away / squared
        nearest = centre * direction - away
        if nearest @ precision @ nearest >= volume.tau**2:
            continue
        spread = np.sqrt(1 / squared + SIGMA_M**2)
        density = np.exp(-0.5 * ((measured - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
        own = (1 - CLUTTER) * (1 - float(volume.permeability[0])) * density
        share = own / (own + CLUTTER * 0.5 / 200.0)
        x = measured * direction - away
        within = 1 - np.exp(-(volume.tau**2) / 2)  # of a plane Gaussian: the part that is not cut off, and its variance
        part = 1 - volume.tau**2 / 2 * (1 - within) / within
        whole = nearest / np.sqrt(part) + (measured - centre) * direction
        total += share
        moments += share * np.array([*x, *np.outer(whole, whole)[np.triu_indices(3)]])
    return total, moments


def test_moments_of_ends_are_those_of_the_formulas() -> None:
    volume, beams = bush(TRUE_MEAN + 0.05, 1.5 * TRUE_SIGMA), beams_into_the_bush(300)
    sums = sum_beams([volume], [beams], 80.0, 0.0, SIGMA_M, CLUTTER, moments=True).sums
    ends, moments = expected_moments(volume, beams)
    np.testing.assert_allclose(sums.stopped(), [ends], rtol=1e-4)
    np.testing.assert_allclose(sums.end_moments()[0], moments, rtol=1e-3, atol=1e-4)


def test_a_bush_that_is_displaced_and_too_wide_becomes_the_true_one() -> None:
    start = bush(TRUE_MEAN + np.array([0.05, -0.08, 0.06]), 1.6 * TRUE_SIGMA)
    rounds = [("volumes", "shapes")] * 5
    found = work().take([wall(WALL_M), start], rounds, [beams_into_the_bush()])[1]
    assert isinstance(found, Volumes)
    np.testing.assert_allclose(found.mean[0], TRUE_MEAN, atol=0.01)
    np.testing.assert_allclose(np.sqrt(found.covariance[0, [0, 3, 5]]), TRUE_SIGMA, rtol=0.12)


def test_a_volume_that_explains_no_end_keeps_its_shape() -> None:
    start = bush(TRUE_MEAN, TRUE_SIGMA)
    sums = sum_beams([wall(WALL_M), start], [beams_to(WALL_M)], 80.0, 0.0, SIGMA_M, CLUTTER, moments=True).sums
    same = reshape_volumes(start, sums, REFINEMENTS["full"], 0.02)
    np.testing.assert_allclose(same.mean, start.mean, atol=1e-5)
    np.testing.assert_allclose(same.covariance, start.covariance, atol=1e-6)


def test_a_volume_that_all_beams_pass_dies_and_one_that_none_meets_stays() -> None:
    passed, hidden = bush(TRUE_MEAN, TRUE_SIGMA), bush(TRUE_MEAN + np.array([6.0, 0, 0]), TRUE_SIGMA)
    both = Volumes(*(np.concatenate([getattr(one, name) for one in (passed, hidden)])
                     for name in ("mean", "covariance", "permeability")))  # fmt: skip
    layers = [wall(WALL_M), both]
    sums = sum_beams(layers, [beams_to(WALL_M)], 80.0, 0.0, SIGMA_M, CLUTTER).sums
    np.testing.assert_array_equal(find_kept(sums, REFINEMENTS["full"]), [False, True])
    left = work().take(layers, [("volumes", "prune")], [beams_to(WALL_M)])[1]
    assert isinstance(left, Volumes)
    np.testing.assert_array_equal(left.mean, hidden.mean)


def test_threads_change_no_byte_of_a_shape() -> None:
    start, beams = bush(TRUE_MEAN + 0.05, TRUE_SIGMA), beams_into_the_bush()
    made = [work(threads=n).take([wall(WALL_M), start], [("volumes", "shapes")] * 2, [beams])[1] for n in (1, 2)]
    for name in ("mean", "covariance", "permeability"):
        np.testing.assert_array_equal(*(getattr(volumes, name) for volumes in made))
