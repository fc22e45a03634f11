"""The native kernels against their NumPy references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from resweep import _core
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.sensors import fire, load_sensor
from resweep.simulate import Simulator
from resweep.simulate.scene import make_native_plan, make_native_scene
from resweep.worlds import Mesh, World
from tests.reference.beam import Events, measure, rays, receive

MODES = ["first", "last", "strongest", "strongest-and-last", "multiple"]


def random_events(rng: np.random.Generator) -> Events:
    """Events of a pulse: in clumps, with gaps about as long as a signal cutoff, some out of range."""
    count = int(rng.choice([0, 1, 2, 3, 9, 9, 9, 20, 50]))
    centres = rng.uniform(0, 30, 3)
    return Events(
        range=(rng.choice(centres, count) + rng.normal(scale=rng.choice([0.05, 0.5, 2.0]), size=count)).astype("f4"),
        share=(rng.dirichlet(np.ones(count)) if count else np.zeros(0)).astype("f4"),
        reflected=rng.uniform(0, 1, count).astype("f4"),
        label=rng.integers(0, 3, count).astype("i4"),
        instance=rng.integers(0, 2, count).astype("i4"),
    )


@pytest.mark.parametrize("by", ["ray", "echo"])
@pytest.mark.parametrize("mode", MODES)
def test_receiver(make_sensor: Any, mode: str, by: str) -> None:
    rng = np.random.default_rng([MODES.index(mode), by == "echo"])
    statuses = set()
    for case in range(400):
        sensor = make_sensor(
            receiver__mode=mode,
            receiver__strongest_by=by,
            receiver__signal_cutoff_m=float(rng.choice([0.1, 1.0, 3.0])),
            receiver__detection_threshold=float(rng.choice([0.0, 0.05, 0.3])),
            receiver__intensity_falloff=str(rng.choice(["none", "range-squared"])),
            range_min_m=2.0,
            range_max_m=25.0,
            **({"receiver__max_returns": int(rng.integers(1, 5))} if mode == "multiple" else {}),
        )
        events = random_events(rng)
        light = np.stack([events.range, events.share, events.reflected], axis=1)
        status, echoes = _core.receive(
            make_native_plan(sensor), np.ascontiguousarray(light), events.label, events.instance
        )
        expected_status, expected = receive(sensor, events)
        assert status == expected_status, case
        assert len(echoes) == len(expected), case
        for (distance, intensity, label, instance), echo in zip(echoes, expected, strict=True):
            assert distance == pytest.approx(echo.range, abs=1e-5), case
            assert intensity == pytest.approx(echo.intensity, rel=1e-5, abs=1e-7), case
            assert (label, instance) == (echo.label, echo.instance), case
        statuses.add(status)
    assert statuses == {0, 1, 2, 3}


SENSORS: dict[str, dict[str, Any]] = {
    "single": {},
    "nine circular": {"beam__rays": "nine"},
    "nine elliptical": {"beam__rays": "nine", "beam__spot": "elliptical", "beam__divergence_v_rad": 0.01},
    "nine rectangular": {"beam__rays": "nine", "beam__spot": "rectangular", "beam__divergence_h_rad": 0.02},
    "random uniform": {"beam__rays": "random", "beam__n_rays": 5},
    "random gaussian": {"beam__rays": "random", "beam__n_rays": 5, "beam__profile": "gaussian"},
    "random rectangle": {"beam__rays": "random", "beam__n_rays": 5, "beam__spot": "rectangular"},
    "encoder": {"beam__rays": "nine", "pointing__encoder_step_rad": 0.02},
    "pointing": {"pointing__sigma_h_rad": 0.01, "pointing__sigma_v_rad": 0.003, "pointing__encoder_step_rad": 0.001},
}


def motions() -> dict[str, Trajectory]:
    rng = np.random.default_rng(4)
    poses = [from_xyz_rpy(*rng.normal(size=3), *rng.normal(scale=0.6, size=3)) for _ in range(5)]
    half_turn = [from_xyz_rpy(1, 2, 3), from_xyz_rpy(2, 2, 3, yaw=np.pi)]
    return {
        "still": Trajectory([3.0], [poses[0]]),
        "one knot pair": Trajectory([3.0, 3.2], poses[:2]),
        "many knots": Trajectory([2.9, 3.01, 3.02, 3.06, 3.3], poses),
        "half a turn": Trajectory([3.0, 3.2], half_turn),
    }


def assert_same_rays(kernel: tuple[np.ndarray, np.ndarray], origins: np.ndarray, directions: np.ndarray) -> None:
    """Each ray (b, k, 3) of the reference is among the kernel's, which come in any order, and each of those in turn."""
    repeated = np.repeat(origins, directions.shape[1], axis=0)
    expected = np.c_[repeated, directions.reshape(-1, 3)]
    traced = np.c_[kernel]
    assert traced.shape == expected.shape
    some = slice(None, None, max(1, len(expected) // 5000))
    for rays_of_one, rays_of_other in ((expected, traced), (traced, expected)):
        distance, _ = cKDTree(rays_of_one).query(rays_of_other[some], p=np.inf)
        assert distance.max() < 1e-6


@pytest.mark.parametrize("motion", list(motions()))
@pytest.mark.parametrize("kind", list(SENSORS))
def test_rays(make_sensor: Any, make_wall: Any, kind: str, motion: str) -> None:
    sensor = make_sensor((-90.0, -20.0, 0.0, 7.0, 90.0), step_deg=7.0, **SENSORS[kind])
    path = motions()[motion]
    given = path if len(path) > 1 else path.poses[0]
    kernel = Simulator(World([make_wall()]), sensor, seed=99).rays(given, start=3.0, index=6)
    assert_same_rays(kernel, *rays(sensor, fire(sensor, 6), path, 3.0, seed=99, sweep=6))


@pytest.mark.parametrize(
    "name", ["velodyne-hdl-64e", "velodyne-hdl-64e-s2", "velodyne-vlp-16", "ouster-os0-32", "livox-mid-360"]
)
def test_rays_of_real_sensors(name: str, make_wall: Any) -> None:
    sensor = load_sensor(name).with_(**{"beam.rays": "single"})
    pose = from_xyz_rpy(1.0, 2.0, 3.0, yaw=0.3, pitch=0.1)
    kernel = Simulator(World([make_wall()]), sensor, seed=3).rays(pose, index=2)
    assert_same_rays(kernel, *rays(sensor, fire(sensor, 2), Trajectory([0.0], [pose]), 0.0, seed=3, sweep=2))


def test_random_rays_differ_between_sweeps_and_seeds(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor(beam__rays="random", beam__n_rays=3)
    world = World([make_wall()])
    base = Simulator(world, sensor, seed=1).rays(np.eye(4))[1]
    assert not np.array_equal(base, Simulator(world, sensor, seed=2).rays(np.eye(4))[1])
    assert not np.array_equal(base, Simulator(world, sensor, seed=1).rays(np.eye(4), index=1)[1])


def test_noise_of_a_sweep(make_sensor: Any, make_wall: Any) -> None:
    noisy = make_sensor(
        receiver__range_noise_sigma_m=0.02,
        receiver__range_noise_per_m=0.001,
        receiver__range_quantisation_m=0.002,
        receiver__intensity_noise_sigma=0.05,
    )
    simulator = Simulator(World([make_wall(reflectance=0.1)]), noisy, seed=5)
    clean = simulator.with_sensor(make_sensor()).sweep(np.eye(4), index=3)
    sweep = simulator.sweep(np.eye(4), index=3)
    np.testing.assert_array_equal(sweep.beam, clean.beam)
    expected = measure(noisy, clean.range.astype("f8"), clean.intensity, clean.beam, clean.return_index, 5, 3)
    # Two approximations of a normal number may fall on two sides of a rounding edge, rarely.
    off = np.abs(sweep.range - expected[0])
    assert (off < 1e-5).mean() > 0.995
    assert off.max() < 0.0021
    np.testing.assert_allclose(sweep.intensity, expected[1], atol=1e-6)


def brute_force(vertices: np.ndarray, faces: np.ndarray, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Ranges (n,) and faces (n,) of closest hits, every ray against every triangle (Möller and Trumbore 1997)."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    p = np.cross(directions[:, None], (c - a)[None])
    det = np.einsum("nfi,fi->nf", p, b - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = origins[:, None] - a[None]
        u = np.einsum("nfi,nfi->nf", s, p) / det
        q = np.cross(s, (b - a)[None])
        v = np.einsum("ni,nfi->nf", directions, q) / det
        t = np.einsum("fi,nfi->nf", c - a, q) / det
    t = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0), t, np.inf)
    return np.stack([t.min(axis=1), np.where(np.isfinite(t.min(axis=1)), t.argmin(axis=1), -1)])


def test_intersection_of_a_random_soup() -> None:
    rng = np.random.default_rng(8)
    corners = rng.uniform(-10, 10, (400, 1, 3)) + rng.normal(scale=1.5, size=(400, 3, 3))
    vertices = corners.reshape(-1, 3).astype(np.float32)
    faces = np.arange(1200).reshape(-1, 3)
    mesh = Mesh(
        vertices, faces, label=np.arange(400), reflectance=rng.uniform(0.1, 1, 400), instance=np.arange(400) * 2
    )
    scene = make_native_scene(World([mesh]))
    origins = rng.uniform(-12, 12, (2000, 3)).astype(np.float32)
    directions = rng.normal(size=(2000, 3))
    directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    hits = scene.intersect(origins, directions, 100.0)
    distance, face = brute_force(vertices.astype("f8"), faces, origins.astype("f8"), directions.astype("f8"))
    hit = np.isfinite(distance)
    assert 0.3 < hit.mean() < 0.99
    # A ray within rounding of an edge may see it either way: one in a thousand is allowed to differ.
    same = np.isfinite(hits["range"]) == hit
    same &= ~hit | (hits["label"] == face)
    assert same.mean() > 0.999
    both = same & hit
    np.testing.assert_allclose(hits["range"][both], distance[both], atol=1e-4, rtol=1e-5)
    corner = vertices[faces[face[both].astype(int)]].astype("f8")
    across = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    cosine = np.abs(np.einsum("ni,ni->n", across, directions[both])) / np.linalg.norm(across, axis=1)
    np.testing.assert_allclose(hits["cosine"][both], cosine, atol=2e-5)
    np.testing.assert_allclose(hits["reflected"][both], cosine * mesh.reflectance[face[both].astype(int)], atol=2e-5)
    np.testing.assert_array_equal(hits["instance"][both], 2 * face[both].astype(int))


def test_range_limit_of_the_intersection(make_wall: Any) -> None:
    scene = make_native_scene(World([make_wall(10.0)]))
    origins, ahead = np.zeros((1, 3), np.float32), np.array([[1, 0, 0]], np.float32)
    assert scene.intersect(origins, ahead, 10.5)["range"] == pytest.approx(10.0)
    assert np.isinf(scene.intersect(origins, ahead, 9.5)["range"]).all()
    assert np.isinf(scene.intersect(origins, -ahead, 100.0)["range"]).all()
