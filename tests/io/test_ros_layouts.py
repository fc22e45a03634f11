"""Bags in the drivers' layouts: the fields as published, times from the stamp, and KISS-ICP on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from resweep.errors import ResweepError
from resweep.io import open_log, write_log
from resweep.io.ros import livox
from resweep.io.ros.bag_writer import EPOCH_S
from resweep.io.ros.imu import GRAVITY_MPS2, RATE_HZ, SmoothMotion
from resweep.io.ros.point_layouts import LAYOUTS
from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenes import SCENES
from resweep.sensors import load_sensor
from resweep.simulate import Simulator

AnyReader = pytest.importorskip("rosbags.highlevel").AnyReader
typesys = pytest.importorskip("rosbags.typesys")

F4, F8, U1, U2, U4 = 7, 8, 2, 4, 6  # sensor_msgs/PointField
XYZI = [("x", 0, F4), ("y", 4, F4), ("z", 8, F4), ("intensity", 12, F4)]
PUBLISHED: dict[str, tuple[list[tuple[str, int, int]], int]] = {
    "velodyne": ([*XYZI, ("ring", 16, U2), ("time", 18, F4)], 22),
    "ouster": (
        [
            *XYZI[:3],
            ("intensity", 16, F4),
            ("t", 20, U4),
            ("reflectivity", 24, U2),
            ("ring", 26, U1),
            ("ambient", 28, U2),
            ("range", 32, U4),
        ],
        48,
    ),
    "livox": ([*XYZI, ("tag", 16, U1), ("line", 17, U1), ("timestamp", 18, F8)], 26),
    "hesai": ([*XYZI, ("ring", 16, U2), ("timestamp", 18, F8)], 26),
}


def place(time: float) -> Array:
    """The drive: from rest along the street, swaying."""
    return from_xyz_rpy(1.5 * time**2, 0.4 * np.sin(1.5 * time), 1.8, yaw=0.05 * np.sin(2 * time))


def make_drive(sweeps: int = 15) -> Log:
    """A VLP-16 through a street, from time 0 on."""
    times = np.linspace(0, 0.1 * sweeps + 0.01, 4 * sweeps)
    sensor = load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "single"})
    world = SCENES["street"](seed=1)
    return Simulator(world, sensor, seed=3).run(Trajectory(times, np.stack([*map(place, times)])), sweeps=sweeps)


@pytest.fixture(scope="module")
def drive() -> Log:
    log = make_drive()
    return log.with_sweeps(list(log))


def messages(folder: Path, topic: str) -> list[Any]:
    with AnyReader([folder]) as reader:
        wanted = [c for c in reader.connections if c.topic == topic]
        return [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages(connections=wanted)]


def seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def rows_of(cloud: Any) -> Any:
    kinds = {F4: "<f4", F8: "<f8", U1: "u1", U2: "<u2", U4: "<u4"}
    layout = {
        "names": [field.name for field in cloud.fields],
        "formats": [kinds[field.datatype] for field in cloud.fields],
        "offsets": [field.offset for field in cloud.fields],
        "itemsize": cloud.point_step,
    }
    return np.frombuffer(cloud.data, np.dtype(layout))  # type: ignore[call-overload]


def find_times(name: str, rows: Any, stamp: float) -> Array:
    """Seconds from the stamp, by the driver's unit."""
    if name in ("velodyne", "ouster"):
        return rows["time"].astype(float) if name == "velodyne" else rows["t"] * 1e-9  # type: ignore[no-any-return]
    return rows["timestamp"] * (1e-9 if name == "livox" else 1) - stamp  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", LAYOUTS)
def test_fields_units_and_the_way_back(name: str, drive: Log, tmp_path: Path) -> None:
    write_log(drive[:2], tmp_path / "bag", format="ros2", points=name, progress=False)
    for sweep, cloud in zip(drive[:2], messages(tmp_path / "bag", "/points"), strict=True):
        fields, step = PUBLISHED[name]
        assert [(field.name, field.offset, field.datatype) for field in cloud.fields] == fields
        assert (cloud.point_step, cloud.height, cloud.width, cloud.is_dense) == (step, 1, len(sweep), True)
        rows, stamp = rows_of(cloud), seconds(cloud)
        assert stamp == pytest.approx(EPOCH_S + sweep.timestamp, abs=1e-6)
        since = find_times(name, rows, stamp)
        assert since.min() > -1e-9
        np.testing.assert_allclose(since, sweep.time - sweep.timestamp, atol=1e-7)
        shade = np.minimum(255 * sweep.intensity, 255)  # mirrors are brighter than 1
        np.testing.assert_allclose(rows["intensity"], shade, rtol=1e-6)
        if name == "ouster":
            np.testing.assert_allclose(rows["range"], 1000 * sweep.range, atol=1)
            np.testing.assert_allclose(rows["reflectivity"], shade, atol=0.51)
    back = open_log(tmp_path / "bag")
    np.testing.assert_allclose(back.times, drive.times[:2], atol=1e-9)
    for at, sweep in enumerate(back):
        np.testing.assert_array_equal(sweep.ring, drive[at].ring)
        np.testing.assert_allclose(sweep.time, drive[at].time, atol=1e-7)
        np.testing.assert_allclose(sweep.intensity, np.minimum(drive[at].intensity, 1), rtol=1e-6)
        np.testing.assert_allclose(sweep.points, drive[at].points, atol=1e-5)
        np.testing.assert_allclose(sweep.world_points(), drive[at].world_points(), atol=1e-4)


