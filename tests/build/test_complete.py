"""Ground, façades and crowns are continued where nothing was observed, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from resweep import _core
from resweep.build import Cloud, Map
from resweep.build.complete.complete import NAME, complete
from resweep.build.complete.crowns import close_crowns
from resweep.build.complete.facades import MAX_STOREY_M, continue_facades
from resweep.build.complete.ground_continuation import REACH_M, continue_ground
from resweep.labels import UNKNOWN_LABELS, load_labels
from resweep.pose import Array
from resweep.worlds import Splats, Volumes
from resweep.worlds.layers.seen import unpack_seen
from resweep.worlds.observed import ObservedSpace
from tests.places import BUILDING, LABELS, ROAD, cloud_of

SIDEWALK = load_labels("semantickitti").id_of("pavement")


def ground(hole: tuple[float, float, float, float], label: Array | int = ROAD, slope: float = 0.05) -> Splats:
    """Discs on a slope of 12 m by 12 m without those in a rectangle x0, y0, x1, y1."""
    axis = np.arange(-6, 6, 0.2) + 0.1
    at = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = (at[:, 0] > hole[0]) & (at[:, 0] < hole[2]) & (at[:, 1] > hole[1]) & (at[:, 1] < hole[3])
    at = at[~inside]
    labels = np.where(at[:, 1] > 3, label, ROAD) if np.isscalar(label) else label
    normal = np.tile(np.array([-slope, 0, 1]) / np.hypot(slope, 1), (len(at), 1))
    return Splats(np.c_[at, slope * at[:, 0]], normal, np.full(len(at), 0.15), labels, reflectance=0.2)


def nothing_observed(*beams: tuple[tuple[float, ...], tuple[float, ...], float]) -> ObservedSpace:
    native = _core.ObservedSpace(0.5)
    for origin, direction, length in beams:
        native.mark(np.array([origin], np.float32), np.array([direction], np.float32), np.array([length], np.float32))
    return ObservedSpace.of(native, 0.5, 80.0)


def test_a_hole_as_large_as_a_car_is_filled_on_the_slope() -> None:
    splats = ground((-1, -2.2, 1, 2.2))
    found = continue_ground(splats, splats.centre, LABELS, None)
    assert len(found) == 4 * 10  # the cells of 0.4 m that hold no disc
    assert (np.abs(found.centre[:, 0]) < 1.1).all()
    assert found.centre[:, 2] == pytest.approx(0.05 * found.centre[:, 0], abs=0.02)
    assert found.normal[:, 0] == pytest.approx(-0.05, abs=0.02)
    assert (splats.label[found.like] == ROAD).all()


def test_ground_ends_where_it_was_not_recorded_on_both_sides() -> None:
    open_side = ground((-6, -6, 0, 6))
    assert len(continue_ground(open_side, open_side.centre, LABELS, None)) == 0
    far = np.array([[-REACH_M - 3, 0, 0], [REACH_M + 3, 0, 0], [0, -REACH_M - 3, 0], [0, REACH_M + 3, 0]])
    apart = Splats(far, np.tile([0, 0, 1.0], (4, 1)), np.full(4, 0.2), ROAD)
    assert len(continue_ground(apart, apart.centre, LABELS, None)) == 0


def test_a_return_or_a_beam_below_keeps_a_hole_open() -> None:
    splats = ground((-1, -1, 1, 1), slope=0.0)
    bottom = np.array([[0.1, 0.1, -1.0]], np.float32)
    pit = continue_ground(splats, np.concatenate([splats.centre, bottom]), LABELS, None)
    whole = continue_ground(splats, splats.centre, LABELS, None)
    assert len(pit) == len(whole) - 1
    passed = nothing_observed(((-1.0, 0.1, -0.75), (1.0, 0.0, 0.0), 2.0))
    assert len(continue_ground(splats, splats.centre, LABELS, passed)) < len(whole)


def test_between_road_and_sidewalk_nothing_is_argued() -> None:
    splats = ground((-6, 2.4, 6, 3.6), SIDEWALK)
    assert len(continue_ground(splats, splats.centre, LABELS, None)) == 0


def test_level_discs_that_are_lowest_are_ground_without_labels() -> None:
    splats = ground((-1, -2.2, 1, 2.2))
    bare = Splats(splats.centre, splats.normal, splats.radius)
    assert len(continue_ground(bare, bare.centre, UNKNOWN_LABELS, None)) > 30


def wall(top_m: float) -> Splats:
    y, z = np.meshgrid(np.arange(-2, 2, 0.2), np.arange(0.1, top_m, 0.2), indexing="ij")
    centre = np.stack([np.full(y.size, 5.0), y.ravel(), z.ravel()], axis=1)
    return Splats(centre, np.tile([-1.0, 0, 0], (y.size, 1)), np.full(y.size, 0.15), BUILDING)


def test_a_facade_rises_a_storey_or_to_where_beams_passed() -> None:
    splats = wall(3.0)
    free = continue_facades(splats, LABELS, nothing_observed())
    assert free.centre[:, 2].min() > 3.0
    assert free.centre[:, 2].max() == pytest.approx(2.9 + MAX_STOREY_M, abs=0.41)
    passed = nothing_observed(((5.2, -3.0, 4.2), (0.0, 1.0, 0.0), 6.0))
    result = continue_facades(splats, LABELS, passed)
    assert 0 < len(result) < len(free)
    assert result.centre[:, 2].max() < 4.0


def test_low_walls_and_walls_without_labels_end() -> None:
    assert len(continue_facades(wall(1.5), LABELS, nothing_observed())) == 0
    high = wall(3.0)
    bare = Splats(high.centre, high.normal, high.radius)
    assert len(continue_facades(bare, UNKNOWN_LABELS, nothing_observed())) == 0


def test_what_is_made_up_is_a_layer_of_its_own_and_marked() -> None:
    splats = ground((-1, -2.2, 1, 2.2))
    map = Map(cloud_of(splats.centre, ROAD), LABELS)
    same, made = complete(map, [splats], None)
    assert same is splats
    assert isinstance(made, Splats)
    assert made.name == NAME
    assert unpack_seen(made.extra["seen"]).completed.all()
    assert (made.label == ROAD).all()
    assert made.reflectance == pytest.approx(0.2)
    whole = ground((9, 9, 9, 9))
    assert complete(Map(cloud_of(whole.centre, ROAD), LABELS), [whole], None) == (whole,)


RADIUS_M, MIDDLE = 2.0, np.array([12.0, 1.0, 5.0])


def half_a_tree(foot_m: float = 0.0) -> tuple[Volumes, Cloud]:
    """The half of a round crown that faces a sensor at the origin, over level ground, and what was recorded of both."""
    rng = np.random.default_rng(1)
    out = rng.normal(size=(3000, 3))
    out *= (rng.uniform(0.8, 1.0, 3000) * RADIUS_M / np.linalg.norm(out, axis=1))[:, None]
    away = MIDDLE[:2] / np.linalg.norm(MIDDLE[:2])
    seen = MIDDLE + out[out[:, :2] @ away < 0] - [0, 0, foot_m]
    long_away = np.tile([0.04, 0.0, 0.0, 0.01, 0.0, 0.01], (len(seen), 1))
    flat = np.stack(np.meshgrid(np.arange(0, 24.0), np.arange(-8, 10.0), [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    volumes = Volumes(seen, long_away, 0.5, np.full(len(seen), 0.3), label=70, reflectance=0.4)
    return volumes, cloud_of(np.concatenate([seen, flat]), 70)


def test_the_far_half_of_a_crown_mirrors_the_near_one() -> None:
    volumes, cloud = half_a_tree()
    made = close_crowns(volumes, cloud, nothing_observed(), NAME)
    assert made is not None
    assert len(made) > 0.7 * len(volumes)  # what would lie among returns at the rim is left out
    from_middle = made.mean - MIDDLE
    away = MIDDLE[:2] / np.linalg.norm(MIDDLE[:2])
    assert np.mean(from_middle[:, :2] @ away > -0.1) > 0.95
    distance = np.linalg.norm(from_middle, axis=1)
    assert np.median(np.abs(distance - 0.92 * RADIUS_M)) < 0.25
    assert distance.max() < 1.25 * RADIUS_M
    assert unpack_seen(made.extra["seen"]).completed.all()
    assert (made.label == 70).all()
    assert made.reflectance == pytest.approx(0.4)
    assert np.median(made.covariance[:, 0]) > 0.03  # still longest along x, which is almost the direction of view
    assert made.covariance[:, [0, 3, 5]].sum(axis=1) == pytest.approx(0.06, abs=1e-6)


def test_a_crown_stays_open_where_beams_passed() -> None:
    volumes, cloud = half_a_tree()
    closed = close_crowns(volumes, cloud, nothing_observed(), NAME)
    beams = [((13.2, y, z), (0.0, 0.0, 1.0), 0.4) for y in np.arange(-2, 5, 0.5) for z in np.arange(4.75, 7.5, 0.5)]
    behind = [((13.7, y, z), (0.0, 0.0, 1.0), 0.4) for (_, y, z), _, _ in beams]
    passed = close_crowns(volumes, cloud, nothing_observed(*beams, *behind), NAME)
    assert closed is not None
    assert passed is not None
    assert 0 < len(passed) < 0.8 * len(closed)


def test_hedges_and_single_twigs_are_no_crowns() -> None:
    volumes, cloud = half_a_tree(foot_m=4.0)  # its top is below 3 m
    low = close_crowns(volumes, cloud, nothing_observed(), NAME)
    assert low is None or len(low) < 0.3 * len(volumes)
    volumes, cloud = half_a_tree()
    few = Volumes(volumes.mean[:20], volumes.covariance[:20], 0.5)
    assert close_crowns(few, cloud, nothing_observed(), NAME) is None


def test_crowns_are_closed_with_the_rest() -> None:
    volumes, cloud = half_a_tree()
    same, made = complete(Map(cloud, LABELS), [volumes], nothing_observed())
    assert same is volumes
    assert isinstance(made, Volumes)
    assert made.name == NAME
