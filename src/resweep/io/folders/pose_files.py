"""Foreign folders of sweeps: files named by their time, and poses under one of the usual names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.errors import InputError, UntimedPosesError
from resweep.io import poses
from resweep.io.folders.faults import Faults
from resweep.log import Log
from resweep.pose import Array, Trajectory, inverse

POSE_FILES = (
    *("poses.txt", "poses.tum", "poses.csv", "poses.kitti", "trajectory.txt", "trajectory.tum", "trajectory.csv"),
    *("traj.txt", "groundtruth.txt", "groundtruth.csv", "gt.txt", "odometry.txt", "odometry.csv"),
)
ASSUMED_RATE_HZ = 10.0  # of sweeps where neither poses nor files say when they were taken
_REACH_S = 0.1
# Digits of a whole number that counts from 1970: seconds, milliseconds, microseconds, nanoseconds.
_DIGITS = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}


def find_pose_file(folder: Path) -> Path | None:
    """The file of poses in a folder, or None; several are an error."""
    found = [folder / name for name in POSE_FILES if (folder / name).is_file()]
    if len(found) > 1 and found[0].name != "poses.txt":
        names = ", ".join(file.name for file in found)
        raise InputError(f"{folder}: several pose files ({names}); give poses= the one that is meant")
    return found[0] if found else None


def parse_stamps(files: Sequence[Path]) -> Array | None:
    """Seconds (n,) from the files' names, or None unless every name is a time and they increase.

    Read are ``1566246592.123456``, ``1566246592_123456789``, and whole numbers of 13, 16 or 19 digits; anything
    before the last such number, as in ``cloud_1566246592123456789``, is passed over.
    """
    times = [_parse_stamp(file.stem.removesuffix(".pcd")) for file in files]  # nuScenes scans end in .pcd.bin
    if not files or any(time is None for time in times):
        return None
    stamps = np.array(times, np.float64)
    return stamps if (np.diff(stamps) > 0).all() else None


def _parse_stamp(stem: str) -> float | None:
    if found := re.search(r"(?<!\d)(\d{9,10})[._](\d{1,9})$", stem):
        whole, fraction = found.groups()
        # After an underscore come nanoseconds, whether padded or not; after a point, decimals.
        part = int(fraction) / 10**9 if "_" in found[0] else int(fraction) / 10 ** len(fraction)
        return int(whole) + part
    if (found := re.search(r"(?<!\d)(\d+)$", stem)) and len(found[1]) in _DIGITS and len(found[1]) > 10:
        return int(found[1]) / _DIGITS[len(found[1])]
    # Argoverse counts from another zero: 18 digits of nanoseconds.
    if (found := re.search(r"(?<!\d)(\d{18})$", stem)) is not None:
        return int(found[1]) / 10**9
    return None


def pair_poses(
    file: Path, names: Sequence[Path], stamps: Array | None, rate_hz: float | None
) -> tuple[Array, Array, bool]:
    """Times (n,) and poses (n, 4, 4) of the sweeps in ``names`` from a file of poses; whether the times are known.

    Where names are times and the poses cover them, poses are taken at those times; else they pair up in order.
    Only poses without times, in a KITTI file, leave them to be assumed from ``rate_hz`` (10 Hz if not given).
    """
    count = len(names)
    if stamps is None and rate_hz is None and not file.with_name("times.txt").is_file():
        rate_hz = ASSUMED_RATE_HZ if poses.guess_format(file) == "kitti" else None
    # KITTI rows have no times of their own; those of the names are theirs if they pair up.
    given = stamps if stamps is not None and not file.with_name("times.txt").is_file() and rate_hz is None else None
    trajectory = poses.load_poses(file, times=given, rate_hz=rate_hz)
    if stamps is not None:
        wide = trajectory.extended(_REACH_S)
        inside = (stamps >= wide.start) & (stamps <= wide.end)
        if inside.all():
            exact = np.array_equal(trajectory.times, stamps)
            return stamps, trajectory.poses if exact else wide.at(stamps), True
        if inside.any() or len(trajectory) != count:
            bad = int(np.flatnonzero(~inside)[0])
            raise InputError(
                f"{file}: poses cover {trajectory.start:.3f} to {trajectory.end:.3f} s, {names[bad].name} lies at "
                f"{stamps[bad]:.3f} s; use a longer trajectory or fewer sweeps"
            )
    if len(trajectory) != count:
        raise InputError(f"{file}: {len(trajectory)} poses for {count} sweeps; they must pair up")
    return trajectory.times, trajectory.poses, rate_hz is None or poses.guess_format(file) != "kitti"


def read_poses_of(log: Log, file: Path, rate_hz: float | None = None) -> Trajectory:
    """The poses in a file for the sweeps of a log.

    The rows of a KITTI file have no times: with ``rate_hz`` so many are a second, the first at the log's first sweep;
    else row i is the pose of sweep i, and has its time or, where those were assumed, that of a ``times.txt`` beside
    the file.
    """
    if poses.guess_format(file) != "kitti":
        if rate_hz is not None:
            raise InputError(f"{file}: its poses have times of their own; leave their rate out")
        return poses.load_poses(file)
    if rate_hz is not None:
        first = float(log.times[0]) if log.times_known else 0.0
        found = poses.load_poses(file, rate_hz=rate_hz)
        return Trajectory(found.times + first, found.poses)
    count = poses.count_poses(file)
    beside = file.with_name("times.txt").is_file()
    if count == len(log):
        return poses.load_poses(file, times=log.times if log.times_known or not beside else None)
    if beside:  # poses of a longer drive, whose times say which are meant
        return poses.load_poses(file)
    raise UntimedPosesError(
        f"{file}: {count} poses without times for the {len(log)} sweeps of '{log.name}', so line i is not that of "
        "sweep i",
        "give one a sweep, or pose_rate_hz=",
    )


def pair_good_poses(
    file: Path, names: Sequence[Path], stamps: Array | None, rate_hz: float, faults: Faults
) -> tuple[Array, Array, bool]:
    """As `pair_poses`, but a sweep without a good pose is noted in ``faults`` and gets the identity.

    Where there are more or fewer poses than sweeps, files that are named by number take the pose of that number.
    """
    times, rows, bad = poses.read_rows(file)
    if times is None and (Tr := poses.read_calib(file.with_name("calib.txt"))) is not None:
        rows = portable.matmul(inverse(Tr), rows, Tr)
    good = np.array([at not in bad for at in range(len(rows))])
    if stamps is not None and times is not None and good.any():
        wide = Trajectory(times[good], rows[good]).extended(_REACH_S)
        inside = (stamps >= wide.start) & (stamps <= wide.end)
        if inside.any():
            for at in np.flatnonzero(~inside).tolist():
                faults.add(at, f"no pose: {file} does not reach {names[at].name}")
            return stamps, wide.at(np.clip(stamps, wide.start, wide.end)), True
    row = np.arange(len(names))
    if len(rows) != len(names) and all(name.stem.isdigit() for name in names):
        row = np.array([int(name.stem) for name in names])
    paired = np.tile(np.eye(4), (len(names), 1, 1))
    moments = row / rate_hz if stamps is None else stamps.copy()
    for at, number in enumerate(row.tolist()):
        if number >= len(rows):
            faults.add(at, f"no pose: {file} ends before {names[at].name}")
        elif number in bad:
            faults.add(at, bad[number])
        else:
            paired[at] = rows[number]
            moments[at] = moments[at] if times is None else times[number]
    return moments, paired, times is not None or stamps is not None