@pytest.fixture(scope="module")
def followed(drive: Log) -> Array:
    """Poses that KISS-ICP finds from the points and times in memory."""
    config = pytest.importorskip("kiss_icp.config").load_config(None)
    odometry = pytest.importorskip("kiss_icp.kiss_icp").KissICP(config)
    poses = []
    for sweep in drive:
        odometry.register_frame(sweep.points.astype(np.float64), sweep.time)
        poses.append(odometry.last_pose)
    return np.stack(poses)


@pytest.mark.parametrize("name", ["resweep", *LAYOUTS])
def test_kiss_icp_runs_on_each(
    name: str, drive: Log, followed: Array, kiss_icp: Callable[[str, Path], Array], tmp_path: Path
) -> None:
    write_log(drive, tmp_path / "bag", format="ros2", points=name, progress=False)
    found = kiss_icp("rosbag", tmp_path / "bag")
    np.testing.assert_allclose(found, followed, atol=1e-3)
    truth = np.linalg.inv(drive.poses[0]) @ drive.poses
    assert np.linalg.norm(truth[-1, :3, 3]) > 2.5
    assert np.linalg.norm(found[:, :3, 3] - truth[:, :3, 3], axis=1).max() < 0.2
    turned = Rotation.from_matrix(found[:, :3, :3]).inv() * Rotation.from_matrix(truth[:, :3, :3])
    assert np.degrees(turned.magnitude()).max() < 1.5


