"""Objects cut out of logs: what belongs to them, where it comes to lie, and when they are mirrored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import cKDTree

import resweep as rs
from resweep.boxes import BOX_MARGIN_M, Boxes
from resweep.categories import CATEGORIES
from resweep.log import Log
from resweep.objects import IcpConfig, ObjectConfig, build_bank
from resweep.objects.coloured_icp import make_target, register
from resweep.objects.joint_icp import align_sweeps
from resweep.objects.mirror import FLIP, find_symmetry
from resweep.objects.object_surfels import measure_gaps
from resweep.pose import Trajectory, from_xyz_rpy, inverse, transform
from resweep.registration import motion_matrix
from resweep.scenario.assets import Asset
from resweep.scenario.placing import make_actor
from resweep.sweep import Sweep
from tests.places import at

SIZE = np.array([4.0, 1.8, 1.5])
KEEP = ObjectConfig(min_known=0.0)


def shell(rng: np.random.Generator, count: int, sides: str = "left front top", noise: float = 0.005) -> np.ndarray:
    """Points on the sides of a box of SIZE that stands on its frame's origin, with a step on the left side and roof."""
    half = SIZE / 2
    parts = []
    for side in sides.split():
        points = rng.uniform(-1, 1, (count, 3)) * half + [0, 0, half[2]]
        axis = {"left": 1, "right": 1, "front": 0, "back": 0, "top": 2}[side]
        sign = -1.0 if side in ("right", "back") else 1.0
        points[:, axis] = sign * half[axis] + (half[2] if axis == 2 else 0.0)
        if axis == 1:  # the upper part is set back, as a cabin is
            points[:, 1] -= np.where(points[:, 2] > 1.0, 0.15 * sign, 0.0)
        if axis == 2:
            points[:, 2] -= np.where(points[:, 0] > 0.5, 0.4, 0.0)
        parts.append(points + rng.normal(0, noise, points.shape))
    return np.concatenate(parts)


def shine(points: np.ndarray) -> np.ndarray:
    """A pattern on the surface that tells where along it one is."""
    return 0.5 + 0.4 * np.sin(4.0 * points[:, 0])


def drive(
    count: int = 6,
    speed: float = 0.0,
    spin_s: float = 0.0,
    off=None,
    name: str = "Car",
    track: int = 4,
    sides: str = "left front top",
    label: int = 0,
) -> Log:
    """A log of a box-shaped object on level ground, ahead of a stationary sensor.

    ``speed`` m/s along its heading; ``spin_s`` is how long its returns take to be measured within a sweep;
    ``off(i)`` is the motion (4, 4) by which the i-th box is wrong.
    """
    rng = np.random.default_rng(5)
    each = 300
    ground = rng.uniform(-1, 1, (1500, 3)) * [4.0, 3.0, 0.0]
    start, velocity, yaw = np.array([12.0, 3.0, 0.0]), speed * np.array([0.8, 0.6, 0.0]), np.arctan2(0.6, 0.8)
    sweeps, pose = [], at(0.0, 0.0, 1.7)
    for i in range(count):
        time = 0.1 * i
        points = np.concatenate([shell(rng, each, sides), ground])
        mine = np.arange(len(points)) < each * len(sides.split())
        moments = time + rng.uniform(-0.5, 0.5, len(points)) * spin_s
        world = transform(from_xyz_rpy(yaw=yaw), points) + start + moments[:, None] * velocity
        drawn = from_xyz_rpy(*(start + np.median(moments[mine]) * velocity), yaw=yaw)
        local = inverse(pose) @ drawn @ (np.eye(4) if off is None else off(i))
        centre, turn = local[:3, 3] + [0, 0, SIZE[2] / 2], np.arctan2(local[1, 0], local[0, 0])
        sweep = Sweep.from_points(
            transform(inverse(pose), world),
            pose=pose,
            time=moments,
            timestamp=time,
            intensity=shine(points),
            label=np.where(mine, label, 0),
            boxes=Boxes(centre, SIZE, [turn], [name], [track]),
        )
        sweeps.append(sweep)
    return Log.from_sweeps(sweeps, "yard")


def off_shell(points: np.ndarray) -> np.ndarray:
    """Distances of points to the whole true shell."""
    truth = shell(np.random.default_rng(1), 20_000, "left right front back top", 0.0)
    return cKDTree(truth).query(points)[0]


