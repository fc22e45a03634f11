"""Ground and façades are continued where nobody looked, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from places import BUILDING, LABELS, ROAD, cloud_of

from resweep import _core
from resweep.labels import UNKNOWN_LABELS, load_labels
from resweep.pose import Array
from resweep.reconstruction import Map
from resweep.reconstruction.completion.complete import NAME, complete
from resweep.reconstruction.completion.facades import MOST_M, continue_facades
from resweep.reconstruction.completion.ground import REACH_M, continue_ground
from resweep.worlds import Splats
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.seen import unpack_seen

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
    assert free.centre[:, 2].max() == pytest.approx(2.9 + MOST_M, abs=0.41)
    passed = nothing_observed(((5.2, -3.0, 4.2), (0.0, 1.0, 0.0), 6.0))
    ended = continue_facades(splats, LABELS, passed)
    assert 0 < len(ended) < len(free)
    assert ended.centre[:, 2].max() < 4.0


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