def test_the_inertial_sensor_follows_the_motion(drive: Log, tmp_path: Path) -> None:
    write_log(drive, tmp_path / "bag", format="ros2", points="velodyne", progress=False)
    samples = messages(tmp_path / "bag", "/imu")
    times = np.array([seconds(sample) for sample in samples])
    np.testing.assert_allclose(np.diff(times), 1 / RATE_HZ, atol=1e-8)
    assert times[0] == pytest.approx(EPOCH_S)
    assert times[-1] >= EPOCH_S + drive[-1].time.max()
    assert {sample.header.frame_id for sample in samples} == {"imu"}
    rates = np.array([[getattr(sample.angular_velocity, axis) for axis in "xyz"] for sample in samples])
    forces = np.array([[getattr(sample.linear_acceleration, axis) for axis in "xyz"] for sample in samples])

    # Turn rates integrate to the rotations, specific forces to the places, each from one knot to the next.
    rotation, place = Rotation.from_matrix(drive.poses[0, :3, :3]), drive.poses[0, :3, 3]
    smooth = SmoothMotion(drive.trajectory)
    velocity = smooth.at(drive.times[:1]).velocity[0]
    gap, per_sweep = 1 / RATE_HZ, round(RATE_HZ * 0.1)
    for at in range(per_sweep * (len(drive) - 1)):
        after = rotation * Rotation.from_rotvec(gap * (rates[at] + rates[at + 1]) / 2)
        force = (rotation.apply(forces[at]) + after.apply(forces[at + 1])) / 2 - [0, 0, GRAVITY_MPS2]
        place, velocity, rotation = place + gap * velocity + gap**2 / 2 * force, velocity + gap * force, after
        if (at + 1) % per_sweep == 0:
            pose = drive.poses[(at + 1) // per_sweep]
            error = (rotation.inv() * Rotation.from_matrix(pose[:3, :3])).magnitude()
            assert error < 1e-4
            np.testing.assert_allclose(place, pose[:3, 3], atol=2e-3)


@pytest.mark.parametrize("pitch", [0.0, 0.3])
def test_at_rest_it_reads_gravity_upwards(pitch: float, drive: Log, tmp_path: Path) -> None:
    pose = from_xyz_rpy(1, 2, 3, pitch=pitch, yaw=1.0)
    still = [replace(drive[at], pose=pose, trajectory=None) for at in range(3)]
    write_log(Log.from_sweeps(still), tmp_path / "bag", format="ros2", points="hesai", progress=False)
    for sample in messages(tmp_path / "bag", "/imu"):
        force = [getattr(sample.linear_acceleration, axis) for axis in "xyz"]
        # With the nose down, up leans towards the tail.
        np.testing.assert_allclose(force, [-9.81 * np.sin(pitch), 0, 9.81 * np.cos(pitch)], atol=1e-9)
        rates = [getattr(sample.angular_velocity, axis) for axis in "xyz"]
        np.testing.assert_allclose(rates, 0, atol=1e-12)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_frames_and_odometry(storage: str, drive: Log, tmp_path: Path) -> None:
    write_log(drive, tmp_path / "bag", format="ros2", points="velodyne", storage=storage, progress=False)
    information = yaml.safe_load((tmp_path / "bag/metadata.yaml").read_text())["rosbag2_bagfile_information"]
    topics = {
        each["topic_metadata"]["name"]: each["topic_metadata"] for each in information["topics_with_message_count"]
    }
    assert set(topics) == {"/points", "/imu", "/odom", "/tf", "/tf_static", "/resweep/motion"}
    (profile,) = topics["/tf_static"]["offered_qos_profiles"]
    assert (profile["durability"], profile["reliability"]) == ("transient_local", "reliable")
    (mounts,) = messages(tmp_path / "bag", "/tf_static")
    assert {(item.header.frame_id, item.child_frame_id) for item in mounts.transforms} == {
        ("base_link", "lidar"),
        ("base_link", "imu"),
    }
    assert {cloud.header.frame_id for cloud in messages(tmp_path / "bag", "/points")} == {"lidar"}
    odometry = messages(tmp_path / "bag", "/odom")
    for message, pose, time in zip(odometry, drive.poses, drive.times, strict=True):
        assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_link")
        assert seconds(message) > 0
        place = message.pose.pose.position
        np.testing.assert_allclose([place.x, place.y, place.z], pose[:3, 3], atol=1e-9)
        # Velocity in the world turned into the base's frame.
        velocity = np.array([3 * time, 0.6 * np.cos(1.5 * time), 0]) @ pose[:3, :3]
        found = message.twist.twist.linear
        np.testing.assert_allclose([found.x, found.y, found.z], velocity, atol=0.06)
        assert message.twist.twist.angular.z == pytest.approx(0.1 * np.cos(2 * time), abs=0.02)


def test_livox_writes_its_own_message_too(drive: Log, tmp_path: Path) -> None:
    write_log(drive[:2], tmp_path / "bag", format="ros2", points="livox", progress=False)
    for sweep, message in zip(drive[:2], messages(tmp_path / "bag", "/livox/lidar"), strict=True):
        assert message.__msgtype__ == livox.TYPE
        assert message.point_num == len(message.points) == len(sweep)
        assert message.timebase * 1e-9 == pytest.approx(seconds(message), abs=1e-6)
        offsets = np.array([point.offset_time for point in message.points]) * 1e-9
        np.testing.assert_allclose(offsets, sweep.time - sweep.timestamp, atol=1e-7)
        np.testing.assert_allclose([[p.x, p.y, p.z] for p in message.points], sweep.points)
        np.testing.assert_array_equal([point.line for point in message.points], sweep.ring)
        shades = [point.reflectivity for point in message.points]
        np.testing.assert_allclose(shades, np.minimum(255 * sweep.intensity, 255), atol=0.51)


def test_stamps_of_logs_with_times_in_mid_sweep(drive: Log, tmp_path: Path) -> None:
    """KITTI stamps the middle of a sweep: the cloud is stamped at its first beam all the same, with the pose then."""
    middle = [
        replace(sweep, timestamp=sweep.timestamp + 0.05, pose=sweep.trajectory.at(sweep.timestamp + 0.05))  # type: ignore[union-attr]
        for sweep in drive[:4]
    ]
    write_log(Log.from_sweeps(middle), tmp_path / "bag", format="ros2", points="velodyne", progress=False)
    for cloud in messages(tmp_path / "bag", "/points"):
        assert rows_of(cloud)["time"].min() >= 0
    for made, sweep in zip(middle, open_log(tmp_path / "bag"), strict=True):
        np.testing.assert_allclose(sweep.world_points(), made.world_points(), atol=1e-4)


def test_real_times_are_not_moved(drive: Log, tmp_path: Path) -> None:
    later = drive.map(lambda sweep: sweep.moved_to(sweep.pose, sweep.timestamp + 1.7e9), times=drive.times + 1.7e9)
    write_log(later[:2], tmp_path / "bag", format="ros2", points="ouster", progress=False)
    assert seconds(messages(tmp_path / "bag", "/points")[0]) == pytest.approx(1.7e9)
    np.testing.assert_allclose(open_log(tmp_path / "bag")[1].time, later[1].time, atol=1e-6)


def test_unsorted_points_are_written_in_the_order_of_time(drive: Log, tmp_path: Path) -> None:
    names = ("beam", "range", "intensity", "return_index", "label", "instance")
    backwards = [replace(sweep, **{name: getattr(sweep, name)[::-1] for name in names}) for sweep in drive[:2]]  # type: ignore[arg-type]
    write_log(Log.from_sweeps(backwards), tmp_path / "bag", format="ros2", points="velodyne", progress=False)
    rows = rows_of(messages(tmp_path / "bag", "/points")[0])
    assert (np.diff(rows["time"]) >= 0).all()
    np.testing.assert_allclose(np.sort(rows["x"]), np.sort(drive[0].points[:, 0]), atol=1e-6)


def test_what_points_do_not_know_is_left_out(drive: Log, tmp_path: Path) -> None:
    bare = [
        replace(s, beam_time=np.full(s.n_beams, s.timestamp), beam_ring=np.zeros(s.n_beams), trajectory=None)
        for s in drive[:2]
    ]
    log = Log.from_sweeps(bare, "bare")
    for name, gone in (("velodyne", {"time", "ring"}), ("ouster", {"t", "ring"}), ("hesai", {"timestamp", "ring"})):
        write_log(log, tmp_path / name, format="ros2", points=name, progress=False)
        names = {field.name for field in messages(tmp_path / name, "/points")[0].fields}
        assert names == {field for field, _, _ in PUBLISHED[name][0]} - gone
        np.testing.assert_allclose(open_log(tmp_path / name)[1].points, bare[1].points, atol=1e-5)
    mixed = Log.from_sweeps([drive[0], bare[1]], "mixed")
    for name, which, at in (("bare", log, 0), ("mixed", mixed, 1)):
        with pytest.raises(
            ResweepError, match=rf"'{name}': its points have no times \(sweep {at}\), and points='livox'"
        ):
            write_log(which, tmp_path / "livox", format="ros2", points="livox", progress=False)
    assert not (tmp_path / "livox").exists()


def test_compensated_points(drive: Log, tmp_path: Path) -> None:
    write_log(drive[:2], tmp_path / "a", format="ros2", points="velodyne", frame="deskewed", progress=False)
    cloud = messages(tmp_path / "a", "/points")[1]
    assert "time" not in {field.name for field in cloud.fields}
    np.testing.assert_allclose(open_log(tmp_path / "a")[1].points, drive[1].deskewed(), atol=1e-5)
    still = Log.from_sweeps([replace(sweep, trajectory=None) for sweep in drive[:2]], "undone")
    with pytest.warns(UserWarning, match="log 'undone': its points seem motion-compensated, but have times"):
        write_log(still, tmp_path / "b", format="ros2", points="velodyne", progress=False)


def test_no_motion_is_invented_where_poses_are_unknown(drive: Log, tmp_path: Path) -> None:
    lost = replace(drive[:3].map(lambda s: replace(s, pose=np.eye(4), trajectory=None)), poses_known=False)
    lost = replace(lost, poses=np.tile(np.eye(4), (3, 1, 1)))
    write_log(lost, tmp_path / "bag", format="ros2", points="velodyne", progress=False)
    with AnyReader([tmp_path / "bag"]) as reader:
        assert not {"/imu", "/odom", "/tf"} & set(reader.topics)
    assert not open_log(tmp_path / "bag").poses_known


def test_mistakes(drive: Log, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="points 'velodine': did you mean 'velodyne'"):
        write_log(drive, tmp_path / "out", format="ros2", points="velodine", progress=False)
    high = Log.from_sweeps([replace(drive[0], beam_ring=drive[0].beam_ring + 250)])
    with pytest.raises(ResweepError, match="field 'ring' of these points holds up to 255, a point has 2"):
        write_log(high, tmp_path / "out", format="ros2", points="ouster", progress=False)


def test_damaged_notes_are_named(drive: Log, tmp_path: Path) -> None:
    write_log(drive[:1], tmp_path / "bag", format="ros2", points="hesai", progress=False)
    file = tmp_path / "bag/metadata.yaml"
    whole = file.read_text()
    file.write_text(whole.replace("resweep_intensity_scale: '255.0'", "resweep_intensity_scale: bright"))
    with pytest.raises(ResweepError, match=r"resweep_intensity_scale in metadata\.yaml is 'bright', not a number"):
        open_log(tmp_path / "bag")
    file.write_text(whole.replace("resweep_intensity_scale: '255.0'", "resweep_intensity_scale: '0'"))
    with pytest.raises(ResweepError, match=r"resweep_intensity_scale in metadata\.yaml is 0, not above zero"):
        open_log(tmp_path / "bag")