def test_an_object_keeps_its_shape_and_leaves_the_ground():
    log = drive(label=252)
    bank = build_bank(log, ObjectConfig(mirror="never", min_known=0.0))
    asset = bank["car-0004"]
    layer = asset.layers[0]
    assert asset.category == "car"
    assert asset.label == 252
    assert asset.source == ("yard", 4)
    np.testing.assert_allclose(asset.size_m, SIZE)
    assert layer.centre[:, 2].min() > 0.05  # no ground
    low, high = layer.bounds  # whole discs, within the annotated box
    assert (np.append(-SIZE[:2] / 2, 0.0) - 1e-5 <= low).all()
    assert (high <= np.append(SIZE[:2] / 2, SIZE[2]) + 1e-5).all()
    assert np.quantile(off_shell(layer.centre), 0.95) < 0.03
    assert {"intensity", "range_m", "cosine", "count"} <= set(layer.extra)
    assert np.abs(layer.extra["range_m"] - 12.5).max() < 4.0
    assert bank.meta["summary"] == {"objects": 1, "built": 1, "skipped": {}}
    assert asset.n_points == pytest.approx(6 * 900, rel=0.1)  # but the lowest 8 cm


def test_labels_are_those_of_the_category_where_the_log_has_none():
    log = drive(2)
    assert build_bank(log, KEEP)["car-0004"].label == 10


def test_the_motion_of_an_object_within_a_sweep_is_undone():
    """At 20 m/s, and 40 ms from its first return to its last, an object is smeared by 80 cm."""
    log = drive(speed=20.0, spin_s=0.04)
    smeared = build_bank(Log.from_sweeps([log[2]], "one"), ObjectConfig(mirror="never", min_known=0.0))
    sharp = build_bank(log, ObjectConfig(mirror="never", min_known=0.0, icp=None))
    errors = [np.quantile(off_shell(bank["car-0004"].layers[0].centre), 0.9) for bank in (smeared, sharp)]
    assert errors[0] > 0.08
    assert errors[1] < 0.05


def test_boxes_that_are_off_are_aligned():
    rng = np.random.default_rng(2)
    wrong = [from_xyz_rpy(*rng.normal(0, 0.08, 2), yaw=np.radians(rng.normal(0, 1.5))) for _ in range(8)]
    log = drive(8, off=wrong.__getitem__)
    spread = {}
    for name, icp in (("boxes", None), ("icp", IcpConfig())):
        asset = build_bank(log, ObjectConfig(mirror="never", min_known=0.0, icp=icp, smooth_radius_m=0.0))["car-0004"]
        mean = np.mean([pose[:2, 3] for pose in wrong], axis=0)
        spread[name] = np.median(off_shell(asset.layers[0].centre + np.append(mean, 0)))
    assert spread["icp"] < 0.6 * spread["boxes"]
    assert asset.meta["plane_residual_m"][1] < asset.meta["plane_residual_m"][0]


def test_registration_finds_a_known_motion_and_needs_colour_to_slide_along_a_wall():
    rng = np.random.default_rng(3)
    plane = np.column_stack([rng.uniform(-2, 2, 6000), np.zeros(6000), rng.uniform(0, 1.5, 6000)])
    T = motion_matrix(np.array([0.0, 0.0, 0.01, 0.06, 0.05, 0.0]))
    source = transform(inverse(T), plane[::2] + rng.normal(0, 0.002, (3000, 3)))
    found = {}
    for share in (0.968, 1.0):
        config = IcpConfig(geometric_share=share, iterations=20)
        target = make_target(plane[1::2], shine(plane[1::2]), config)
        found[share] = register(source, shine(plane[::2]), None, target, np.eye(4), np.full(6, 0.1), 0.2, config)
    np.testing.assert_allclose(found[0.968][:3, 3], [0.06, 0.05, 0.0], atol=0.012)
    assert found[1.0][0, 3] == pytest.approx(0.0, abs=0.012)  # geometry alone does not know
    assert found[1.0][1, 3] == pytest.approx(0.05, abs=0.005)


def test_groups_that_share_little_stay_where_their_boxes_are():
    """Sweeps of the left flank and of the right one share a roof: neither side may drift in or out."""
    rng = np.random.default_rng(6)
    clouds, truth = [], []
    for i in range(12):
        cloud = shell(rng, 300, ("left" if i < 6 else "right") + " top")
        wrong = from_xyz_rpy(*rng.normal(0, 0.05, 2), yaw=rng.normal(0, 0.01))
        clouds.append(transform(wrong, cloud))
        truth.append(wrong)
    poses, residual = align_sweeps(clouds, [np.zeros(len(cloud)) for cloud in clouds], IcpConfig())
    before = np.stack(truth)[:, 1, 3]
    after = (poses @ np.stack(truth))[:, 1, 3]
    for group in (slice(0, 6), slice(6, 12)):
        assert after[group].std() < 0.15 * before[group].std()
        assert after[group].mean() == pytest.approx(before[group].mean(), abs=0.015)
    assert residual[1] < residual[0]


