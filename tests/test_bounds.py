"""What sweeps, poses, boxes and worlds may hold: each bound refuses what lies beyond, and nothing within."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from resweep.bounds import MAX_INTENSITY, MAX_POSITION_M, MAX_RANGE_M, check_sweep, find_outside
from resweep.boxes import Boxes
from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.pose import Trajectory, check_rigid, from_xyz_rpy
from resweep.scenario import Asset
from resweep.sweep import Sweep
from resweep.worlds import Instances, Mesh, Splats, Volumes, World

NAN, INF = np.nan, np.inf


def make_sweep(**changed: Any) -> Sweep:
    points = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [-20.0, 1.0, 2.0]])
    return replace(Sweep.from_points(points, intensity=np.array([0.1, 0.2, 65535.0])), **changed)


def test_the_first_row_outside_is_found() -> None:
    assert find_outside([0.0, 1.0], 0, 1) is None
    assert find_outside([], 0, 1) is None
    assert find_outside([0.5, NAN, 2.0], 0, 1) == 1
    assert find_outside([[0, 1], [0, 1], [0, INF]], 0, 1) == 2
    assert find_outside(-1.0, 0, 1) == 0


def test_what_sensors_measure_is_within() -> None:
    """Counts of 32 bits, decibels below zero, and a point at the sensor itself."""
    widest = np.array([MAX_INTENSITY, -40.0, 0.0])
    sweep = check_sweep(make_sweep(intensity=widest, range=np.array([0.0, 1.0, MAX_RANGE_M]), timestamp=1.7e9))
    np.testing.assert_allclose(np.linalg.norm(sweep.beam_direction, axis=1), 1.0, atol=1e-6)
    empty = make_sweep().select(np.zeros(3, bool))
    assert check_sweep(empty.select_beams(np.zeros(3, bool))).n_beams == 0


@pytest.mark.parametrize(
    ("changed", "message", "kind"),
    [
        ({"range": [1.0, -5.0, 1.0]}, "range 1 is -5", FaultKind.OUT_OF_BOUNDS),
        ({"range": [1.0, 1.0, NAN]}, "range 2 is NaN", FaultKind.NOT_FINITE),
        ({"range": [2e7, 1.0, 1.0]}, r"range 0 is 2e\+07.* check the unit", FaultKind.OUT_OF_BOUNDS),
        ({"intensity": [0.0, 1e38, 0.0]}, r"intensity 1 is 1e\+38", FaultKind.OUT_OF_BOUNDS),
        ({"intensity": [0.0, INF, 0.0]}, "intensity 1 is inf", FaultKind.NOT_FINITE),
        ({"beam_time": [0.0, NAN, 0.0]}, "time 1 is NaN", FaultKind.NOT_FINITE),
        ({"beam_time": [0.0, 0.0, 1e300]}, r"time 2 is 1e\+300", FaultKind.OUT_OF_BOUNDS),
        ({"timestamp": 1.7e18}, r"time is 1\.7e\+18", FaultKind.OUT_OF_BOUNDS),
        ({"beam_origin": np.full((3, 3), 1e30)}, r"origin of beam 0 is 1e\+30", FaultKind.OUT_OF_BOUNDS),
        (
            {"beam_direction": np.full((3, 3), 2.0)},
            r"direction of beam 0 has the length 3\.46",
            FaultKind.OUT_OF_BOUNDS,
        ),
        ({"beam_direction": np.zeros((3, 3))}, "direction of beam 0 has the length 0", FaultKind.OUT_OF_BOUNDS),
        ({"beam_direction": np.full((3, 3), 1e38)}, "direction of beam 0", FaultKind.NOT_FINITE),
        (
            {"boxes": Boxes([[5e5, 0, 0]], [[4, 2, 1]], [0], ["far"])},
            "centre of box 0 is 500000",
            FaultKind.OUT_OF_BOUNDS,
        ),
    ],
)
def test_what_no_sensor_measures_is_refused(changed: dict[str, Any], message: str, kind: FaultKind) -> None:
    with pytest.raises(SweepError, match=message) as caught:
        check_sweep(make_sweep(**changed))
    assert caught.value.kind == kind


def test_a_status_that_none_is() -> None:
    with pytest.raises(ResweepError, match="beam_status' holds 9"):
        make_sweep(beam_status=[0, 9, 0])


def test_poses_are_places_on_earth() -> None:
    check_rigid(from_xyz_rpy(45_900_000.0, 5_900_000.0, 100.0))  # with the number of its zone
    for far in (1e15, -45e9, 1.01 * MAX_POSITION_M):
        with pytest.raises(ResweepError, match=r"pose: position 0 is .* national grids"):
            check_rigid(from_xyz_rpy(0.0, far, 0.0))
    with pytest.raises(ResweepError, match=r"time 1 is 1e\+300"):
        Trajectory(np.array([0.0, 1e300]), np.tile(np.eye(4), (2, 1, 1)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"centre": [[0, 1e300, 0]]}, r"centre 0 is 1e\+300"),
        ({"size": [[4, 2, NAN]]}, "size 0 is NaN"),
        ({"size": [[4, -2, 1]]}, "size 0 is -2"),
        ({"size": [[1e300, 2, 1]]}, r"size 0 is 1e\+300"),
        ({"yaw": [INF]}, "yaw 0 is inf"),
        ({"velocity": [[INF, 0, 0]]}, "velocity 0 is inf"),
        ({"known": [1.5]}, r"known share 0 is 1\.5"),
    ],
)
def test_boxes_are_those_of_objects(changed: dict[str, Any], message: str) -> None:
    box: dict[str, Any] = {"centre": [[1, 2, 3]], "size": [[4, 2, 1]], "yaw": [0.3], "name": ["car"]}
    assert np.isnan(Boxes(**box).velocity).all()  # unknown
    with pytest.raises(ResweepError, match=message):
        Boxes(**{**box, **changed})


def make_mesh(scale: float = 1.0, **changed: Any) -> Mesh:
    return Mesh(np.eye(3) * scale, np.array([[0, 1, 2]]), **changed)


def test_worlds_are_places_on_earth() -> None:
    up, one = np.array([[0.0, 0, 1]]), np.ones(1)
    thin = np.array([[1.0, 0, 0, 1, 0, 1]])
    far = np.full((1, 3), 1e30)
    for make, message in (
        (lambda: World([make_mesh()], origin=(0, 1e12, 0)), "world: origin"),
        (lambda: make_mesh(1e30), "mesh: coordinate 0"),
        (lambda: Instances(make_mesh(), np.eye(4)[None, :3] * 1e12), "instances '': coordinate"),
        (lambda: Splats(far, up, one), "splats 'splats': coordinate 0"),
        (lambda: Splats(0 * far, up, 1e30 * one), r"splats 'splats': size 0 is 1e\+30"),
        (lambda: Splats(0 * far, up, one, reflectance=NAN), "splats 'splats': reflectance 0 is NaN"),
        (lambda: Volumes(far, thin, 0.5), "volumes 'volumes': coordinate 0"),
        (lambda: Volumes(0 * far, thin, 0.5, reflectance=[1e38]), "volumes 'volumes': reflectance 0"),
        (lambda: Asset("a", 1, "car", (1e300, 2, 1), (make_mesh(),)), r"asset 'a': size_m 0 is 1e\+300"),
    ):
        with pytest.raises(ResweepError, match=message):
            make()
