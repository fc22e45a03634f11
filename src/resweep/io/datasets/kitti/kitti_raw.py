"""KITTI raw drives: ``2011_09_26_drive_0051_sync`` with scans, GPS/IMU packets and tracklets.

``velodyne_points/data/*.bin`` (or ``.txt``), ``velodyne_points/timestamps*.txt``, ``oxts/data/*.txt``,
``tracklet_labels.xml``, and ``calib_imu_to_velo.txt`` in the folder of the date or the drive. The world is
east-north-up about the first packet. Scans are not motion-compensated: each gets the times of its azimuths
and the motion of the packets around it.

Folders that others converted into this layout, without packets and the time files of KITTI, are opened too: their
sensor and the times of their points are unknown, and poses are those of a file of a usual name, such as ``poses.txt``.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.files.untrusted import read_bytes, read_plain_text
from resweep.io.datasets.firings import number_lasers, sweep_from_firings
from resweep.io.datasets.kitti.oxts import project_packets
from resweep.io.datasets.kitti.times import read_scan_times, read_stamps, set_times_by_azimuth
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.files import kitti_bin
from resweep.io.folders.faults import Faults, refuse_faulty
from resweep.io.folders.pose_files import find_pose_file, pair_good_poses, pair_poses
from resweep.io.folders.sweep_files import place_sweep
from resweep.io.format import Format, read_as
from resweep.io.points.columns import sweep_from_columns
from resweep.io.rigid import pose_from_matrix
from resweep.labels import NO_LABELS
from resweep.log import Log
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.remote import find_path
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

SENSOR = "velodyne-hdl-64e"
RATE_HZ = 10.0
_DRIVE = re.compile(r"\d{4}_\d{2}_\d{2}_drive_\d{4}")
_REACH_S = 0.25  # how far the first and last sweep may reach out of the packets


def recognises(path: Path) -> bool:
    """Whether ``path`` is a drive: a folder with ``velodyne_points/data``."""
    return (path / "velodyne_points" / "data").is_dir()


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = False,
    calib: str | Path | None = None,
    empty_beams: bool = True,
    keep_going: bool = False,
) -> Log:
    """The drive in ``path``; ``calib`` is calib_imu_to_velo.txt where it is elsewhere."""
    scans, index = list_numbered(path / "velodyne_points" / "data", (".bin", ".txt"))
    if not _is_kitti(path):
        return _open_converted(path, scans, rate_hz, drop_nan, empty_beams, keep_going)
    start, times, end, recorded = read_scan_times(path / "velodyne_points", index, rate_hz, RATE_HZ)
    faults = Faults()
    packets = _read_motion(path, index, times, recorded, calib, faults if keep_going else None)
    motion = _make_stationary_motion(start, end) if packets is None else packets
    motion = motion.extended(_REACH_S)
    _check_covered(path, motion, start, end, faults if keep_going else None)
    boxes = _read_tracklets(path / "tracklet_labels.xml")
    poses = motion.at(np.clip(times, motion.start, motion.end) if keep_going else times)

    def load(at: int) -> Sweep:
        scan = read_scan(scans[at], drop_nan)
        scan = set_times_by_azimuth(scan, float(start[at]), float(end[at])).with_motion(motion, float(times[at]))
        frame = None if boxes is None else _undistort(boxes.get(int(index[at]), _NO_BOXES), scan)
        return replace(scan, sensor=SENSOR, boxes=frame, pose=poses[at])

    log = Log(
        load,
        times,
        poses,
        path.name,
        sensor=load_sensor(SENSOR),
        labels=NO_LABELS,
        poses_known=packets is not None,
        times_known=recorded,
        intensity_scale=1.0,
        meta={"format": "kitti-raw", "path": str(path), "poses": "unknown" if packets is None else "oxts"},
    )
    return refuse_faulty(infer_empty_beams(log, empty_beams), faults)


def _is_kitti(path: Path) -> bool:
    """Whether a folder of this layout is a drive of KITTI itself: by its packets, its time files or its name."""
    times = (path / "velodyne_points" / name for name in ("timestamps.txt", "timestamps_start.txt"))
    return (
        (path / "oxts").is_dir() or any(file.is_file() for file in times) or bool(_DRIVE.search(path.absolute().name))
    )


def _open_converted(
    path: Path, scans: list[Path], rate_hz: float | None, drop_nan: bool, empty_beams: bool, keep_going: bool
) -> Log:
    """Scans of another sensor in this layout; poses and times from the files beside, if there are any."""
    file, faults = find_pose_file(path), Faults()
    times, known = np.arange(len(scans)) / (rate_hz or RATE_HZ), False
    poses = np.tile(np.eye(4), (len(scans), 1, 1))
    if file is not None and keep_going:
        times, poses, known = pair_good_poses(file, scans, None, rate_hz or RATE_HZ, faults)
    elif file is not None:
        times, poses, known = pair_poses(file, scans, None, rate_hz)

    def load(at: int) -> Sweep:
        return place_sweep(read_scan(scans[at], drop_nan, _CONVERTED), poses[at], float(times[at]))

    source = "unknown" if file is None else file.name
    log = Log(
        load,
        times,
        poses,
        path.name,
        labels=NO_LABELS,
        poses_known=file is not None,
        times_known=known,
        meta={"format": "kitti-raw", "path": str(path), "poses": source},
    )
    return refuse_faulty(infer_empty_beams(log, empty_beams), faults)


def _read_firings(path: Path, drop_nan: bool = False) -> Sweep:
    """A scan of another sensor; nuScenes' firings, which lost their rings on the way, get them again."""
    columns = kitti_bin.read_columns(path)
    laser = number_lasers(np.stack([columns[axis] for axis in "xyz"], axis=1))
    if laser is None:
        return sweep_from_columns(columns, str(path), drop_nan=drop_nan)
    return sweep_from_firings({**columns, "ring": laser}, path, drop_nan)