def test_what_is_alike_on_both_sides_is_mirrored_about_its_own_middle():
    rng = np.random.default_rng(4)
    points = np.concatenate([shell(rng, 1500, "left front top"), shell(rng, 300, "right")])
    points[:, 1] += 0.06  # the box sits 6 cm beside
    found = find_symmetry(points, np.zeros(len(points)), CATEGORIES["car"], SIZE[1], ObjectConfig())
    assert found.holds
    assert found.T_new_object[1, 3] == pytest.approx(-0.06, abs=0.01)
    centred = transform(found.T_new_object, points)
    assert np.median(off_shell(centred * FLIP)) < 0.015


def test_what_is_not_alike_is_not_mirrored():
    rng = np.random.default_rng(4)
    cab = transform(np.diag([0.5, 1.0, 1.0, 1.0]), shell(rng, 1000, "left right top"))
    cab[:, 0] += 1.0
    trailer = transform(from_xyz_rpy(-1.0, -0.2, 0.0, yaw=np.radians(25)), shell(rng, 1000, "left right top"))
    points = np.concatenate([cab, trailer])
    shade = np.zeros(len(points))
    config = ObjectConfig()
    assert not find_symmetry(points, shade, CATEGORIES["trailer"], SIZE[1], config).holds
    whole = shell(rng, 1000, "left right front top")
    assert find_symmetry(whole, np.zeros(len(whole)), CATEGORIES["trailer"], SIZE[1], config).holds
    for name in ("pedestrian", "bicycle"):
        assert not find_symmetry(whole, np.zeros(len(whole)), CATEGORIES[name], SIZE[1], config).holds
    narrow = find_symmetry(whole, np.zeros(len(whole)), CATEGORIES["car"], 2.6, config)
    assert not narrow.holds  # than its box: the box is off
    beside = shell(rng, 1000, "left back top")
    beside[:, 1] -= 0.35  # a back that reaches farther than the image of the flank
    as_drawn = ObjectConfig(icp=None)
    assert not find_symmetry(beside, np.zeros(len(beside)), CATEGORIES["car"], SIZE[1], as_drawn).holds
    never = ObjectConfig(mirror="never")
    assert not find_symmetry(whole, np.zeros(len(whole)), CATEGORIES["car"], SIZE[1], never).holds


def test_mirroring_completes_the_far_side():
    log = drive()
    near, both = (build_bank(log, ObjectConfig(mirror=how))["car-0004"] for how in ("never", "auto"))
    assert near.coverage[9] < 0.2 < 0.6 < both.coverage[9]
    assert both.mirrored
    assert both.n_points == near.n_points
    assert np.quantile(off_shell(both.layers[0].centre), 0.9) < 0.04
    x, y, z = both.layers[0].centre.T
    flank = (y < -0.85) & (np.abs(x) < 1.7) & (z > 0.3) & (z < 0.8)
    assert (both.layers[0].normal[flank, 1] < -0.9).mean() > 0.98  # outwards


def test_people_are_taken_from_a_moment_only():
    log = drive(10, name="Pedestrian")
    asset = build_bank(log, ObjectConfig(pose_window_s=0.25))["pedestrian-0004"]
    assert asset.meta["sweeps"] <= 3
    assert not asset.mirrored


def test_sweeps_between_annotated_ones_are_used():
    log = drive(6, speed=5.0)
    bare = [sweep if i in (0, 5) else replace(sweep, boxes=None) for i, sweep in enumerate(log)]
    asset = build_bank(Log.from_sweeps(bare, "yard"), ObjectConfig(mirror="never"))["car-0004"]
    assert asset.meta["sweeps"] == 6
    assert np.quantile(off_shell(asset.layers[0].centre), 0.9) < 0.04


def test_boxes_without_a_track_are_objects_of_their_own():
    log = drive(2, track=-1)
    assert sorted(build_bank(log, KEEP)) == ["car-box0000", "car-box0001"]


def test_gaps_look_across_scan_lines():
    along, lines = np.meshgrid(np.arange(0, 2, 0.03), np.arange(0, 1, 0.12))
    points = np.column_stack([along.ravel(), np.zeros(along.size), lines.ravel()])
    found = measure_gaps(points, np.tile([0.0, 1.0, 0.0], (len(points), 1)), 0.3)
    inner = (points[:, 2] > 0.1) & (points[:, 2] < 0.8) & (points[:, 0] > 0.2) & (points[:, 0] < 1.8)
    assert found[inner].min() >= 0.119
    assert found[inner].max() < 0.14


