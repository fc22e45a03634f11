"""What moved in a labelled drive comes back in its frames, and leaves no trail."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from resweep.build import DynamicConfig, dynamic_splats
from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.labels import UNKNOWN_LABELS
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy, transform
from resweep.scenario import Actor
from resweep.scenes import car, ground_plane
from resweep.sensors import load_sensor
from resweep.simulate import Retracer, Simulator
from resweep.worlds import World
from tests.places import LABELS, MOVING_CAR

ORIGIN = np.array([400_000.0, 5_000_000.0, 50.0])
SHIFT = np.block([[np.eye(3), ORIGIN[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def mover() -> Actor:
    """A car that passes at 20 m/s: two metres a frame, so that its frames overlap in part only."""
    times = np.array([0.0, 2.0])
    poses = np.stack([from_xyz_rpy(8.0, -20.0, yaw=np.pi / 2), from_xyz_rpy(8.0, 20.0, yaw=np.pi / 2)])
    return Actor((car(),), Trajectory(times, SHIFT @ poses), 9, label=MOVING_CAR)


@pytest.fixture(scope="module")
def drive() -> Log:
    """Eight sweeps from a stationary VLP-32C, 5 cm of jitter in their times."""
    world = World([ground_plane()], ORIGIN)
    sim = Simulator(world, load_sensor("velodyne-vlp-32c").with_(**{"beam.rays": "single"}), actors=[mover()], seed=2)
    times = 0.5 + 0.12 * np.arange(8) + np.random.default_rng(1).uniform(0, 0.015, 8)
    pose = SHIFT @ from_xyz_rpy(z=1.8)
    sweeps = [sim.sweep(pose, start=float(t), index=i) for i, t in enumerate(times)]
    return Log.from_sweeps([replace(sweep, boxes=None, extra={}) for sweep in sweeps], "passing", labels=LABELS)


def off_the_car(points: np.ndarray, time: float, duration: float) -> np.ndarray:
    """Metres (n,) from points to the box that the car fills while it drives for ``duration``."""
    actor = mover()
    inverse = np.linalg.inv(actor.trajectory.at(time))
    local = transform(inverse, points)
    low, high = actor.bounds
    high = high + np.array([20.0 * duration, 0.0, 0.0])
    return np.linalg.norm(np.maximum(np.maximum(low - local, local - high), 0.0), axis=1)


def test_each_frame_holds_one_splat_a_moving_point(drive: Log) -> None:
    frames = dynamic_splats(drive)
    assert len(frames) == 8
    for frame, sweep in zip(frames, drive, strict=True):
        splats = frame.layers[0]
        moving = sweep.label == MOVING_CAR
        assert len(splats) == moving.sum() > 50
        assert set(splats.radius) == {np.float32(0.14)}  # C, 6.3.4
        assert set(splats.label) == {MOVING_CAR}
        assert set(splats.instance) == {9}
        centre = splats.centre + frame.trajectory.poses[0][:3, 3]
        np.testing.assert_allclose(centre, sweep.world_points()[moving], atol=1e-3)
    ends = [(frame.trajectory.start, frame.trajectory.end) for frame in frames]
    np.testing.assert_allclose([start for start, _ in ends], drive.times)
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(ends))


def test_normals_are_those_of_the_car(drive: Log) -> None:
    frame = dynamic_splats(drive)[4]
    splats = frame.layers[0]
    height = splats.centre[:, 2] + frame.trajectory.poses[0][2, 3] - ORIGIN[2]
    flank = (height > 0.4) & (height < 0.75)
    assert flank.sum() > 20
    assert np.median(np.abs(splats.normal[flank, 0])) > 0.9


def test_another_sensor_sees_the_frame_and_no_trail(drive: Log) -> None:
    world = World([ground_plane()], ORIGIN)
    sim = Simulator(world, "velodyne-vlp-16", actors=dynamic_splats(drive), seed=1)
    for at in (1, 4, 7):
        sweep = sim.sweep(drive.poses[at], start=float(drive.times[at]))
        moving = sweep.label == MOVING_CAR
        assert moving.sum() > 20
        assert set(sweep.instance[moving]) == {9}
        off = off_the_car(sweep.world_points()[moving], float(drive.times[at]), 0.1)
        assert off.max() < 0.25
        assert len(sweep.boxes) == 0
        assert not sweep.extra["velocity"].any()
    between = sim.sweep(drive.poses[0], start=3.0)
    assert not (between.label == MOVING_CAR).any()


def test_retraced_sweeps_get_their_movers_back(drive: Log) -> None:
    retracer = Retracer(World([ground_plane()], ORIGIN), actors=dynamic_splats(drive))
    bare = Retracer(World([ground_plane()], ORIGIN))
    for at in (0, 5):
        real, again, without = drive[at], retracer.sweep(drive[at]), bare.sweep(drive[at])
        on = real.beam[real.label == MOVING_CAR]
        common = np.intersect1d(on, again.beam[again.label == MOVING_CAR])
        assert len(common) > 0.95 * len(on)
        ranges = {name: dict(zip(s.beam, s.range, strict=True)) for name, s in (("real", real), ("again", again))}
        error = [abs(ranges["real"][beam] - ranges["again"][beam]) for beam in common]
        assert np.median(error) < 0.05
        assert not (without.label == MOVING_CAR).any()


def test_a_log_without_labels_is_refused(drive: Log) -> None:
    bare = Log.from_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in drive], "bare", labels=LABELS)
    with pytest.raises(ResweepError, match=r"log 'bare': no return has a label"):
        dynamic_splats(bare)
    with pytest.raises(ResweepError, match=r"has no poses"):
        dynamic_splats(replace(drive, poses_known=False))
    still = [replace(s, label=np.full_like(s.label, 40)) for s in drive]
    assert dynamic_splats(Log.from_sweeps(still, labels=LABELS)) == []


def test_labels_of_unknown_meaning_move_nothing(drive: Log) -> None:
    unknown = replace(drive, labels=UNKNOWN_LABELS)
    with pytest.raises(ResweepError, match="its labels are unknown; set labels"):
        dynamic_splats(unknown)
    assert len(dynamic_splats(unknown, DynamicConfig(labels="semantickitti"))) == len(drive)


def test_settings_reach_the_splats(drive: Log) -> None:
    near = drive[4]
    frame = dynamic_splats(drive[4:6], DynamicConfig(radius_m=0.05, depth=1, ego_radius_m=7.5))[0]
    assert frame.layers[0].depth == 1
    assert frame.layers[0].radius.max() == pytest.approx(0.05)
    moving = near.label == MOVING_CAR
    assert len(frame.layers[0]) == (moving & (near.range >= 7.5)).sum() < moving.sum()


def test_a_recorded_sequence(sample_data: Path) -> None:
    log = open_log(sample_data / "semantickitti_mini" / "sequences" / "00")[:3]
    moving = [int(np.isin(sweep.label, range(252, 260)).sum()) for sweep in log]
    frames = dynamic_splats(log)
    assert [len(frame.layers[0]) for frame in frames] == moving
    below = World([ground_plane(at=(0.0, 0.0, -50.0))], log.poses[0][:3, 3])
    again = Retracer(below, actors=frames).sweep(log[1])
    seen = np.isin(again.label, range(252, 260))
    assert seen.sum() > 0.9 * moving[1]
    real = np.isin(log[1].label, range(252, 260))
    gap, _ = cKDTree(log[1].world_points()[real]).query(again.world_points()[seen])
    assert np.quantile(gap, 0.95) < 0.3
