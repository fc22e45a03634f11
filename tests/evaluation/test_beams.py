"""Which beams are compared with which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from resweep import Sweep
from resweep.evaluation.compare.beam_comparison import (
    Match,
    estimate_beam_spacing,
    find_relative_pose,
    make_comparable,
    make_range_images,
    match_beams,
)
from resweep.pose import Array, from_xyz_rpy

MakeSweep = Callable[..., Sweep]
ROWS, COLUMNS = 8, 90  # of the scans that make_sweep makes
BEAMS = ROWS * COLUMNS


def matched(sim: Sweep, real: Sweep, tolerance_rad: float | None = None) -> Match:
    return match_beams(sim, real, make_comparable(sim, real, find_relative_pose(sim, real)), tolerance_rad)


def reordered(sweep: Sweep, order: Array, keep_rings: bool = True) -> Sweep:
    """The same scan with its beams in another order, and without rings if asked."""
    names = ("beam_origin", "beam_direction", "beam_time", "beam_ring", "beam_column", "beam_status")
    columns = {name: getattr(sweep, name)[order] for name in names}
    if not keep_rings:
        columns.update(beam_ring=np.zeros(len(order)), beam_column=np.arange(len(order)))
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    return replace(sweep, beam=place[sweep.beam], **columns)


def test_equal_beams_match_by_index(make_sweep: MakeSweep) -> None:
    found = matched(make_sweep(5.0), make_sweep(np.nan))
    assert found.how == "index"
    np.testing.assert_array_equal(found.sim, found.real)


@pytest.mark.parametrize(("keep_rings", "how"), [(True, "ring and column"), (False, "nearest direction")])
def test_shuffled_beams_find_each_other(
    make_sweep: MakeSweep, rng: np.random.Generator, keep_rings: bool, how: str
) -> None:
    ranges = rng.uniform(5, 50, BEAMS)
    sim, order = make_sweep(ranges), rng.permutation(BEAMS)
    found = matched(sim, reordered(sim, order, keep_rings))
    assert found.how == how
    np.testing.assert_array_equal(found.sim[np.argsort(found.real)], order)


def test_rings_that_do_not_agree_in_direction_are_not_believed(make_sweep: MakeSweep) -> None:
    real = make_sweep(20.0)
    sim = replace(real, beam_ring=ROWS - 1 - real.beam_ring.astype(int))
    found = match_beams(
        replace(sim, beam_direction=np.roll(sim.beam_direction, 1, axis=0)),
        real,
        make_comparable(replace(sim, beam_direction=np.roll(sim.beam_direction, 1, axis=0)), real, np.eye(4)),
    )
    assert found.how == "nearest direction"


def test_no_beam_is_matched_twice_nor_from_afar(make_sweep: MakeSweep, rng: np.random.Generator) -> None:
    real = make_sweep(20.0)
    few = Sweep.from_points(real.points[rng.permutation(BEAMS)[:300]])
    found = matched(few, real)
    assert len(np.unique(found.sim)) == len(found.sim) == 300
    assert len(np.unique(found.real)) == 300
    tilted = Sweep.from_points(real.points @ from_xyz_rpy(yaw=np.radians(1.0))[:3, :3].T)
    assert len(matched(tilted, real).sim) == BEAMS  # 1 degree off, of the 4 between columns
    assert len(matched(tilted, real, tolerance_rad=np.radians(0.5)).sim) == 0


def test_beam_spacing_is_the_side_of_one_beams_square(make_sweep: MakeSweep) -> None:
    expected = np.sqrt(np.radians(3.0) * np.radians(4.0))
    assert estimate_beam_spacing(make_sweep(20.0).beam_direction) == pytest.approx(expected, rel=0.25)


def test_from_another_place_ranges_are_seen_from_the_real_pose(make_sweep: MakeSweep) -> None:
    real = make_sweep(20.0)
    T_world_sim = from_xyz_rpy(3.0, -1.0, 0.5, yaw=0.3)
    in_sim = (real.points - T_world_sim[:3, 3]) @ T_world_sim[:3, :3]
    sim = Sweep.from_points(in_sim, pose=T_world_sim)
    seen_sim, seen_real = make_comparable(sim, real, find_relative_pose(sim, real))
    found = match_beams(sim, real, (seen_sim, seen_real))
    assert len(found.sim) == BEAMS
    np.testing.assert_allclose(seen_sim.range[found.sim], seen_real.range[found.real], atol=1e-4)


def test_images_have_the_highest_ring_on_top_and_zero_for_nothing(make_sweep: MakeSweep) -> None:
    ranges = 10.0 + np.repeat(np.arange(ROWS), COLUMNS) + 0.001 * np.tile(np.arange(COLUMNS), ROWS)
    ranges[5] = np.nan
    ranges[7] = 500.0
    sweep = make_sweep(ranges)
    beams = make_comparable(sweep, sweep, np.eye(4))
    images = make_range_images(sweep, sweep, beams, match_beams(sweep, sweep, beams), 100.0)
    expected = np.minimum(np.nan_to_num(ranges), 100.0).reshape(ROWS, COLUMNS)[::-1]
    np.testing.assert_allclose(images.real, expected, rtol=1e-6)
    np.testing.assert_array_equal(images.sim, images.real)
    assert images.pixels.all()
    assert "real" in images.layout


def test_rings_that_fire_in_turn_leave_no_stripes(make_sweep: MakeSweep) -> None:
    full = make_sweep(20.0)
    fires = (full.beam_column % 3 != 0) | (full.beam_ring >= 4)
    fires &= (full.beam_column % 3 == 0) | (full.beam_ring < 4)
    sweep = Sweep.from_points(full.points[fires], ring=full.ring[fires], column=full.column[fires])
    beams = make_comparable(sweep, sweep, np.eye(4))
    images = make_range_images(sweep, sweep, beams, match_beams(sweep, sweep, beams), 100.0)
    assert images.real.shape == (ROWS, 60)
    assert images.pixels.all()


def test_scans_without_rings_are_drawn_by_angle(make_sweep: MakeSweep) -> None:
    sweep = Sweep.from_points(make_sweep(20.0).points)
    beams = make_comparable(sweep, sweep, np.eye(4))
    images = make_range_images(sweep, sweep, beams, match_beams(sweep, sweep, beams), 100.0)
    assert images.real.shape == (64, 1024)
    assert images.pixels.sum() == BEAMS
    np.testing.assert_allclose(images.real[images.pixels], 20.0, rtol=1e-6)
