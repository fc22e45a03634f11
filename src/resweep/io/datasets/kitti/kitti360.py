"""KITTI-360: a drive of ``data_3d_raw`` with its poses and calibration.

``data_3d_raw/2013_05_28_drive_0000_sync/velodyne_points``, ``data_poses/<drive>/poses.txt`` (frame and the
3x4 pose of the IMU) or ``cam0_to_world.txt`` (frame and the 4x4 pose of the rectified camera 0), and
``calibration/``. Only frames with a pose are in the log; the others were left out of the poses because the
car stood. Scans are not motion-compensated: each gets the times of its azimuths and the poses' motion.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.errors import InputError
from resweep.files.untrusted import read_plain_text
from resweep.io.datasets.choices import choose_one
from resweep.io.datasets.kitti.kitti_raw import RATE_HZ, SENSOR, read_scan
from resweep.io.datasets.kitti.times import read_scan_times, set_times_by_azimuth
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.format import Format
from resweep.io.rigid import pose_from_matrix, trajectory_from_rows
from resweep.labels import load_labels
from resweep.log import Log
from resweep.pose import Array, inverse
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

_REACH_S = 0.25


def recognises(path: Path) -> bool:
    """Whether ``path`` is the dataset's root, or one drive in ``data_3d_raw``."""
    if (path / "data_3d_raw").is_dir():
        return True
    return path.absolute().parent.name == "data_3d_raw" and (path / "velodyne_points").is_dir()


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = False,
    sequence: str | None = None,
    empty_beams: bool = True,
) -> Log:
    """The drive ``sequence`` of the dataset in ``path``, or the drive in ``path`` itself."""
    root = path.absolute()
    if (path / "data_3d_raw").is_dir():
        drives = sorted(item.name for item in (path / "data_3d_raw").iterdir() if (item / "velodyne_points").is_dir())
        drive = choose_one(sequence, drives, "sequence", path)
    else:
        root, drive = root.parent.parent, root.name
    folder = root / "data_3d_raw" / drive / "velodyne_points"
    scans, index = list_numbered(folder / "data", (".bin",))
    frames, poses, source = _read_poses(root, drive)
    start, times, end, recorded = read_scan_times(folder, index, rate_hz, RATE_HZ)
    posed = np.flatnonzero(np.isin(index, frames))
    if not len(posed):
        raise InputError(f"{root / 'data_poses' / drive / source}: no pose for any of the {len(index)} scans")
    row = np.searchsorted(frames, index[posed])
    motion = trajectory_from_rows(times[posed], poses[row], source).extended(_REACH_S)

    def load(at: int) -> Sweep:
        which = posed[at]
        scan = set_times_by_azimuth(read_scan(scans[which], drop_nan), float(start[which]), float(end[which]))
        return replace(scan.with_motion(motion, float(times[which])), sensor=SENSOR, pose=poses[row[at]])

    log = Log(
        load,
        times[posed],
        poses[row],
        drive,
        sensor=load_sensor(SENSOR),
        labels=load_labels("kitti360"),
        times_known=recorded,
        intensity_scale=1.0,
        meta={"format": "kitti360", "path": str(path), "unplaced": len(index) - len(posed)},
    )
    return infer_empty_beams(log, empty_beams)


def _read_poses(root: Path, drive: str) -> tuple[Array, Array, str]:
    """Frame numbers (n,) in order, ``T_world_velodyne`` (n, 4, 4), and the name of the file they are from."""
    folder, calibration = root / "data_poses" / drive, root / "calibration"
    T_cam_velo = inverse(_read_matrix(calibration / "calib_cam_to_velo.txt"))
    if (folder / "poses.txt").is_file():
        frames, imu = _read_framed(folder / "poses.txt", 13)
        return (
            frames,
            portable.matmul(imu, _read_named(calibration / "calib_cam_to_pose.txt", "image_00"), T_cam_velo),
            "poses.txt",
        )
    if (folder / "cam0_to_world.txt").is_file():
        frames, camera = _read_framed(folder / "cam0_to_world.txt", 17)
        return (
            frames,
            portable.matmul(camera, _read_named(calibration / "perspective.txt", "R_rect_00"), T_cam_velo),
            "cam0_to_world.txt",
        )
    raise InputError(f"{folder}: neither poses.txt nor cam0_to_world.txt; fetch data_poses")


def _read_framed(file: Path, width: int) -> tuple[Array, Array]:
    rows = []
    for number, line in enumerate(read_plain_text(file).splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != width:
            raise InputError(f"{file}, line {number}: {len(words)} values, {width} expected (frame and a pose)")
        rows.append((int(float(words[0])), pose_from_matrix(np.array(words[1:], float), f"{file}, line {number}")))
    if not rows:
        raise InputError(f"{file}: holds no pose; fetch it again")
    rows.sort(key=lambda row: row[0])
    frames = np.array([frame for frame, _ in rows])
    if (np.diff(frames) == 0).any():
        raise InputError(f"{file}: frame {int(frames[np.flatnonzero(np.diff(frames) == 0)[0]])} has two poses")
    return frames, np.stack([pose for _, pose in rows])


def _read_matrix(file: Path) -> Array:
    if not file.is_file():
        raise InputError(f"{file}: missing; the poses cannot be turned into the LiDAR's without. Fetch calibration")
    return pose_from_matrix(np.array(read_plain_text(file).split(), float), str(file))


def _read_named(file: Path, name: str) -> Array:
    """The matrix ``name`` of a calibration file of ``name: numbers`` lines."""
    if not file.is_file():
        raise InputError(f"{file}: missing; the poses cannot be turned into the LiDAR's without. Fetch calibration")
    fields = dict(line.split(":", 1) for line in read_plain_text(file).splitlines() if ":" in line)
    if name not in fields:
        raise InputError(f"{file}: no {name}; fetch the calibration again")
    numbers = np.array(fields[name].split(), float)
    if numbers.size == 9:
        numbers = np.column_stack([numbers.reshape(3, 3), np.zeros(3)]).ravel()
    return pose_from_matrix(numbers, f"{file}, {name}")


FORMAT = Format(
    "kitti360",
    "KITTI-360 drive",
    recognises=recognises,
    open_log=open_log,
    parts=("data_3d_raw/*/velodyne_points", "data_poses/*", "calibration/calib_cam_to_velo.txt"),
)
