"""What holds for every sensor and every world: motion, seeds, threads, beams without return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trimesh

from resweep.errors import ResweepError
from resweep.pose import from_xyz_rpy
from resweep.sensors import fire, load_sensor, sensor_names
from resweep.simulate import Simulator
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Instances, Mesh, World

RETURN_COLUMNS = ("beam", "range", "intensity", "return_index", "label", "instance")


def place(origin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> World:
    """Rough ground, a tilted box around everything and copies of a ball."""
    rng = np.random.default_rng(1)
    box = trimesh.creation.box((40, 60, 30))
    room = Mesh(box.vertices, box.faces, label=1, reflectance=0.4).moved(from_xyz_rpy(1, 2, 3, 0.1, 0.2, 0.3))
    ball = trimesh.creation.icosphere(subdivisions=3)
    transforms = np.zeros((30, 3, 4))
    transforms[:, :, :3] = np.eye(3) * rng.uniform(0.3, 2.0, (30, 1, 1))
    transforms[:, :, 3] = rng.uniform(-12, 12, (30, 3))
    mesh = Mesh(ball.vertices, ball.faces, label=2, reflectance=0.8)
    return World([room, Instances(mesh, transforms, instance=np.arange(1, 31))], origin)


def tobytes(sweep: Sweep) -> bytes:
    return b"".join(getattr(sweep, name).tobytes() for name in (*RETURN_COLUMNS, "beam_status"))


@pytest.fixture(scope="module")
def noisy() -> Any:
    return load_sensor("velodyne-vlp-16").with_(
        **{"beam.rays": "random", "beam.n_rays": 7, "receiver.mode": "multiple", "receiver.intensity_noise_sigma": 0.01}
    )


@pytest.mark.parametrize("packet", [1, 8, 16])
def test_same_seed_gives_same_bytes_on_any_number_of_threads(noisy: Any, packet: int) -> None:
    world = place()
    one, two, three = (
        tobytes(Simulator(world, noisy, seed=7, threads=threads, packet=packet).sweep(np.eye(4), index=2))
        for threads in (1, 2, 3)
    )
    assert len(one) > 100_000
    assert one == two == three


def test_packets_agree_but_for_rounding(noisy: Any) -> None:
    sweeps = [Simulator(place(), noisy, seed=7, packet=packet).sweep(np.eye(4)) for packet in (1, 8, 16)]
    for sweep in sweeps[1:]:
        assert len(sweep) == pytest.approx(len(sweeps[0]), rel=1e-3)
        common, a, b = np.intersect1d(
            sweeps[0].beam * 16 + sweeps[0].return_index, sweep.beam * 16 + sweep.return_index, return_indices=True
        )
        close = np.abs(sweeps[0].range[a] - sweep.range[b]) < 0.0021  # one step of the sensor's rounding
        assert len(common) > 10_000
        assert close.mean() > 0.999


def test_another_seed_or_sweep_gives_other_noise(noisy: Any) -> None:
    world = place()
    base = Simulator(world, noisy, seed=7)
    assert tobytes(base.sweep(np.eye(4))) == tobytes(base.sweep(np.eye(4)))
    assert tobytes(base.sweep(np.eye(4))) != tobytes(base.sweep(np.eye(4), index=1))
    assert tobytes(base.sweep(np.eye(4))) != tobytes(Simulator(world, noisy, seed=8).sweep(np.eye(4)))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7"])
def test_a_seed_is_a_whole_number(make_sensor: Any, seed: Any) -> None:
    with pytest.raises(ResweepError, match="seed: expected a whole number"):
        Simulator(place(), make_sensor(), seed=seed)


def assert_same_ranges(one: Sweep, other: Sweep, atol: float) -> None:
    common, a, b = np.intersect1d(one.beam, other.beam, return_indices=True)
    assert len(common) > 1000
    assert len(common) >= 0.999 * max(len(one), len(other))
    # A silhouette may fall either side of a beam by rounding: then everything about it differs.
    same = (one.label[a] == other.label[b]) & (one.instance[a] == other.instance[b])
    assert same.mean() > 0.998
    np.testing.assert_allclose(one.range[a][same], other.range[b][same], atol=atol)
    np.testing.assert_allclose(one.intensity[a][same], other.intensity[b][same], atol=1e-3)


def test_a_moved_world_seen_from_a_moved_pose_measures_the_same(make_sensor: Any) -> None:
    sensor = make_sensor(tuple(np.linspace(-30, 30, 21)))
    pose = from_xyz_rpy(1, -1, 0.5, yaw=0.4)
    motion = from_xyz_rpy(30, -50, 7, 0.2, -0.3, 2.1)
    still = Simulator(place(), sensor).sweep(pose)
    moved = Simulator(place().moved(motion), sensor).sweep(motion @ pose)
    assert_same_ranges(still, moved, atol=1e-3)


def test_utm_coordinates_cost_nothing(make_sensor: Any) -> None:
    sensor = make_sensor(tuple(np.linspace(-30, 30, 21)))
    origin = (500_123.456, 5_000_234.567, 345.678)
    pose = from_xyz_rpy(1, -1, 0.5, yaw=0.4)
    far_pose = pose.copy()
    far_pose[:3, 3] += origin
    here, there = Simulator(place(), sensor).sweep(pose), Simulator(place(origin), sensor).sweep(far_pose)
    assert_same_ranges(here, there, atol=1e-5)
    np.testing.assert_allclose(there.deskewed(), there.points, atol=1e-6)


@pytest.mark.parametrize("name", sensor_names())
def test_every_catalog_sensor_measures_a_room(name: str) -> None:
    room = trimesh.creation.box((20, 20, 20))
    sensor = load_sensor(name)
    if sensor.pattern.kind == "raster":  # a full scan has millions of pulses
        sensor = sensor.with_(**{"pattern.azimuth_resolution_deg": 4.0})
    sweep = Simulator(World.from_mesh(room, label=9), sensor, seed=1).sweep(
        from_xyz_rpy(0.1, 0.2, 0.3, 0.01, 0.02, 0.03)
    )
    assert sweep.n_beams == len(fire(sensor, 0))
    assert len(np.unique(sweep.beam)) == sweep.n_beams  # a room has a wall for every beam
    assert set(sweep.label) == {9}
    assert sweep.sensor == name
    points = np.abs(sweep.world_points())
    worst = 6 * (sensor.receiver.range_noise_sigma_m + 17.4 * sensor.receiver.range_noise_per_m) + 0.3
    np.testing.assert_allclose(points.max(axis=1), 10.0, atol=worst)
    assert np.abs(np.median(points.max(axis=1)) - 10.0) < 0.02


def test_beams_without_return_are_kept(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor()
    sweep = Simulator(World([make_wall(10.0, y=(-2, 2), z=(-2, 2))]), sensor).sweep(np.eye(4))
    firing = fire(sensor)
    assert sweep.n_beams == len(firing) > len(sweep) > 0
    np.testing.assert_array_equal(sweep.beam_direction, firing.direction)
    np.testing.assert_array_equal(sweep.beam_ring, firing.ring)
    np.testing.assert_array_equal(sweep.beam_column, firing.column)
    without = np.setdiff1d(np.arange(sweep.n_beams), sweep.beam)
    assert set(sweep.beam_status[without]) == {BeamStatus.NOTHING_HIT}
    assert (np.diff(sweep.beam) >= 0).all()


def test_worlds_added_measure_the_nearer_of_both(make_sensor: Any, make_wall: Any) -> None:
    near = World([make_wall(5.0, y=(0.01, 20.0), label=1)])
    far = World([make_wall(3.0, label=2)], origin=(7.0, 0.0, 0.0))
    sweep = Simulator(near + far, make_sensor((0.0,))).sweep(np.eye(4))
    azimuth = np.degrees(np.arctan2(sweep.points[:, 1], sweep.points[:, 0]))
    in_front = (azimuth > 1) & (azimuth < 75)
    np.testing.assert_allclose(sweep.points[in_front, 0], 5.0, atol=1e-3)
    np.testing.assert_allclose(sweep.points[azimuth < -1, 0], 10.0, atol=1e-3)
    assert set(sweep.label[in_front]) == {1}
    assert set(sweep.label[azimuth < -1]) == {2}


def test_another_sensor_shares_the_scene(make_sensor: Any) -> None:
    simulator = Simulator(place(), make_sensor(), seed=4, threads=1)
    other = simulator.with_sensor("velodyne-vlp-16")
    assert other.scene is simulator.scene
    assert (other.seed, other.threads, other.sensor.name) == (4, 1, "velodyne-vlp-16")
    direct = Simulator(place(), "velodyne-vlp-16", seed=4).sweep(np.eye(4))
    assert tobytes(other.sweep(np.eye(4))) == tobytes(direct)


def test_another_seed_is_a_copy(noisy: Any) -> None:
    simulator = Simulator(place(), noisy, seed=4)
    other = simulator.with_seed(5)
    assert (simulator.seed, other.seed, other.scene is simulator.scene) == (4, 5, True)
    assert tobytes(other.sweep(np.eye(4))) == tobytes(Simulator(place(), noisy, seed=5).sweep(np.eye(4)))
    assert tobytes(other.sweep(np.eye(4))) != tobytes(simulator.sweep(np.eye(4)))
    assert tobytes(simulator.with_threads(2).sweep(np.eye(4))) == tobytes(simulator.sweep(np.eye(4)))
    with pytest.raises(ResweepError, match="seed: expected a whole number"):
        simulator.with_seed(-1)


def test_a_pose_that_is_not_rigid_is_refused(make_sensor: Any) -> None:
    with pytest.raises(ResweepError, match="not a rigid motion"):
        Simulator(place(), make_sensor()).sweep(np.diag([2.0, 2, 2, 1]))
    with pytest.raises(ResweepError, match="4x4"):
        Simulator(place(), make_sensor()).sweep(np.eye(3))
    with pytest.raises(ResweepError, match="packet"):
        Simulator(place(), make_sensor(), packet=4)