_CONVERTED = replace(kitti_bin.FORMAT, read=_read_firings)


def read_scan(path: Path, drop_nan: bool, binary: Format = kitti_bin.FORMAT) -> Sweep:
    """A scan of x y z reflectance, ``binary`` or in the text of ``extract`` drives."""
    if path.suffix == ".bin":
        return read_as(binary, path, drop_nan=drop_nan)
    try:
        numbers = np.array(read_plain_text(path).split(), np.float32)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as numbers ({error}); fetch it again") from error
    if len(numbers) % 4:
        raise SweepError(
            f"{path}: truncated ({len(numbers)} numbers are not rows of x y z reflectance)", FaultKind.TRUNCATED
        )
    columns = dict(zip(("x", "y", "z", "intensity"), numbers.reshape(-1, 4).T, strict=True))
    return sweep_from_columns(columns, str(path), drop_nan=drop_nan)


def _read_motion(
    path: Path, index: Array, times: Array, recorded: bool, calib: str | Path | None, faults: Faults | None
) -> Trajectory | None:
    """``T_world_velodyne`` over time from the packets, or None where the drive has none."""
    folder = path / "oxts" / "data"
    if not folder.is_dir():
        return None
    files, numbers = list_numbered(folder, (".txt",))
    stamps = read_stamps(path / "oxts" / "timestamps.txt", numbers) if recorded else None
    if stamps is None:
        # Packets of synchronised drives pair with the scans by number.
        missing = np.setdiff1d(index, numbers)
        if faults is not None:
            for at in np.flatnonzero(np.isin(index, missing)).tolist():
                faults.add(at, f"no pose: {folder} has no packet {int(index[at]):010d}.txt")
        elif len(missing):
            raise InputError(f"{folder}: no packet {int(missing[0]):010d}.txt for the scan of that number")
        stamps = (
            np.interp(numbers, index, times)
            if recorded
            else times[0] + (numbers - index[0]) * _average_step(times, index)
        )
    else:
        keep = np.r_[True, np.diff(stamps) > 0]  # the recorder repeats a packet here and there
        files, stamps = [file for file, kept in zip(files, keep, strict=True) if kept], stamps[keep]
    T_imu_velo = inverse(_read_imu_to_velo(path, calib))
    rows, good = _read_packets(files, index, faults)
    return Trajectory(stamps[good], portable.matmul(project_packets(rows[good]), T_imu_velo))


def _make_stationary_motion(start: Array, end: Array) -> Trajectory:
    """The identity from the first start to the last end of the scans: poses that mean nothing."""
    times = np.array([start.min(), end.max()])
    return Trajectory(times, np.tile(np.eye(4), (2, 1, 1)))


def _average_step(times: Array, index: Array) -> float:
    return float((times[-1] - times[0]) / (index[-1] - index[0])) if len(index) > 1 else 1 / RATE_HZ


def _read_imu_to_velo(path: Path, calib: str | Path | None) -> Array:
    """``T_velo_imu`` (4, 4) from the R and T of calib_imu_to_velo.txt."""
    name = "calib_imu_to_velo.txt"
    places = [find_path(calib)] if calib is not None else [path / name, path.absolute().parent / name]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise InputError(
            f"{places[-1]}: missing; without it GPS/IMU poses cannot be turned into the LiDAR's. "
            "Fetch the date's calibration, or give calib=FILE"
        )
    fields = dict(line.split(":", 1) for line in read_plain_text(file).splitlines() if ":" in line)
    if not {"R", "T"} <= set(fields):
        raise InputError(f"{file}: no R and T in it; fetch the date's calibration again")
    R, T = np.array(fields["R"].split(), float), np.array(fields["T"].split(), float)
    if R.size != 9 or T.size != 3:
        raise InputError(f"{file}: R has {R.size} numbers and T {T.size}; 9 and 3 expected")
    return pose_from_matrix(np.column_stack([R.reshape(3, 3), T]), str(file))


