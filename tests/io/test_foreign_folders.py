"""Folders that other programs left: files named by time, poses under any usual name and form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log, write_poses, write_sweep
from resweep.io.folders.pose_files import parse_stamps
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.sweep import Sweep

TIMES = 1_566_246_592 + np.array([0.5, 0.6, 0.7])


def fill(folder: Path, names: list[str], suffix: str = ".bin") -> None:
    for at, name in enumerate(names):
        points = np.array([[1.0 + at, 2, 3]])
        write_sweep(Sweep.from_points(points), folder / f"{name}{suffix}")


@pytest.mark.parametrize(
    "names",
    [
        ["1566246592.500000", "1566246592.600000", "1566246592.700000"],
        ["1566246592500000000", "1566246592600000000", "1566246592700000000"],
        ["cloud_1566246592500000", "cloud_1566246592600000", "cloud_1566246592700000"],
        ["1566246592_500000000", "1566246592_600000000", "1566246592_700000000"],
        ["1566246592500", "1566246592600", "1566246592700"],
    ],
)
def test_names_that_are_times(names: list[str], tmp_path: Path) -> None:
    fill(tmp_path, names)
    log = open_log(tmp_path)
    np.testing.assert_allclose(log.times, TIMES, rtol=0, atol=1e-6)
    assert "times" not in log.meta
    assert log[2].points[0, 0] == 3
    assert log[2].time[0] == log.times[2]


def test_names_that_are_none() -> None:
    assert parse_stamps([Path("000000.bin"), Path("000001.bin")]) is None
    assert parse_stamps([Path("1566246592600.bin"), Path("1566246592500.bin")]) is None
    assert parse_stamps([]) is None


@pytest.mark.parametrize(("name", "format"), [("trajectory.txt", "tum"), ("poses.csv", "csv"), ("poses.txt", "tum")])
def test_poses_at_the_times_of_the_names(name: str, format: str, tmp_path: Path) -> None:
    fill(tmp_path, [f"{time:.6f}" for time in TIMES], ".pcd")
    # Odometry at its own rate, longer than the sweeps.
    times = 1_566_246_592 + np.arange(0, 1.21, 0.04)
    poses = np.stack([from_xyz_rpy(10 * (time - times[0])) for time in times])
    write_poses(Trajectory(times, poses), tmp_path / name, format)
    # PCD files of ours know their own pose; the folder's poses come first.
    log = open_log(tmp_path)
    np.testing.assert_allclose(log.times, TIMES, rtol=0, atol=1e-6)
    np.testing.assert_allclose(log.poses[:, 0, 3], [5, 6, 7], atol=1e-4)
    assert log.meta["poses"] == name


def test_kitti_poses_pair_with_names(tmp_path: Path) -> None:
    fill(tmp_path, [f"{time:.6f}" for time in TIMES])
    poses = np.stack([from_xyz_rpy(at) for at in range(3)])
    write_poses(Trajectory(TIMES, poses), tmp_path / "poses.txt", "kitti")
    log = open_log(tmp_path)
    np.testing.assert_array_equal(log.poses, poses)
    np.testing.assert_allclose(log.times, TIMES, rtol=0, atol=1e-6)


def test_poses_that_do_not_reach(tmp_path: Path) -> None:
    fill(tmp_path, [f"{time:.6f}" for time in TIMES])
    write_poses(Trajectory(TIMES[:2] - 0.15, np.tile(np.eye(4), (2, 1, 1))), tmp_path / "poses.txt")
    with pytest.raises(ResweepError, match=r"poses\.txt: poses cover .* 1566246592\.600000\.bin lies at"):
        open_log(tmp_path)
    (tmp_path / "poses.txt").rename(tmp_path / "gt.txt")
    (tmp_path / "poses.csv").write_text("t,x,y,z,qx,qy,qz,qw\n")
    with pytest.raises(ResweepError, match=r"several pose files \(poses\.csv, gt\.txt\)"):
        open_log(tmp_path)
