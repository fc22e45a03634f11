"""A sensor that moves while it sweeps: the distortion it sees, and its undoing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes.scene_parts import ground_plane
from resweep.sensors import fire
from resweep.simulate import Simulator, simulator
from resweep.simulate.pulses import Pulses
from resweep.worlds import World


def straight(speed_x: float = 0.0, speed_y: float = 0.0, yaw_rate: float = 0.0, seconds: float = 1.0) -> Trajectory:
    """Constant speed and turn from the origin at 100 s on."""
    times = np.linspace(0.0, seconds, 21)
    poses = np.stack([from_xyz_rpy(speed_x * t, speed_y * t, yaw=yaw_rate * t) for t in times])
    return Trajectory(100.0 + times, poses)


def azimuth_and_time(sweep: Any) -> tuple[np.ndarray, np.ndarray]:
    d = sweep.beam_direction[sweep.beam].astype("f8")
    return np.arctan2(d[:, 1], d[:, 0]), sweep.time - sweep.timestamp


def test_driving_at_a_wall_shortens_later_ranges(make_sensor: Any, make_wall: Any) -> None:
    sweep = Simulator(World([make_wall(30.0)]), make_sensor((0.0,), range_max_m=300.0)).sweep(straight(speed_x=20.0))
    azimuth, time = azimuth_and_time(sweep)
    assert len(sweep) > 150
    np.testing.assert_allclose(sweep.range, (30.0 - 20.0 * time) / np.cos(azimuth), rtol=1e-5)
    # As reported the wall is bent by the metre driven while it was swept; deskewed it stands straight.
    assert np.ptp(sweep.points[:, 0]) > 0.9
    assert np.ptp(sweep.points[np.abs(azimuth) < 0.5, 0]) > 0.3
    near = sweep.range < 100.0
    np.testing.assert_allclose(sweep.deskewed()[near, 0], 30.0, atol=1e-3)


def test_driving_past_a_wall_keeps_ranges_and_shifts_points(make_sensor: Any, make_wall: Any) -> None:
    sweep = Simulator(World([make_wall(10.0)]), make_sensor((0.0,))).sweep(straight(speed_y=20.0))
    azimuth, time = azimuth_and_time(sweep)
    np.testing.assert_allclose(sweep.range, 10.0 / np.cos(azimuth), rtol=1e-5)
    np.testing.assert_allclose(sweep.deskewed()[:, 1] - sweep.points[:, 1], 20.0 * time, atol=1e-4)


@pytest.mark.parametrize("yaw_rate", [1.0, -6.0])
def test_turning_beside_a_wall_bends_it(make_sensor: Any, make_wall: Any, yaw_rate: float) -> None:
    sweep = Simulator(World([make_wall(10.0)]), make_sensor((0.0,))).sweep(straight(yaw_rate=yaw_rate))
    azimuth, time = azimuth_and_time(sweep)
    np.testing.assert_allclose(sweep.range, 10.0 / np.cos(azimuth + yaw_rate * time), rtol=5e-5)
    assert np.ptp(sweep.points[:, 0]) > 0.5
    np.testing.assert_allclose(sweep.deskewed()[:, 0], 10.0, atol=1e-3)


def test_driving_and_turning_at_utm_coordinates(make_sensor: Any, make_wall: Any) -> None:
    origin = np.array([500_000.3, 5_000_000.7, 100.1])
    shift = np.eye(4)
    shift[:3, 3] = origin
    path = straight(speed_x=10.0, speed_y=-5.0, yaw_rate=2.0)
    sensor = make_sensor((-10.0, 0.0, 10.0))
    here = Simulator(World([make_wall(15.0)]), sensor).sweep(path)
    there = Simulator(World([make_wall(15.0)], origin), sensor).sweep(path.moved(shift))
    np.testing.assert_array_equal(here.beam, there.beam)
    np.testing.assert_allclose(here.range, there.range, rtol=1e-6)
    np.testing.assert_allclose(there.deskewed()[:, 0], 15.0, atol=1e-3)
    np.testing.assert_allclose(there.world_points()[:, 0], origin[0] + 15.0, atol=1e-3)


def test_a_sweep_can_start_within_the_trajectory(make_sensor: Any, make_wall: Any) -> None:
    path = straight(speed_x=20.0, yaw_rate=0.5)
    sweep = Simulator(World([make_wall(60.0)]), make_sensor((0.0,))).sweep(path, start=100.37)
    assert sweep.timestamp == 100.37
    np.testing.assert_allclose(sweep.pose, path.at(100.37))
    assert sweep.beam_time[0] == pytest.approx(100.37)
    assert sweep.beam_time[-1] == pytest.approx(100.37 + 0.1, abs=1e-3)
    np.testing.assert_allclose(sweep.world_points()[:, 0], 60.0, atol=1e-3)


def test_deskewed_beams_run_through_their_deskewed_points(make_sensor: Any, make_wall: Any) -> None:
    sweep = Simulator(World([make_wall(15.0)]), make_sensor()).sweep(straight(8.0, 3.0, 2.0))
    origin, direction = sweep.deskewed_beams()
    reached = origin[sweep.beam] + sweep.range[:, None] * direction[sweep.beam]
    np.testing.assert_allclose(reached, sweep.deskewed(), atol=1e-4)
    assert np.ptp(origin[:, 0]) == pytest.approx(0.8, rel=0.01)


@pytest.mark.parametrize("start", [99.5, 100.95, 101.0])
def test_a_trajectory_must_cover_the_sweep(make_sensor: Any, make_wall: Any, start: float) -> None:
    with pytest.raises(ResweepError, match=r"trajectory covers 100\.000000 to 101\.000000 s, the sweep needs"):
        Simulator(World([make_wall()]), make_sensor()).sweep(straight(1.0), start=start)


def test_a_run_has_a_sweep_for_every_period_covered(make_sensor: Any, make_wall: Any) -> None:
    sim = Simulator(World([make_wall(40.0)]), make_sensor((0.0,)), seed=2)
    path = straight(speed_x=10.0)
    drive = sim.run(path)
    assert len(drive) == 10
    assert [len(sim.run(straight(1.0, seconds=s))) for s in (0.1, 0.25, 0.31)] == [1, 2, 3]
    np.testing.assert_allclose(drive.times, 100.0 + 0.1 * np.arange(10))
    for index, sweep in enumerate(drive):
        np.testing.assert_allclose(sweep.pose, drive.poses[index])
        assert sweep.timestamp == drive.times[index]
        np.testing.assert_allclose(sweep.world_points()[:, 0], 40.0, atol=1e-3)
    assert drive.meta["seed"] == 2
    assert drive.sensor_name == "plain"
    assert len(sim.run(path, sweeps=3)) == 3


def test_a_run_numbers_its_sweeps(make_sensor: Any, make_wall: Any) -> None:
    sim = Simulator(World([make_wall()]), make_sensor(receiver__range_noise_sigma_m=0.02), seed=2)
    path = straight()
    drive = sim.run(path)
    np.testing.assert_array_equal(drive[4].range, sim.sweep(path, start=drive.times[4], index=4).range)
    assert not np.array_equal(drive[4].range, drive[5].range)


@pytest.mark.parametrize(("seconds", "sweeps"), [(0.05, None), (0.5, 6)])
def test_a_run_longer_than_its_trajectory_is_refused(
    make_sensor: Any, make_wall: Any, seconds: float, sweeps: int | None
) -> None:
    with pytest.raises(ResweepError, match=r"the trajectory lasts .* give a longer one"):
        Simulator(World([make_wall()]), make_sensor()).run(straight(seconds=seconds), sweeps=sweeps)


def test_a_run_computes_only_what_is_read(make_sensor: Any, make_wall: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(simulator, "fire", lambda sensor, index: asked.append(index) or fire(sensor, index))
    drive = Simulator(World([make_wall()]), make_sensor()).run(straight())
    part = drive[2:8:3]
    asked.clear()
    assert len(part) == 2
    assert asked == []
    assert part[1].timestamp == pytest.approx(100.5)
    assert asked == [5]


def test_a_run_over_poses_stands_at_each(make_sensor: Any, make_wall: Any) -> None:
    poses = np.stack([from_xyz_rpy(x=float(x)) for x in range(4)])
    drive = Simulator(World([make_wall(20.0)]), make_sensor((0.0,))).run(poses)
    assert len(drive) == 4
    for x, sweep in enumerate(drive):
        assert sweep.trajectory is None
        assert sweep.range.min() == pytest.approx(20.0 - x)


def test_a_run_may_begin_its_sweeps_at_given_times(make_sensor: Any, make_wall: Any) -> None:
    sim, path = Simulator(World([make_wall(30.0)]), make_sensor((0.0,))), straight(speed_x=5.0)
    drive = sim.run(path, starts=[100.2, 100.55, 100.7], sweeps=2)
    assert drive.times.tolist() == [100.2, 100.55]
    np.testing.assert_allclose(drive.poses[:, 0, 3], [1.0, 2.75])
    np.testing.assert_array_equal(drive[1].range, sim.sweep(path, start=100.55, index=1).range)
    stationary = sim.run(path.poses[:2], starts=[3.0, 7.0])
    assert (stationary.times.tolist(), stationary[1].timestamp) == ([3.0, 7.0], 7.0)
    with pytest.raises(ResweepError, match="starts: 3 for 2 poses"):
        sim.run(path.poses[:2], starts=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("turn_between_knots", [0.004, 0.3])
def test_many_poses_at_once_are_those_of_each(turn_between_knots: float) -> None:
    """Pulses are placed many at once where the sensor turns little between knots, else one by one."""
    times = np.linspace(0.0, 0.1, 11)
    rate = turn_between_knots / 0.01
    poses = np.stack([from_xyz_rpy(9 * t, 0.5 * t, 2 + t * t, 0.3 * rate * t, 0.1 * t, rate * t) for t in times])
    sim = Simulator(World([ground_plane((9.0, 9.0))]), "velodyne-vlp-16")
    sim = sim.with_sensor(sim.sensor.with_(**{"beam.rays": "single", "pointing.encoder_step_rad": 0.0}))
    motion, firing = Trajectory(times, poses), fire(sim.sensor)
    pulses = Pulses.from_firing(firing)
    origins, directions = sim.rays(motion)
    at = motion.at(firing.time)[pulses.order]
    np.testing.assert_array_equal(origins, at[:, :3, 3].astype(np.float32))
    turned = np.einsum("nij,nj->ni", at[:, :3, :3], firing.direction[pulses.order])
    np.testing.assert_allclose(directions, turned, atol=3e-7)