def _read_packets(files: list[Path], index: Array, faults: Faults | None) -> tuple[Array, Array]:
    """Rows (n, 6) of packets, and which of them are good: all, or a bad one is the fault of the scan of its number."""
    rows, good = np.zeros((len(files), 6)), np.ones(len(files), bool)
    for at, file in enumerate(files):
        try:
            rows[at] = _read_packet(file)
        except ResweepError as error:
            if faults is None:
                raise
            good[at] = False
            for sweep in np.flatnonzero(index == int(file.stem)).tolist():
                faults.add(sweep, f"no pose: {error}")
    if not good.any():
        raise InputError(f"{files[0].parent}: no packet is readable; fetch them again")
    return rows, good


def _read_packet(file: Path) -> Array:
    """Lat lon alt roll pitch yaw (degrees, m, rad), with which a packet begins."""
    words = read_plain_text(file).split()
    if len(words) < 6:
        raise InputError(f"{file}: {len(words)} values, a GPS/IMU packet has 30; fetch it again")
    try:
        row = np.array(words[:6], float)
    except ValueError as error:
        raise InputError(f"{file}: no numbers ({error}); fetch it again") from error
    if not np.isfinite(row).all():
        raise InputError(f"{file}: holds NaN or infinity; fetch it again")
    return row


def _check_covered(path: Path, motion: Trajectory, start: Array, end: Array, faults: Faults | None) -> None:
    bad = np.flatnonzero((start < motion.start) | (end > motion.end))
    if faults is not None:
        for at in bad.tolist():
            faults.add(at, f"no pose: the packets in {path / 'oxts'} do not cover it")
        return
    if len(motion) > 3 and len(bad):
        raise InputError(
            f"{path / 'oxts'}: packets cover {motion.start:.3f} to {motion.end:.3f} s, sweep {int(bad[0])} lies at "
            f"{start[bad[0]]:.3f} to {end[bad[0]]:.3f} s; the packets belong to another drive or are incomplete"
        )


_NO_BOXES = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ())


def _read_tracklets(file: Path) -> dict[int, Boxes] | None:
    """Boxes by frame number; a tracklet's position is the middle of its floor (KITTI raw devkit, tracklets)."""
    if not file.is_file():
        return None
    try:
        items = ET.fromstring(read_bytes(file)).findall("tracklets/item")
    except ET.ParseError as error:
        raise InputError(f"{file}: damaged ({error}); fetch it again") from error
    frames: dict[int, list[tuple[Any, ...]]] = {}
    for track, item in enumerate(items):
        height, width, length = (_read_number(item, name, file) for name in ("h", "w", "l"))
        first = int(_read_number(item, "first_frame", file))
        name = item.findtext("objectType", "")
        for at, pose in enumerate(item.findall("poses/item")):
            x, y, z, yaw = (_read_number(pose, key, file) for key in ("tx", "ty", "tz", "rz"))
            row = ((x, y, z + height / 2), (length, width, height), yaw, name, track)
            frames.setdefault(first + at, []).append(row)
    return {frame: _stack(rows) for frame, rows in frames.items()}


def _undistort(boxes: Boxes, scan: Sweep) -> Boxes:
    """The boxes, which were drawn around raw points, around the same points with motion during the scan undone.

    Each is carried from where the sensor was when it faced the box. In drive 0051, at 14 m/s, they then fit
    the undone returns as they did the raw ones; left where they are, they miss by 5 to 20 cm.
    """
    if scan.trajectory is None or len(boxes) == 0 or scan.n_beams == 0:
        return boxes
    faced = portable.arctan2(scan.beam_direction[:, 1], scan.beam_direction[:, 0]).astype(np.float64)
    azimuth = portable.arctan2(boxes.centre[:, 1], boxes.centre[:, 0])
    away = np.abs(portable.angle(portable.phasor(faced[None] - azimuth[:, None])))
    then = portable.matmul(inverse(scan.pose), scan.trajectory.at(scan.beam_time[away.argmin(axis=1)]))
    heading = np.stack([portable.cos(boxes.yaw), portable.sin(boxes.yaw), np.zeros(len(boxes))], axis=1)
    heading = np.einsum("kij,kj->ki", then[:, :3, :3], heading)
    yaw = portable.arctan2(heading[:, 1], heading[:, 0])
    return replace(boxes, centre=transform(then, boxes.centre), yaw=yaw)


def _stack(rows: list[tuple[Any, ...]]) -> Boxes:
    centre, size, yaw, name, track = zip(*rows, strict=True)
    return Boxes(np.array(centre), np.array(size), np.array(yaw), name, np.array(track))


def _read_number(item: ET.Element, name: str, file: Path) -> float:
    text = item.findtext(name)
    if text is None:
        raise InputError(f"{file}: a tracklet without '{name}'; fetch it again")
    return float(text)


FORMAT = Format(
    "kitti-raw",
    "KITTI raw drive",
    recognises=recognises,
    open_log=open_log,
    parts=("velodyne_points/data/*", "oxts/data/*.txt", "calib_imu_to_velo.txt"),
)
