"""KITTI-360 drives: sparse poses, from the IMU or from the rectified camera."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.pose import Array, from_xyz_rpy, inverse

DRIVE = "2013_05_28_drive_0000_sync"
T_POSE_CAM = from_xyz_rpy(1.5, 0.1, -1.2, roll=-1.6, yaw=0.05)
T_VELO_CAM = from_xyz_rpy(0.8, 0.05, -0.2, roll=-1.55, pitch=0.02)
R_RECT = from_xyz_rpy(roll=0.01, pitch=-0.02, yaw=0.03)


def row(matrix: Array, rows: int = 3) -> str:
    return " ".join(map(repr, matrix[:rows].ravel().tolist()))


def make_dataset(root: Path, drives: tuple[str, ...] = (DRIVE,)) -> tuple[Path, dict[int, Array]]:
    """A root with scans 0 to 5 in each drive, of which 1 and 4 have no pose; ``T_world_velo`` by frame."""
    true = {frame: from_xyz_rpy(1000 + frame, 2000, 100, yaw=0.1 * frame) for frame in (0, 2, 3, 5)}
    (root / "calibration").mkdir(parents=True)
    (root / "calibration/calib_cam_to_velo.txt").write_text(row(T_VELO_CAM) + "\n")
    (root / "calibration/calib_cam_to_pose.txt").write_text(
        f"image_00: {row(T_POSE_CAM)}\nimage_01: {row(np.eye(4))}\n"
    )
    (root / "calibration/perspective.txt").write_text(
        "calib_time: x\nR_rect_00: " + " ".join(map(repr, R_RECT[:3, :3].ravel().tolist())) + "\n"
    )
    for drive in drives:
        points = root / "data_3d_raw" / drive / "velodyne_points"
        (points / "data").mkdir(parents=True)
        for at in range(6):
            np.array([[5, at, 1, 0.5], [-5, 1, 0, 0.5]], "<f4").tofile(points / "data" / f"{at:010d}.bin")
        stamps = [f"2013-05-28 08:46:0{2 + at // 10}.{at % 10}00000001\n" for at in range(6)]
        (points / "timestamps.txt").write_text("".join(stamps))
        poses = root / "data_poses" / drive
        poses.mkdir(parents=True)
        imu = {frame: pose @ T_VELO_CAM @ inverse(T_POSE_CAM) for frame, pose in true.items()}
        (poses / "poses.txt").write_text("".join(f"{frame} {row(pose)}\n" for frame, pose in imu.items()))
        rect = {frame: pose @ T_VELO_CAM @ inverse(R_RECT) for frame, pose in true.items()}
        (poses / "cam0_to_world.txt").write_text("".join(f"{frame} {row(pose, 4)}\n" for frame, pose in rect.items()))
    return root, true


@pytest.mark.parametrize("without", ["cam0_to_world.txt", "poses.txt"])
def test_poses(without: str, tmp_path: Path) -> None:
    root, true = make_dataset(tmp_path / "KITTI-360")
    (root / "data_poses" / DRIVE / without).unlink()
    for path in (root, root / "data_3d_raw" / DRIVE):
        log = open_log(path)
        assert (log.meta["format"], len(log), log.meta["unplaced"], log.name) == ("kitti360", 4, 2, DRIVE)
        np.testing.assert_allclose(log.poses, np.stack(list(true.values())), atol=1e-7)
    assert log[2].points[0, 1] == 3  # the third scan with a pose is that of frame 3
    assert np.ptp(log[2].time) > 0.03
    assert np.abs(log[2].deskewed() - log[2].points).max() > 0.1


def test_several_drives_and_bad_poses(tmp_path: Path) -> None:
    root, _ = make_dataset(tmp_path / "KITTI-360", (DRIVE, "2013_05_28_drive_0002_sync"))
    with pytest.raises(ResweepError, match="choose one with sequence="):
        open_log(root)
    assert len(open_log(root, sequence=DRIVE)) == 4
    file = root / "data_poses" / DRIVE / "poses.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, lines[0]]))
    with pytest.raises(ResweepError, match=r"poses\.txt: frame 0 has two poses"):
        open_log(root, sequence=DRIVE)
    file.write_text("0 2 0 0 0 0 1 0 0 0 0 1 0\n")
    with pytest.raises(ResweepError, match=r"poses\.txt, line 1: no rigid pose"):
        open_log(root, sequence=DRIVE)