def test_an_asset_is_hit_by_rays_where_the_object_was():
    """Range to the flank of an object placed in an empty world."""
    log = drive(6)
    asset = build_bank(log, ObjectConfig())["car-0004"]
    world = asset.world.moved(from_xyz_rpy(0.0, 8.0, -0.7, yaw=np.pi))  # its left flank towards the sensor
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**{"receiver.range_noise_sigma_m": 0.0})
    sweep = rs.Simulator(world, sensor, seed=1).sweep(np.eye(4))
    middle = (np.abs(sweep.points[:, 0]) < 1.5) & (sweep.points[:, 2] < 0.2) & (sweep.points[:, 2] > -0.5)
    assert middle.sum() > 200
    assert np.median(sweep.points[middle, 1]) == pytest.approx(8.0 - 0.9, abs=0.02)
    assert set(np.unique(sweep.label)) == {10}


def test_mistakes_say_what_to_do():
    log = drive(2)
    with pytest.raises(rs.ResweepError, match=r"the fullest has \d+\); lower min_points"):
        build_bank(log, ObjectConfig(min_points=100_000))
    with pytest.raises(rs.ResweepError, match="none of its 1 objects is left"):
        build_bank(log, ObjectConfig(mirror="never", min_known=1.0))
    with pytest.raises(rs.ResweepError, match="no sweep has boxes of bus"):
        build_bank(log, ObjectConfig(categories=("bus",)))
    with pytest.raises(rs.ResweepError, match="did you mean 'bus'"):
        build_bank(log, ObjectConfig(categories=("buss",)))
    bare = Log.from_sweeps([Sweep.from_points(np.ones((5, 3)))], "bare")
    with pytest.raises(rs.ResweepError, match="log 'bare': no sweep has annotated boxes"):
        build_bank(bare)


def test_the_same_log_gives_the_same_bank():
    log = drive(4)
    first, second = (build_bank(log, KEEP)["car-0004"].layers[0] for _ in range(2))
    for column in ("centre", "normal", "radius", "reflectance"):
        np.testing.assert_array_equal(getattr(first, column), getattr(second, column))


def share_in_box(asset: Asset) -> tuple[float, np.ndarray]:
    """The share of an object's returns that its box holds, seen from all sides without noise, and the box's size."""
    sensor = rs.load_sensor("velodyne-hdl-64e").with_(**{"receiver.range_noise_sigma_m": 0.0})
    nowhere = rs.World([rs.Mesh(np.array([[0, 0, -500], [1, 0, -500], [0, 1, -500.0]]), np.array([[0, 1, 2]]))])
    inside = total = 0
    for angle in np.radians([20, 110, 200, 290]):
        motion = Trajectory(np.zeros(1), from_xyz_rpy(9 * np.cos(angle), 9 * np.sin(angle), -1.73, yaw=0.4)[None])
        actor = make_actor(asset, motion, 1, asset.name, nowhere.labels)
        sweep = rs.Simulator(nowhere, sensor, actors=[actor]).sweep(np.eye(4))
        inside += int(sweep.boxes.count_points(sweep.deskewed())[0])
        total += len(sweep)
    return inside / total, sweep.boxes.size[0]


@pytest.mark.slow
def test_real_drives_give_their_objects(sample_data):
    bank = build_bank(rs.open_log(sample_data / "kitti_raw_0051"))
    assert bank.categories == {"car": ("car-0000",), "cyclist": ("cyclist-0001",)}
    assert bank.meta["summary"]["skipped"] == {"too few points": 1}
    car = bank["car-0000"]
    assert car.size_m == pytest.approx((4.52, 1.67, 1.49), abs=0.005)
    for asset in bank.values():  # nothing reaches out of the annotated box
        low, high = asset.world.bounds
        assert (np.abs([low[:2], high[:2]]) <= np.array(asset.size_m[:2]) / 2 + 1e-5).all()
        assert -1e-5 <= low[2] < high[2] <= asset.size_m[2] + 1e-5
    share, size = share_in_box(car)
    assert size == pytest.approx(np.array(car.size_m) + np.array([2, 2, 1]) * BOX_MARGIN_M, abs=1e-6)
    assert share > 0.99
    assert car.mirrored
    assert car.meta["plane_residual_m"][1] < car.meta["plane_residual_m"][0]
    assert min(car.coverage) > 0.5
