"""Drives of one place whose poses disagree: brought together, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import resweep as rs
from resweep.build import MapConfig, accumulate
from resweep.labels import load_labels
from resweep.log import EmptyBeams, Log
from resweep.neighbours import Neighbours
from resweep.pose import from_xyz_rpy
from resweep.register import align, join
from resweep.registration import move_pose
from resweep.scenes import SCENES, street
from resweep.simulate import Simulator
from tests.places import at, log_of, plane

N = 8


def driven(seed: int, across: float, yaw: float, world: rs.World) -> Log:
    """The street driven along a lane, one way or back, with stops for each sweep along the same 14 m."""
    poses = np.stack([from_xyz_rpy(x, across, 1.9, yaw=yaw) for x in np.cos(yaw) * np.linspace(-7, 7, N)])
    return Log.from_sweeps(list(Simulator(world, "velodyne-hdl-32e", seed=seed).run(poses)), f"drive {seed}")


def posed(log: Log, poses: np.ndarray) -> Log:
    return log.map(lambda sweep, i: sweep.moved_to(poses[i], float(log.times[i])), indexed=True, poses=poses)


def shifted(log: Log, shift: tuple[float, float, float], yaw_deg: float, drift_m: float = 0.0) -> Log:
    """The log with poses that are off as a whole, and drift by up to ``drift_m`` to either side along the way."""
    middle = log.poses[:, :3, 3].mean(axis=0)
    change = np.r_[0, 0, np.radians(yaw_deg), shift]
    poses = np.stack([move_pose(pose, change, middle) for pose in log.poses])
    poses[:, :2, 3] += drift_m * np.sin(np.linspace(-1.5, 1.5, len(log)))[:, None]
    return posed(log, poses)


@pytest.fixture(scope="module")
def world() -> rs.World:
    return SCENES["street"](seed=3)


@pytest.fixture(scope="module")
def first(world: rs.World) -> Log:
    return driven(1, 1.5, 0.0, world)


@pytest.fixture(scope="module")
def back(world: rs.World) -> Log:
    return driven(2, -1.5, np.pi, world)


@pytest.fixture(scope="module")
def brought(first: Log, back: Log):
    return align([first, shifted(back, (0.8, -0.6, 0.2), 2.0, 0.15)])


def test_a_second_pass_is_brought_onto_the_first(brought, back: Log) -> None:
    (_, found), (shift,) = brought
    error = np.linalg.norm(found.poses[:, :3, 3] - back.poses[:, :3, 3], axis=1)
    turn = Rotation.from_matrix(found.poses[:, :3, :3] @ back.poses[:, :3, :3].transpose(0, 2, 1)).magnitude()
    assert error.max() < 0.03
    assert np.degrees(turn).max() < 0.1
    assert shift.shift_m == pytest.approx(1.02, abs=0.1)
    assert shift.turn_deg == pytest.approx(2.0, abs=0.1)
    assert 0.1 < shift.drift_m < 0.6
    assert shift.plane_residual_m[0] > 0.1 > 0.03 > shift.plane_residual_m[1]
    np.testing.assert_allclose(found[3].pose, found.poses[3])
    assert "moved by 1.0" in str(shift)


def thickness_m(log: Log) -> float:
    """The median over the map of what its surfaces measure across, as a standard deviation."""
    points = accumulate(log, MapConfig(moving="none", range_max_m=25.0)).points[::3]
    return float(np.median(np.sqrt(np.maximum(Neighbours(points).pca(60, 0.5).eigenvalues[:, 2], 0))))


def test_the_joined_map_is_as_thin_as_one_drive(brought, first: Log, back: Log) -> None:
    alone = thickness_m(first)
    assert thickness_m(join(brought[0])) < 1.1 * alone
    assert thickness_m(join([first, shifted(back, (0.8, -0.6, 0.2), 2.0, 0.15)])) > 2 * alone


def test_poses_that_agree_stay(first: Log, back: Log) -> None:
    (_, found), (shift,) = align([first, back])
    np.testing.assert_allclose(found.poses, back.poses)
    assert shift.shift_m == 0


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("far", "does not overlap"),
        ("along", "does not fit"),
        pytest.param("another street", "does not fit", marks=pytest.mark.slow),
    ],
)
def test_what_does_not_belong_is_refused(first: Log, back: Log, case: str, message: str) -> None:
    if case == "another street":
        other = driven(4, -1.5, np.pi, street(seed=9))
    else:
        other = shifted(back, (500.0, 0, 0) if case == "far" else (-8.0, 0, 0), 0.0)
    with pytest.raises(rs.ResweepError, match=message):
        align([first, other])


def test_what_does_not_belong_is_left_out_on_request(first: Log, back: Log) -> None:
    left_out: list[str] = []
    logs, shifts = align([first, shifted(back, (500.0, 0, 0), 0.0)], left_out=left_out)
    assert (len(logs), shifts) == (1, [])
    assert "does not overlap" in left_out[0]


def test_facts_of_joined_logs_are_those_of_all(first: Log, back: Log) -> None:
    known = replace(first, sensor=rs.load_sensor("velodyne-hdl-32e"), labels=load_labels("semantickitti"))
    both = join([known, known])
    assert (both.sensor, both.labels, both.poses_known) == (known.sensor, known.labels, True)
    other = replace(known, sensor=rs.load_sensor("velodyne-vlp-16"), sensor_name="velodyne-vlp-16", times_known=False)
    mixed = join([known, other])
    assert (mixed.sensor, mixed.sensor_name, mixed.times_known) == (None, "", False)
    fired, stored = (replace(known, empty_beams=EmptyBeams(source)) for source in ("fired", "stored"))
    assert join([fired, fired]).empty_beams.source == "fired"
    assert join([fired, stored]).empty_beams.source == "unknown"
    with pytest.raises(rs.ResweepError, match=r"several vocabularies \(nuscenes-lidarseg, semantickitti\)"):
        join([known, replace(known, labels=load_labels("nuscenes-lidarseg"))])


def test_a_place_without_constraints_warns() -> None:
    points = plane(6.0, 0.1)
    log = log_of([points] * 2, [at(0.0), at(1.0)])
    with pytest.warns(UserWarning, match="more than one place"):
        (_, found), _ = align([log, log])
    np.testing.assert_allclose(found.poses, log.poses)
    assert len(accumulate(join([log, found]))) > 0


def test_logs_without_poses_are_refused(first: Log) -> None:
    with pytest.raises(rs.ResweepError, match="has no poses, so it cannot be aligned"):
        align([first, replace(first, poses_known=False)])
    assert align([first])[1] == []
