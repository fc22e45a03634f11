"""Measurements that can be worked out by hand: walls, spheres, light and reasons for no return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trimesh
from scipy import stats

from resweep.pose import from_xyz_rpy, transform
from resweep.sensors import Sensor, load_sensor
from resweep.simulate import Simulator
from resweep.simulate.scene import make_native_scene
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Instances, Material, Mesh, World

POSES = {
    "level": np.eye(4),
    "nearer": from_xyz_rpy(x=4.0),
    "turned": from_xyz_rpy(y=3.0, yaw=0.9),
    "tilted": from_xyz_rpy(-2.0, 1.0, 0.5, roll=0.3, pitch=-0.4, yaw=1.0),
}


def noiseless(sensor: Sensor) -> Sensor:
    """The sensor with one ray a pulse and without noise."""
    receiver = {"range_noise_sigma_m": 0.0, "range_noise_per_m": 0.0, "range_quantisation_m": 0.0}
    changes = {f"receiver.{name}": value for name, value in receiver.items()}
    return sensor.with_(pointing={}, **{"beam.rays": "single"}, **changes)


def wall_ranges(sweep: Sweep, x: float) -> np.ndarray:
    """Distance (b,) along every beam to the plane at ``x``; infinity where it points away."""
    ahead = sweep.beam_direction.astype("f8") @ sweep.pose[0, :3]
    with np.errstate(divide="ignore"):
        distance = (x - sweep.pose[0, 3]) / ahead
    return np.where(distance > 0, distance, np.inf)


@pytest.mark.parametrize("pose", list(POSES))
@pytest.mark.parametrize("name", ["velodyne-vlp-16", "velodyne-hdl-64e", "sick-lms-291-s05", "livox-avia"])
def test_a_wall_at_ten_metres_reads_ten_metres(make_wall: Any, name: str, pose: str) -> None:
    sensor = noiseless(load_sensor(name))
    sweep = Simulator(World([make_wall(10.0)]), sensor).sweep(POSES[pose])
    expected = wall_ranges(sweep, 10.0)
    limits = (sensor.range_min_m, sensor.range_max_m)
    assert ((expected > limits[0]) & (expected < limits[1])).any()
    np.testing.assert_allclose(sweep.range, expected[sweep.beam], rtol=2e-5)
    np.testing.assert_allclose(sweep.world_points()[:, 0], 10.0, atol=2e-3)
    clear = np.abs(expected - limits[1]) > 0.01  # at the very limit rounding decides
    returned = np.isin(np.arange(sweep.n_beams), sweep.beam)
    np.testing.assert_array_equal(returned[clear], ((expected >= limits[0]) & (expected <= limits[1]))[clear])


@pytest.mark.parametrize("tilt", [0.0, 0.5, 1.2])
def test_intensity_is_reflectance_times_cosine(make_sensor: Any, make_wall: Any, tilt: float) -> None:
    motion = from_xyz_rpy(pitch=tilt)
    wall = make_wall(10.0, reflectance=0.8).moved(motion)
    sweep = Simulator(World([wall]), make_sensor((-30.0, 0.0, 20.0))).sweep(np.eye(4))
    cosine = np.abs(sweep.beam_direction[sweep.beam].astype("f8") @ motion[:3, 0])
    assert len(sweep) > 100
    np.testing.assert_allclose(sweep.intensity, 0.8 * cosine, atol=1e-5)


def test_a_sphere(make_sensor: Any) -> None:
    ball = trimesh.creation.icosphere(subdivisions=6, radius=3.0)
    # Turned, so that no beam runs exactly through an edge, where a fast test may see either side.
    placed = transform(from_xyz_rpy(8.0, roll=0.3, pitch=0.7, yaw=0.2), ball.vertices)
    world = World([Mesh(placed, ball.faces, reflectance=1.0)])
    sweep = Simulator(world, make_sensor(tuple(np.linspace(-15, 15, 31)), step_deg=0.5)).sweep(np.eye(4))
    d = sweep.beam_direction[sweep.beam].astype("f8")
    along = 8.0 * d[:, 0]
    miss = np.sqrt(64.0 - along**2)  # distance of the beam from the centre
    inside = miss < 2.95
    expected = along - np.sqrt(np.maximum(9.0 - miss**2, 0))
    cosine = np.sqrt(np.maximum(9.0 - miss**2, 0)) / 3.0
    # The facets lie inside the sphere by at most edge²/8R, longer along a slanting beam.
    depth = np.max(ball.edges_unique_length) ** 2 / (8 * 3.0)
    gap = (sweep.range - expected)[inside] * cosine[inside]
    assert inside.sum() > 500
    assert gap.min() > -1e-5
    assert gap.max() < 1.5 * depth
    np.testing.assert_allclose(sweep.intensity[inside], cosine[inside], atol=0.03)


def test_a_cylinder_from_inside(make_sensor: Any) -> None:
    n = 20_000
    angle = (np.arange(n) + 0.3) * (2 * np.pi / n)
    circle = np.stack([5 * np.cos(angle), 5 * np.sin(angle)], axis=1)
    vertices = np.r_[np.c_[circle, np.full(n, -50.0)], np.c_[circle, np.full(n, 50.0)]]
    i, j = np.arange(n), np.roll(np.arange(n), -1)
    pipe = Mesh(vertices, np.r_[np.c_[i, j, i + n], np.c_[j, j + n, i + n]], reflectance=0.5)
    sweep = Simulator(World([pipe]), make_sensor((-40.0, 0.0, 60.0))).sweep(np.eye(4))
    level = np.hypot(*sweep.beam_direction[sweep.beam].astype("f8")[:, :2].T)
    assert len(sweep) == sweep.n_beams
    np.testing.assert_allclose(sweep.range, 5.0 / level, rtol=1e-5)
    np.testing.assert_allclose(sweep.intensity, 0.5 * level, atol=1e-3)


def test_a_closed_surface_lets_no_light_out() -> None:
    ball = trimesh.creation.icosphere(subdivisions=5, radius=10.0)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(200_000, 3))
    directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    corners = ball.vertices[ball.faces]
    edges = (corners + np.roll(corners, 1, axis=1)).reshape(-1, 3) / 2
    edges = (edges / np.linalg.norm(edges, axis=1, keepdims=True)).astype(np.float32)
    scene = make_native_scene(World([Mesh(ball.vertices, ball.faces)]))
    for aimed in (directions, edges):
        assert np.isfinite(scene.intersect(np.zeros_like(aimed), aimed, 100.0)["range"]).all()


@pytest.mark.parametrize("copies", [40, 70_000])
def test_copies_measure_like_the_same_mesh_baked(make_sensor: Any, copies: int) -> None:
    # Above 65,536 copies the tracer stores them in an array; the further copies lie out of range.
    rng = np.random.default_rng(3)
    shape = trimesh.creation.icosphere(subdivisions=2)
    mesh = Mesh(shape.vertices, shape.faces, label=np.arange(len(shape.faces)), reflectance=0.9, instance=5)
    transforms = np.zeros((copies, 3, 4))
    transforms[:, :, :3] = np.eye(3)
    transforms[:, 2, 3] = 5000.0 + np.arange(copies)
    transforms[:40, :, :3] = np.eye(3) * rng.uniform(0.3, 3.0, (40, 1, 3)) + rng.normal(scale=0.3, size=(40, 3, 3))
    angle = rng.uniform(-np.pi, np.pi, 40)
    transforms[:40, :, 3] = np.c_[20 * np.cos(angle), 20 * np.sin(angle), rng.uniform(-3, 3, 40)]
    label, instance = np.full(copies, -1), np.zeros(copies, int)
    label[:20], instance[:30] = 1000 + np.arange(20), 2000 + np.arange(30)
    baked = []
    for copy in range(40):
        part = mesh.moved(transforms[copy])
        own_label = part.label if label[copy] < 0 else label[copy]
        own_id = instance[copy] or part.instance
        baked.append(Mesh(part.vertices, part.faces, own_label, part.reflectance, instance=own_id))
    sensor = make_sensor(tuple(np.linspace(-10, 10, 11)))
    one = Simulator(World([Instances(mesh, transforms, instance, label)]), sensor).sweep(np.eye(4))
    other = Simulator(World(baked), sensor).sweep(np.eye(4))
    assert len(one) > 500
    same = np.intersect1d(one.beam, other.beam)
    assert len(same) >= 0.998 * max(len(one), len(other))  # silhouettes may differ by rounding
    a, b = np.searchsorted(one.beam, same), np.searchsorted(other.beam, same)
    agree = (one.label[a] == other.label[b]) & (one.instance[a] == other.instance[b])
    assert agree.mean() > 0.995
    a, b = a[agree], b[agree]
    np.testing.assert_allclose(one.range[a], other.range[b], atol=1e-3)
    np.testing.assert_allclose(one.intensity[a], other.intensity[b], atol=1e-4)
    assert (one.label[a] >= 1000).any()
    assert (one.label[a] < 1000).any()
    assert (one.instance[a] == 5).any()
    assert (one.instance[a] >= 2000).any()


def test_label_reflectance_and_instance_are_those_of_the_face(make_sensor: Any, make_wall: Any) -> None:
    left = make_wall(10.0, y=(0.001, 500.0), label=1, reflectance=0.2, instance=11)
    right = make_wall(10.0, y=(-500.0, 0.001), label=2, reflectance=0.6, instance=12)
    sweep = Simulator(World([left, right]), make_sensor()).sweep(np.eye(4))
    is_left = sweep.points[:, 1] > 0.002
    np.testing.assert_array_equal(sweep.label, np.where(is_left, 1, 2))
    np.testing.assert_array_equal(sweep.instance, np.where(is_left, 11, 12))
    cosine = sweep.beam_direction[sweep.beam, 0]
    np.testing.assert_allclose(sweep.intensity, np.where(is_left, 0.2, 0.6) * cosine, atol=1e-6)


def test_materials_add_retro_and_specular_light(make_sensor: Any, make_wall: Any) -> None:
    materials = (Material("sign", retro=2.0), Material("gloss", specular=0.5, specular_exponent=8.0))
    for index in (0, 1):
        wall = make_wall(10.0, reflectance=0.1, material=index, materials=materials)
        sweep = Simulator(World([wall]), make_sensor()).sweep(np.eye(4))
        cosine = sweep.beam_direction[sweep.beam, 0].astype("f8")
        lobe = np.maximum(2 * cosine**2 - 1, 0) ** 8
        extra = 2.0 if index == 0 else 0.5 * lobe
        assert index == 0 or (lobe == 0).any()
        np.testing.assert_allclose(sweep.intensity, 0.1 * cosine + extra, atol=1e-5)


def test_light_falls_with_the_square_of_range(make_sensor: Any, make_wall: Any) -> None:
    falling = make_sensor(receiver__intensity_falloff="range-squared", receiver__falloff_reference_m=20.0)
    simulator = Simulator(World([make_wall(10.0)]), make_sensor())
    plain, sweep = simulator.sweep(np.eye(4)), simulator.with_sensor(falling).sweep(np.eye(4))
    np.testing.assert_allclose(sweep.intensity, plain.intensity * (20.0 / plain.range) ** 2, rtol=1e-5)


def test_every_beam_says_why_it_has_no_return(make_sensor: Any, make_wall: Any) -> None:
    # A bright wall ahead, a dark one on the left, one too far on the right, one too near behind.
    left = make_wall(10.0, y=(-3.0, 3.0), reflectance=0.05).moved(from_xyz_rpy(yaw=np.pi / 2))
    far = make_wall(40.0, y=(-3.0, 3.0)).moved(from_xyz_rpy(yaw=-np.pi / 2))
    near = make_wall(0.5, y=(-0.2, 0.2)).moved(from_xyz_rpy(yaw=np.pi))
    world = World([make_wall(10.0, y=(-3.0, 3.0)), left, far, near])
    sensor = make_sensor((0.0,), range_min_m=1.0, range_max_m=30.0, receiver__detection_threshold=0.1)
    sweep = Simulator(world, sensor).sweep(np.eye(4))
    azimuth = np.degrees(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0])).round()

    def status(degrees: float) -> BeamStatus:
        return BeamStatus(sweep.beam_status[np.flatnonzero(azimuth == degrees)[0]])

    assert status(0) is BeamStatus.RETURN
    assert status(90) is BeamStatus.BELOW_THRESHOLD
    assert status(-90) is BeamStatus.OUT_OF_RANGE
    assert status(178) is BeamStatus.OUT_OF_RANGE
    assert status(45) is BeamStatus.NOTHING_HIT
    assert set(sweep.beam_status[sweep.beam]) == {BeamStatus.RETURN}
    assert (sweep.beam_status == BeamStatus.RETURN).sum() == len(np.unique(sweep.beam))


def test_the_detection_threshold_cuts_at_its_value(make_sensor: Any, make_wall: Any) -> None:
    simulator = Simulator(World([make_wall(10.0, reflectance=0.5)]), make_sensor())
    every = simulator.sweep(np.eye(4))
    some = simulator.with_sensor(make_sensor(receiver__detection_threshold=0.3)).sweep(np.eye(4))
    np.testing.assert_array_equal(some.beam, every.beam[every.intensity >= np.float32(0.3)])
    assert 0 < len(some) < len(every)


@pytest.mark.parametrize(("sigma", "per_m"), [(0.02, 0.0), (0.005, 0.002)])
def test_range_noise_has_its_sigma_at_every_range(make_sensor: Any, make_wall: Any, sigma: float, per_m: float) -> None:
    noise = {"receiver__range_noise_sigma_m": sigma, "receiver__range_noise_per_m": per_m}
    clean = make_sensor(tuple(np.linspace(-20, 20, 41)), step_deg=0.5)
    noisy = make_sensor(tuple(np.linspace(-20, 20, 41)), step_deg=0.5, **noise)
    for distance in (5.0, 40.0):
        simulator = Simulator(World([make_wall(distance)]), clean, seed=12)
        true = simulator.sweep(np.eye(4)).range
        error = simulator.with_sensor(noisy).sweep(np.eye(4)).range.astype("f8") - true
        score = error / (sigma + per_m * true)
        n = len(score)
        assert n > 5000
        # Four tests on two walls and two parameters: 16 in all.
        level = 0.001 / 16
        assert stats.norm.sf(abs(score.mean()) * np.sqrt(n)) * 2 > level
        chi2 = (score**2).sum()
        assert 2 * min(stats.chi2.sf(chi2, n), stats.chi2.cdf(chi2, n)) > level
        assert stats.kstest(score, "norm").pvalue > level
        assert stats.pearsonr(score[1:], score[:-1]).pvalue > level


def test_ranges_are_whole_multiples_of_the_quantum(make_sensor: Any, make_wall: Any) -> None:
    quantum = 0.004
    sensor = make_sensor(receiver__range_quantisation_m=quantum, receiver__range_noise_sigma_m=0.02)
    measured = Simulator(World([make_wall(10.0)]), sensor, seed=1).sweep(np.eye(4)).range
    steps = np.rint(measured.astype("f8") / quantum)
    np.testing.assert_array_equal(measured, (steps * quantum).astype(np.float32))
    assert len(np.unique(measured)) > 100
