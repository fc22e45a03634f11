"""Splats: covering without holes, facing the sensor, adapting to what they grow on (C, section 3)."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.build import CarveConfig, GroupFactors, Map, SplatConfig, paper_c
from resweep.build.splats.resample import resample
from resweep.build.splats.splats import GrowthResult, fit
from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, Group, load_labels
from tests.places import BUILDING, POLE, ROAD, cloud_of, map_of, nearest_hits, plane

LABELS = load_labels("semantickitti")
METHODS = ("basic", "labels", "descriptors")


def built(points, label=ROAD, **options):
    sensor = options.pop("sensor", None)
    (splats,) = fit(map_of(points, label, sensor), SplatConfig(**options))
    return splats


@pytest.mark.parametrize("method", METHODS)
def test_plane_is_covered_without_holes_by_coplanar_splats(method):
    splats = built(plane(noise=0.003), method=method)
    assert np.abs(splats.centre[:, 2]).max() < 0.02
    assert np.median(np.abs(splats.normal[:, 2])) > 0.99
    rng = np.random.default_rng(5)
    targets = np.column_stack([rng.uniform(-2.5, 2.5, (400, 2)), np.zeros(400)])
    origin = np.tile([0.0, 0.0, 2.0], (400, 1))
    rays = targets - origin
    distance = np.linalg.norm(rays, axis=1)
    hits = nearest_hits(splats, origin, rays / distance[:, None])
    assert np.isfinite(hits).all()
    assert np.abs(hits - distance).max() < 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("height", [2.0, -2.0])
def test_normals_face_the_sensor_that_saw_them(method, height):
    splats = built(plane(1.5), method=method, sensor=np.array([0.0, 0.0, height]))
    assert (splats.normal[:, 2] * np.sign(height) > 0).all()


def test_alpha_discards_seeds():
    many, few = (len(built(plane(), method="basic", alpha=alpha)) for alpha in (0.1, 0.6))
    assert few < many / 2


def test_growth_stops_at_another_class():
    points = plane()
    label = np.where(points[:, 0] < 0, ROAD, 48)
    own = built(points, label, method="labels", resample=False)
    blind = built(points, label, method="basic")

    def over(splats):
        """How far splats reach over the border at x = 0, metres."""
        side = np.where(splats.label == ROAD, 1.0, -1.0)
        return (side * splats.centre[:, 0] + splats.radius).max()

    # The last point included lies on the own side, so a splat reaches over by its radius less its distance.
    inner = np.abs(own.centre[:, 0]) > 0.25
    side = np.where(own.label == ROAD, 1.0, -1.0)
    assert (side * own.centre[:, 0] + own.radius)[inner].max() < 0.15
    assert over(own) < 0.75 * over(blind) + 0.15


def test_splats_do_not_grow_around_a_right_angle():
    floor = plane(2.0, 0.06)
    wall = plane(2.0, 0.06, seed=2)[:, [0, 2, 1]]
    wall = wall[wall[:, 2] > 0]
    floor = floor[floor[:, 1] < 0]
    points = np.concatenate([floor, wall])
    splats = built(points, BUILDING, method="labels", sensor=np.array([0.0, -2.0, 1.5]))
    tilt = np.degrees(np.arccos(np.clip(np.abs(splats.normal[:, 1:]).max(axis=1), 0, 1)))
    near = np.hypot(splats.centre[:, 1], splats.centre[:, 2]) > 0.25
    assert tilt[near].max() < 12.0
    # A splat on the floor must not stick out far behind the wall, nor one on the wall below the floor.
    behind = splats.centre[:, 1] + splats.radius * np.sqrt(1 - splats.normal[:, 1] ** 2)
    assert np.percentile(behind[near], 99) < 0.15


def pole(radius=0.06, count=800, seed=3):
    """Points on the near half of a pole 4 m from the sensor, noisy as a few sweeps leave it."""
    rng = np.random.default_rng(seed)
    turn, height = rng.uniform(np.pi / 2, 3 * np.pi / 2, count), rng.uniform(0, 3, count)
    bar = np.column_stack([4 + radius * np.cos(turn), radius * np.sin(turn), height])
    return bar + 0.01 * rng.standard_normal(bar.shape)


@pytest.mark.parametrize("config", [SplatConfig(carve=CarveConfig(rounds=0)), paper_c(resample=False)])
def test_labels_keep_a_pole_narrower_than_basic_splats(config):
    bar, hedge = pole(), np.random.default_rng(1).uniform(-1, 1, (6000, 3)) * [0.5, 2, 1] + [6, 0, 1]
    wall = plane(2.0, 0.08)[:, [2, 0, 1]] + np.array([8.0, 0.0, 2.0])
    points = np.concatenate([bar, wall, hedge])
    label = np.repeat([POLE, BUILDING, 70], [len(bar), len(wall), len(hedge)])
    width = {}
    for method in ("basic", "labels"):
        (splats,) = fit(map_of(points, label), config.model_copy(update={"method": method}))
        mine = splats.label == POLE
        reach = np.abs(splats.centre[mine, 1]) + splats.radius[mine] * np.sqrt(1 - splats.normal[mine, 1] ** 2)
        width[method] = np.percentile(reach, [50, 95])
    assert (width["labels"] < 0.8 * width["basic"]).all()
    assert width["labels"][0] < 2 * 0.06


def test_resampling_joins_only_sparse_splats_of_one_kind_and_direction():
    dense = plane(1.0, 0.1)
    lone = np.array([[3.0, 0.0, 0.0], [3.28, 0.0, 0.0], [-3.0, 0.0, 0.0], [-3.28, 0.0, 0.0], [0, 4, 0], [0, 4.28, 0]])
    centre = np.concatenate([dense, lone]).astype(np.float32)
    count = len(centre)
    normal = np.tile(np.float32([0, 0, 1]), (count, 1))
    kind = np.zeros(count, np.int32)
    kind[-3] = 1  # the second pair differs in kind
    normal[-1] = [1, 0, 0]  # the third in direction
    grown = GrowthResult(
        centre,
        normal,
        np.full(count, 0.1, np.float32),
        np.arange(count),
        np.full(count, Group.GROUND, np.int8),
        kind,
        0.3,
    )
    made, like = resample(grown, 0.6)
    outside = np.abs(made[:, :2]).max(axis=1) > 2
    assert np.allclose(made[outside], [3.14, 0.0, 0.0], atol=1e-5)
    assert set(like[outside]) <= {count - 6, count - 5}
    soft = GrowthResult(centre, normal, grown.radius, grown.seed, np.full(count, Group.NON_SURFACE, np.int8), kind, 0.3)
    assert len(resample(soft, 0.6)[0]) == 0


def test_resampling_evens_out_the_density():
    rng = np.random.default_rng(4)
    points = plane(2.0, 0.05)
    points = points[(points[:, 0] < 0) | (rng.random(len(points)) < 0.12)]
    bare, filled = (
        built(points, BUILDING, method="labels", resample=flag, carve=CarveConfig(rounds=0)) for flag in (False, True)
    )
    before, after = ((splats.centre[:, 0] > 0.3).sum() for splats in (bare, filled))
    assert after > 1.5 * before
    made = filled.extra["count"] == 0  # they stand where nothing was measured, and say so
    assert made.sum() > 0.2 * before
    origins = np.column_stack([rng.uniform(0.3, 1.8, 300), rng.uniform(-1.8, 1.8, 300), np.ones(300)])
    hits = nearest_hits(filled, origins, np.tile([0.0, 0.0, -1.0], (300, 1)))
    assert np.isfinite(hits).mean() > 0.98


def test_splats_remember_what_was_seen():
    points = plane(1.0, 0.05)
    bright = points[:, 0] > 0
    cloud = cloud_of(points, ROAD, np.array([0.0, 0.0, 3.0]), np.where(bright, 0.6, 0.2))
    (splats,) = fit(Map(cloud, LABELS), SplatConfig(resample=False))
    inner = np.abs(splats.centre[:, 0]) > 0.1
    assert np.allclose(splats.extra["intensity"][inner], np.where(splats.centre[inner, 0] > 0, 0.6, 0.2), atol=0.02)
    distance = np.linalg.norm(splats.centre - [0, 0, 3], axis=1)
    assert np.allclose(splats.extra["range_m"], distance, atol=0.15)
    assert np.allclose(splats.extra["cosine"], 3 / distance, atol=0.05)
    assert splats.extra["count"].sum() == len(points)
    # Reflectance is that of the discs around too, so that it changes over some decimetres at an edge.
    away = np.abs(splats.centre[:, 0]) > 0.4
    expected = splats.extra["intensity"] / splats.extra["cosine"]
    assert np.allclose(splats.reflectance[away], expected[away], rtol=0.1)


def test_same_map_gives_same_splats_and_a_moved_one_moved_splats():
    points = plane(1.0)
    first, again = built(points), built(points)
    assert np.array_equal(first.centre, again.centre)
    assert np.array_equal(first.radius, again.radius)
    assert first.reflectance.tobytes() == again.reflectance.tobytes()


def test_labels_method_without_labels_is_an_error():
    with pytest.raises(ResweepError, match="no return of the log has a label; use descriptors"):
        built(plane(1.0), 0, method="labels")
    with pytest.raises(ResweepError, match="meaning of the log's labels is unknown; use descriptors"):
        fit(map_of(plane(1.0), ROAD, labels=UNKNOWN_LABELS), SplatConfig(method="labels"))


def test_labels_of_unknown_meaning_leave_it_to_the_descriptors():
    points = plane(1.5)
    label = np.where(points[:, 0] < 0, ROAD, POLE)
    (unknown,) = fit(map_of(points, label, labels=UNKNOWN_LABELS), SplatConfig())
    (described,) = fit(map_of(points, label), SplatConfig(method="descriptors"))
    np.testing.assert_array_equal(unknown.radius, described.radius)
    np.testing.assert_array_equal(unknown.extra["group"], described.extra["group"])
    (labelled,) = fit(map_of(points, label), SplatConfig())
    assert set(labelled.extra["group"]) == {Group.GROUND, Group.LINEAR}
    assert Group.GROUND not in unknown.extra["group"]


def test_basic_splats_are_not_resampled():
    with pytest.raises(ResweepError, match="resample: basic splats are not resampled"):
        SplatConfig(method="basic", resample=True)
    assert not paper_c(method="basic").resample


def test_too_few_points_are_an_error():
    with pytest.raises(ResweepError, match="accumulate more sweeps"):
        built(np.array([[0.0, 0, 0], [5.0, 0, 0]]), method="basic")


def test_group_factors_change_what_grows():
    wide = built(plane(), resample=False, ground=GroupFactors(k=3, radius=3, bound=3))
    narrow = built(plane(), resample=False, ground=GroupFactors(k=0.5, radius=0.5, bound=3))
    assert np.median(wide.radius) > 1.5 * np.median(narrow.radius)
