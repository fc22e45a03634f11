"""The distance of histograms has the values that theory gives, and its floor falls as shots grow in number."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.evaluation import (
    Shots,
    bhattacharyya,
    direction_distances,
    histogram_distance,
    noise_floor,
    shots_of,
)
from resweep.evaluation.metrics.histograms import NO_RETURN
from resweep.sweep import Sweep


def _gaussian_shots(middle_m: float, count: int, seed: int, sigma_m: float = 0.01, directions: int = 3) -> Shots:
    rng = np.random.default_rng(seed)
    angle = np.repeat(np.arange(directions), count)
    ranges = rng.normal(middle_m, sigma_m, directions * count)
    return Shots(np.zeros_like(angle), angle, np.floor(ranges / 0.002).astype(np.int64))


def test_identical_histograms_are_at_no_distance_and_disjoint_ones_infinitely_far() -> None:
    counts = np.array([[3, 0, 5], [1, 1, 0]])
    assert bhattacharyya(counts, 7 * counts) == pytest.approx(0.0, abs=1e-12)
    assert bhattacharyya(np.array([1, 0]), np.array([0, 1])) == float("inf")
    assert bhattacharyya(np.array([1, 1]), np.array([1, 0])) == pytest.approx(np.log(2) / 2)


def test_histograms_of_other_bins_or_without_counts_are_refused() -> None:
    for first, second in (([1, 2], [1, 2, 3]), ([0, 0], [1, 2]), ([-1, 2], [1, 2])):
        with pytest.raises(ResweepError, match="same bins"):
            bhattacharyya(np.array(first), np.array(second))


def test_two_shifted_gaussians_have_the_analytic_distance() -> None:
    """D = Δ²/(8σ²) for equal widths; shots in fine bins come close to the densities."""
    far, near = _gaussian_shots(5.01, 400_000, 1), _gaussian_shots(5.0, 400_000, 2)
    assert histogram_distance(far, near) == pytest.approx(1 / 8, abs=0.004)
    np.testing.assert_allclose(direction_distances(far, near), 1 / 8, atol=0.006)


def test_two_gaussians_of_other_width_have_the_analytic_distance() -> None:
    wide, narrow = _gaussian_shots(5.0, 400_000, 1, 0.02), _gaussian_shots(5.0, 400_000, 2, 0.01)
    assert histogram_distance(wide, narrow) == pytest.approx(-0.5 * np.log(2 * 2 / (1 + 4)), abs=0.004)


def test_the_whole_histogram_counts_not_each_direction() -> None:
    """Two directions, one alike and one without a bin in common: -ln(1/2), where a mean over directions is infinite."""
    real = Shots(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([5, 5, 9, 9]))
    simulated = Shots(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7]))
    assert histogram_distance(simulated, real) == pytest.approx(np.log(2))
    np.testing.assert_allclose(direction_distances(simulated, real), [0, np.inf])


def test_lasers_are_compared_apart_and_averaged() -> None:
    bins = np.array([1, 2, 3, 4])
    real = Shots(np.array([0, 0, 1, 1]), np.zeros(4, int), bins)
    simulated = Shots(np.array([0, 0, 1, 1]), np.zeros(4, int), np.array([1, 2, 3, 3]))
    assert histogram_distance(simulated, real) == pytest.approx((0 + np.log(2) / 2) / 2)


def test_pooled_lasers_are_one_histogram_whose_directions_stay_apart() -> None:
    real = Shots(np.array([0, 0, 1, 1]), np.array([-1, 2, -1, 2]), np.array([1, 2, 1, 2]))
    simulated = Shots(np.array([0, 0, 1, 1]), np.array([-1, 2, -1, 2]), np.array([1, 2, 3, 4]))
    assert histogram_distance(simulated, real) == float("inf")
    assert histogram_distance(simulated.pooled(), real.pooled()) == pytest.approx(np.log(2))


def test_shots_without_return_have_a_bin_of_their_own_in_each_direction() -> None:
    sweep = _sweep()
    shots = shots_of([sweep, sweep])
    np.testing.assert_array_equal(shots.bin[:3], [2500, NO_RETURN, 1000])  # the first of two returns
    np.testing.assert_array_equal(shots.angle[:3], [0, 1, -1])
    lost = shots_of(sweep.select(np.zeros(len(sweep), bool)))
    assert (lost.bin == NO_RETURN).all()
    # One of three directions agrees: the one that returned nothing in either.
    assert histogram_distance(lost, shots) == pytest.approx(np.log(3))


def test_ranges_rounded_to_bins_do_not_straddle_two() -> None:
    steps = np.arange(1000, 4000)
    points = np.zeros((len(steps), 3))
    points[:, 0] = steps * 0.002
    np.testing.assert_array_equal(shots_of(Sweep.from_points(points)).bin, steps)


def test_bins_must_agree() -> None:
    sweep = _sweep()
    with pytest.raises(ResweepError, match="different sizes"):
        histogram_distance(shots_of(sweep), shots_of(sweep, range_m=0.01))
    with pytest.raises(ResweepError, match="above 0"):
        shots_of(sweep, angle_deg=0)


def test_the_noise_floor_is_what_theory_gives_and_falls_with_the_shots() -> None:
    """For K bins and n shots each, -ln of the coefficient is (K-1)/(8n) twice, K counted as spread over the bins."""
    rng = np.random.default_rng(0)

    def uniform(count: int) -> Shots:
        return Shots(np.zeros(count, int), np.zeros(count, int), rng.integers(0, 50, count))

    few, many = noise_floor(uniform(4000)), noise_floor(uniform(40_000))
    assert few == pytest.approx(49 / (4 * 2000), rel=0.5)
    assert many == pytest.approx(49 / (4 * 20_000), rel=0.5)


def test_a_picture_holds_the_shots_between_two_ranges() -> None:
    shots = _gaussian_shots(5.0, 1000, 3)
    image = shots.image(0, np.arange(3), 4.9, 5.1)
    assert image.shape == (100, 3)
    np.testing.assert_array_equal(image.sum(axis=0), [1000, 1000, 1000])
    assert abs(image[:, 0].argmax() - 50) < 10


def _sweep() -> Sweep:
    azimuth = np.radians([0.0, 0.09, -0.09])
    direction = np.stack([np.cos(azimuth), np.sin(azimuth), np.zeros(3)], axis=1)
    return Sweep(
        pose=np.eye(4),
        beam_origin=np.zeros((3, 3)),
        beam_direction=direction,
        beam_time=np.zeros(3),
        beam_ring=np.zeros(3),
        beam_column=np.arange(3),
        beam_status=np.array([0, 1, 0]),
        beam=np.array([0, 0, 2]),
        range=np.array([6.0, 5.0, 2.0]),
        intensity=np.zeros(3),
        return_index=np.array([1, 0, 0]),
        label=np.zeros(3),
        instance=np.zeros(3),
    )
