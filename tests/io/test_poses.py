"""Trajectory files: exact round trips, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_poses, write_poses
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy


@pytest.mark.parametrize("format", ["tum", "csv", "kitti"])
def test_round_trip_at_utm(format: str, log: Log, tmp_path: Path) -> None:
    file = tmp_path / "poses.txt"
    write_poses(log.trajectory, file, format)
    back = load_poses(file, times=log.times)
    np.testing.assert_array_equal(back.poses[:, :3, 3], log.poses[:, :3, 3])
    np.testing.assert_allclose(back.poses, log.poses, atol=1e-9)
    np.testing.assert_array_equal(back.times, log.times)


def test_tum_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("# t x y z qx qy qz qw\n0 1 2 3 0 0 0 1\n\n0.5 1 2 4 0 0 0.70710 0.70710\n")
    trajectory = load_poses(file)
    np.testing.assert_array_equal(trajectory.times, [0, 0.5])
    np.testing.assert_allclose(trajectory.poses[1][:3], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 4]], atol=1e-12)


@pytest.mark.parametrize(
    ("header", "angles"),
    [("time,x,y,z,roll,pitch,yaw", (0.1, 0.2, 0.3)), ("timestamp,x,y,z,roll_deg,pitch_deg,yaw_deg", (10, 20, 30))],
)
def test_csv_with_angles(header: str, angles: tuple[float, ...], tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text(f"{header}\n1.5,1,2,3,{','.join(map(str, angles))}\n")
    radians = np.radians(angles) if "deg" in header else np.array(angles)
    np.testing.assert_allclose(load_poses(file).poses[0], from_xyz_rpy(1, 2, 3, *radians.tolist()), atol=1e-12)


def test_kitti_needs_times(tmp_path: Path) -> None:
    file = tmp_path / "poses.txt"
    write_poses(Trajectory(np.arange(3), np.tile(np.eye(4), (3, 1, 1))), file, "kitti")
    with pytest.raises(ResweepError, match=r"rate_hz=10"):
        load_poses(file)
    np.testing.assert_allclose(load_poses(file, rate_hz=10).times, [0, 0.1, 0.2])
    (tmp_path / "times.txt").write_text("5\n6\n8\n")
    np.testing.assert_array_equal(load_poses(file).times, [5, 6, 8])
    (tmp_path / "times.txt").write_text("5\n6\n")
    with pytest.raises(ResweepError, match=r"times\.txt: 2 times for the 3 poses"):
        load_poses(file)


GOOD = "0 0 0 0 0 0 0 1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "0 0 0 0 0 0 0 1\n", "line 2: time 0.0 repeats"),
        ("1 0 0 0 0 0 0 1\n# note\n" + GOOD, "line 3: time 0.0 comes before"),
        (GOOD + "1 0 0 0 0 0 0 1.1\n", "line 2: quaternion of length 1.1"),
        (GOOD + "1 nan 0 0 0 0 0 1\n", "line 2: NaN"),
        (GOOD + "1 0 0 0 0 0 1\n", "line 2: 7 values, tum has 8"),
        (GOOD + "1 0 0 x 0 0 0 1\n", "line 2: could not convert"),
        ("0 0 0\n", "line 1: 3 values"),
        ("# nothing\n", "no line of numbers"),
        ("x,y,z,qx,qy,qz,qw\n1,2,3,0,0,0,1\n", "no time column"),
        ("t,x,y,z\n1,2,3,4\n", "no rotation"),
        ("t,x,y,z,qx,qy,qz,qw\n", "no pose"),
        ("2 0 0 0 0 1 0 0 0 0 1 0\n", "line 1: the 3x3 part is no rotation"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(text)
    with pytest.raises(ResweepError, match=message) as raised:
        load_poses(file, rate_hz=10)
    assert "bad.txt" in str(raised.value)


def test_missing_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"nowhere\.txt: cannot be read"):
        load_poses(tmp_path / "nowhere.txt")
    with pytest.raises(ResweepError, match="is a folder"):
        load_poses(tmp_path)
