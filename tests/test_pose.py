"""Poses and trajectories: rigid, interpolated on SE(3), never extrapolated."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from resweep import _core
from resweep.errors import ResweepError
from resweep.pose import Trajectory, check_rigid, from_xyz_rpy, inverse, transform


def random_poses(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, random_state=rng).as_matrix()
    poses[:, :3, 3] = rng.uniform(-100, 100, (count, 3))
    return poses


def test_axes_are_forward_left_up_and_angles_turn_right_handed() -> None:
    ahead = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(from_xyz_rpy(yaw=np.pi / 2)[:3, :3] @ ahead, [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(from_xyz_rpy(pitch=np.pi / 2)[:3, :3] @ ahead, [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(from_xyz_rpy(roll=np.pi / 2)[:3, :3] @ [0, 1, 0], [0, 0, 1], atol=1e-12)
    both = from_xyz_rpy(yaw=np.pi / 2, pitch=np.pi / 2)  # pitch acts in the frame that yaw has turned
    np.testing.assert_allclose(both[:3, :3] @ ahead, [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(both[:3, :3] @ [0, 0, 1], [0, 1, 0], atol=1e-12)


def test_transform_and_inverse_undo_each_other() -> None:
    poses = random_poses(50)
    points = np.random.default_rng(1).uniform(-10, 10, (50, 3))
    np.testing.assert_allclose(transform(inverse(poses), transform(poses, points)), points, atol=1e-10)
    np.testing.assert_allclose(inverse(poses) @ poses, np.tile(np.eye(4), (50, 1, 1)), atol=1e-10)
    each = np.stack([transform(pose, point[None])[0] for pose, point in zip(poses, points, strict=True)])
    np.testing.assert_allclose(transform(poses, points), each, atol=1e-12)


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (np.eye(3), r"expected a 4x4 matrix, got shape \(3, 3\)"),
        (np.diag([1.0, 1, -1, 1]), "not a rigid motion"),
        (np.diag([2.0, 2, 2, 1]), "not a rigid motion"),
        (np.diag([1.0, 1, 1, 2]), "not a rigid motion"),
        (np.full((4, 4), np.nan), "NaN or infinity"),
        ("here", "expected numbers"),
    ],
)
def test_what_is_not_rigid_is_refused(pose: object, message: str) -> None:
    with pytest.raises(ResweepError, match=f"camera.*{message}"):
        check_rigid(pose, "camera")


def test_deviations_from_rigid_motions_are_those_of_numpy() -> None:
    poses = random_poses(40)
    poses += np.random.default_rng(2).normal(0, 1e-3, poses.shape)
    poses[3, :3, 0] *= -1  # mirrored
    turn = poses[:, :3, :3]
    wanted = np.abs(turn @ turn.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    wanted = np.maximum(wanted, np.abs(poses[:, 3] - [0, 0, 0, 1]).max(axis=1))
    wanted[np.linalg.det(turn) <= 0] = np.inf
    np.testing.assert_allclose(_core.rigid_deviations(poses), wanted, rtol=1e-9)
    poses[5, 1, 3] = np.inf
    assert np.flatnonzero(np.isnan(_core.rigid_deviations(poses))).tolist() == [5]


def test_a_used_trajectory_is_copied_and_pickled() -> None:
    path = Trajectory(np.arange(4.0), random_poses(4))
    wanted = path.at([0.5, 2.25])
    for other in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path), copy.copy(path)):
        assert other.at([0.5, 2.25]).tobytes() == wanted.tobytes()


def test_the_pose_at_fault_is_named() -> None:
    poses = random_poses(5)
    poses[3, 0, 0] += 0.5
    with pytest.raises(ResweepError, match="trajectory pose 3: not a rigid motion"):
        Trajectory(np.arange(5.0), poses)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, 1], "2 times for 3 poses"),
        ([0, 1, 1], r"time 1\.000000 s of pose 2 does not come after"),
        ([0, 2, 1], r"time 1\.000000 s of pose 2 does not come after 2\.000000 s of pose 1"),
        ([0, np.nan, 1], "NaN"),
    ],
)
def test_times_pair_up_and_increase(times: list[float], message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        Trajectory(times, random_poses(3))


def test_an_empty_trajectory_is_refused() -> None:
    with pytest.raises(ResweepError, match="no pose"):
        Trajectory([], np.zeros((0, 4, 4)))


def test_knots_are_reached_exactly() -> None:
    path = Trajectory([0, 0.5, 2.0, 2.25], random_poses(4))
    np.testing.assert_allclose(path.at(path.times), path.poses, atol=1e-12)


def test_between_knots_it_turns_and_moves_at_constant_rate() -> None:
    path = Trajectory([10.0, 14.0], [from_xyz_rpy(0, 0, 0), from_xyz_rpy(8, -4, 2, yaw=2.0)])
    for share in (0.0, 0.25, 0.5, 0.9, 1.0):
        expected = from_xyz_rpy(8 * share, -4 * share, 2 * share, yaw=2.0 * share)
        np.testing.assert_allclose(path.at(10.0 + 4 * share), expected, atol=1e-12)


def test_interpolation_is_rigid_takes_the_short_way_and_does_not_depend_on_the_frame() -> None:
    path = Trajectory(np.arange(6.0), random_poses(6))
    times = np.linspace(0, 5, 101)
    poses = check_rigid(path.at(times))
    turned = Rotation.from_matrix(np.swapaxes(poses[:-1, :3, :3], 1, 2) @ poses[1:, :3, :3]).magnitude()
    assert turned.max() <= np.pi * 0.05 + 1e-9
    frame = random_poses(1, seed=9)[0]
    np.testing.assert_allclose(path.moved(frame).at(times), frame @ poses, atol=1e-9)


def test_a_frame_fixed_to_the_sensor_moves_with_it() -> None:
    path = Trajectory([0, 1], [np.eye(4), from_xyz_rpy(yaw=np.pi / 2)])
    mount = from_xyz_rpy(x=2.0)
    np.testing.assert_allclose(path.offset(mount).poses[1][:3, 3], [0, 2, 0], atol=1e-12)


def test_nothing_is_extrapolated() -> None:
    path = Trajectory([1.0, 2.0], random_poses(2))
    for time in (0.99, 2.01, [1.5, 3.0]):
        with pytest.raises(ResweepError, match=r"trajectory covers 1\.000000 to 2\.000000 s"):
            path.at(time)
    assert path.covers(1.0, 2.0)
    assert not path.covers(0.9, 1.5)
    assert path.at(2.0).shape == (4, 4)
    assert path.at(np.full((3, 2), 1.5)).shape == (3, 2, 4, 4)


def test_a_window_is_the_same_motion() -> None:
    path = Trajectory(np.arange(6.0), random_poses(6))
    window = path.window(1.3, 3.6)
    assert (window.start, window.end, len(window)) == (1.3, 3.6, 4)
    times = np.linspace(1.3, 3.6, 50)
    np.testing.assert_allclose(window.at(times), path.at(times), atol=1e-9)
    assert len(path.window(2.5, 2.5)) == 1


def test_length_is_that_of_the_path() -> None:
    corners = [(0, 0), (3, 4), (3, 0)]
    assert Trajectory([0, 1, 2], [from_xyz_rpy(x, y) for x, y in corners]).length_m == pytest.approx(9.0)


def test_points_are_carried_as_the_poses_at_their_times_take_them() -> None:
    rng = np.random.default_rng(3)
    poses = np.stack([from_xyz_rpy(*rng.normal(size=3), *rng.uniform(-1, 1, 3)) for _ in range(4)])
    motion = Trajectory(np.array([0.0, 0.3, 0.5, 1.0]), poses)
    times, points = rng.uniform(0, 1, 500), rng.normal(size=(500, 3)) * 50
    assert np.allclose(motion.carried(times, points), transform(motion.at(times), points), atol=1e-10)


def test_times_and_poses_need_not_lie_together_in_memory() -> None:
    rows = np.column_stack([np.linspace(0, 1, 5), np.full(5, 7.0)])
    poses = np.stack([from_xyz_rpy(x, 0, 0, yaw=0.2 * x) for x in range(5)])
    strided = Trajectory(rows[:, 0], np.repeat(poses, 2, axis=0)[::2])
    plain = Trajectory(np.linspace(0, 1, 5), poses)
    np.testing.assert_array_equal(strided.at(np.linspace(0, 1, 9)), plain.at(np.linspace(0, 1, 9)))


def test_an_extended_trajectory_goes_on_as_it_moved_at_its_ends() -> None:
    turning = Trajectory([0.0, 1.0], np.stack([from_xyz_rpy(), from_xyz_rpy(x=2.0, yaw=0.2)]))
    wide = turning.extended(0.5)
    assert (wide.start, wide.end) == (-0.5, 1.5)
    np.testing.assert_allclose(wide.at(-0.5), from_xyz_rpy(x=-1.0, yaw=-0.1), atol=1e-12)
    np.testing.assert_allclose(wide.at(1.5), from_xyz_rpy(x=3.0, yaw=0.3), atol=1e-12)
    np.testing.assert_array_equal(wide.poses[1:-1], turning.poses)
    still = Trajectory([3.0], from_xyz_rpy(y=1.0)[None]).extended(0.5)
    np.testing.assert_array_equal(still.at([2.5, 3.5]), np.stack([from_xyz_rpy(y=1.0)] * 2))
