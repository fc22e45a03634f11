"""Boxes of simulated objects as training labels: the object's own size and a stated margin, which hold its returns."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import BOX_MARGIN_M
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario import Asset, builtin_bank
from resweep.scenario.box_fit import NEAR_M, fit_splats
from resweep.scenario.placing import make_actor

SIZE = (4.52, 1.67, 1.49)
NOWHERE = rs.World([rs.Mesh(np.array([[0, 0, -500], [1, 0, -500], [0, 1, -500.0]]), np.array([[0, 1, 2]]))])


def recorded_car(seed: int = 2) -> Asset:
    """A car as it is cut out of a drive: discs on its left side and roof, some of them beyond its annotated box."""
    rng = np.random.default_rng(seed)
    length, width, height = SIZE
    along, up, across = (rng.uniform(-0.5, 0.5, 2500) for _ in range(3))
    side = np.stack([along * (length + 0.1), np.full(2500, width / 2 + 0.03), (up + 0.5) * height], axis=1)
    roof = np.stack([along * length, across * width, np.full(2500, height + 0.02)], axis=1)
    normal = np.repeat([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 2500, axis=0)
    centre = np.concatenate([side, roof]) + rng.normal(0, 0.01, (5000, 3))
    return Asset("car-0000", 10, "car", SIZE, (rs.Splats(centre, normal, np.full(5000, 0.09), label=10),))


def fitted(asset: Asset) -> Asset:
    layers = tuple(fit_splats(layer, asset.size_m) for layer in asset.layers if isinstance(layer, rs.Splats))
    return Asset(asset.name, asset.label, asset.category, asset.size_m, layers)


def sweeps_around(asset: Asset, noise_m: float) -> list[rs.Sweep]:
    """Sweeps from all sides of an object that stands in an empty world."""
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**{"receiver.range_noise_sigma_m": noise_m})
    found = []
    for at, angle in enumerate(np.radians([10, 80, 150, 220, 290])):
        pose = from_xyz_rpy(8 * np.cos(angle), 8 * np.sin(angle), -1.0, yaw=0.3)
        actor = make_actor(asset, Trajectory(np.zeros(1), pose[None]), 1, asset.name, NOWHERE.labels)
        found.append(rs.Simulator(NOWHERE, sensor, actors=[actor]).sweep(np.eye(4), index=at))
    return found


def share_inside(sweeps: list[rs.Sweep]) -> float:
    own = [sweep.deskewed()[sweep.instance == 1] for sweep in sweeps]
    inside = [sweep.boxes.count_points(points)[0] for sweep, points in zip(sweeps, own, strict=True) if sweep.boxes]
    return float(sum(inside) / sum(len(points) for points in own))


def true_size(sweep: rs.Sweep) -> Array:
    assert sweep.boxes is not None
    return np.asarray(sweep.boxes.size[0] - [2 * BOX_MARGIN_M, 2 * BOX_MARGIN_M, BOX_MARGIN_M])


@pytest.mark.parametrize("name", ["hatchback", "van", "bus", "pedestrian"])
def test_boxes_of_models_are_their_size_and_hold_their_returns(name: str) -> None:
    asset = builtin_bank()[name]
    sweeps = sweeps_around(asset, 0.0)
    assert true_size(sweeps[0]) == pytest.approx(asset.size_m, abs=1e-6)
    assert share_inside(sweeps) > 0.99
    assert share_inside(sweeps_around(asset, 0.02)) > 0.97  # the noise of most sensors, on flat sides
    boxes = sweeps[0].boxes
    assert boxes is not None
    assert boxes.known[0] == pytest.approx(1.0)
    assert boxes.n_points[0] == (sweeps[0].instance == 1).sum()


def test_boxes_of_recorded_objects_are_the_annotated_ones_and_hold_their_returns() -> None:
    """Discs reach beyond the surface, and returns were gathered from a grown box."""
    asset = recorded_car()
    raw, moved = sweeps_around(asset, 0.0), sweeps_around(fitted(asset), 0.0)
    for sweep in (*raw, *moved):
        assert true_size(sweep) == pytest.approx(SIZE, abs=1e-6)
        assert sweep.boxes is not None
        floor = sweep.boxes.centre[0, 2] - sweep.boxes.size[0, 2] / 2
        assert floor == pytest.approx(-1.0, abs=1e-6)
    assert share_inside(raw) < 0.98
    assert share_inside(moved) > 0.995
    assert moved[0].boxes is not None
    assert 0.4 < moved[0].boxes.known[0] < 0.75  # nobody saw its right side


def test_discs_are_moved_into_the_box_and_far_ones_left_out() -> None:
    splats = recorded_car().layers[0]
    assert isinstance(splats, rs.Splats)
    stray = rs.Splats(
        np.concatenate([splats.centre, [[0.0, SIZE[1] / 2 + NEAR_M + 0.01, 0.5]]]),
        np.concatenate([splats.normal, splats.normal[:1]]),
        np.append(splats.radius, 3.0),
        label=np.append(np.arange(len(splats)), 7),
        extra={"count": np.arange(len(splats) + 1)},
    )
    found = fit_splats(stray, SIZE)
    assert len(found) == len(splats)
    low, high = found.bounds
    assert (low >= np.array([-SIZE[0] / 2, -SIZE[1] / 2, 0.0]) - 1e-6).all()
    assert (high <= np.array([SIZE[0] / 2, SIZE[1] / 2, SIZE[2]]) + 1e-6).all()
    assert found.label.tolist() == list(range(len(splats)))
    assert found.extra["count"].tolist() == list(range(len(splats)))
    assert np.linalg.norm(found.centre - splats.centre, axis=1).max() < 0.2
    again = fit_splats(found, SIZE)
    assert np.abs(again.centre - found.centre).max() < 1e-6
    with pytest.raises(rs.ResweepError, match="there is none"):
        fit_splats(splats.moved(from_xyz_rpy(y=9.0)), SIZE)


def test_a_moving_object_is_where_its_returns_are() -> None:
    """A car at 15 m/s moves 1.5 m during a sweep; its box is where half of its returns had been measured."""
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**{"receiver.range_noise_sigma_m": 0.0})
    times = np.linspace(0.0, 0.2, 21)
    poses = np.stack([from_xyz_rpy(-1.5 + 15 * time, 12.0, -1.0) for time in times])
    actor = make_actor(builtin_bank()["saloon"], Trajectory(times, poses), 1, "car", NOWHERE.labels)
    sweep = rs.Simulator(NOWHERE, sensor, actors=[actor]).sweep(np.eye(4), start=0.05)
    assert share_inside([sweep]) > 0.97
