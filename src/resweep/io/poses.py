"""Trajectory files: TUM, KITTI and CSV with a header.

TUM rows are ``t x y z qx qy qz qw``; KITTI rows the twelve numbers of a 3x4 matrix, without times. Numbers
are written with all their digits, so UTM positions come back exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.bounds import MAX_POSITION_M, MAX_TIME_S, find_outside
from resweep.errors import InputError, ResweepError, UntimedPosesError, nearest_names
from resweep.files.untrusted import read_plain_text
from resweep.pose import Array, Trajectory, inverse, rotation_of
from resweep.remote import find_path, write_output

FORMATS = ("tum", "kitti", "csv")
_QUATERNION_TOLERANCE = 1e-3
_TIME_NAMES = ("t", "time", "timestamp", "time_s", "timestamp_s", "#timestamp", "#t", "#time")
# Axes from LiDAR (x forward, y left, z up) to KITTI's camera (x right, y down, z forward).
T_CAMERA_LIDAR = np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])


def load_poses(
    path: str | Path,
    format: str | None = None,
    times: str | Path | Array | None = None,
    rate_hz: float | None = None,
) -> Trajectory:
    """The trajectory in a file, its format guessed from the content unless given.

    KITTI poses have no times: they come from ``times`` (an array, or a file of one number a line), else a
    ``times.txt`` beside the file, else ``rate_hz``. Where a ``calib.txt`` with ``Tr`` is beside a KITTI
    file its poses are the camera's, and are turned into the LiDAR's: inv(Tr) · pose · Tr.

    Example: ``path = rs.load_poses("poses/00.txt", times="times.txt")``
    """
    path = find_path(path)
    lines = _read_lines(path)
    kind = format or _guess_lines(path, lines)
    if kind not in FORMATS:
        raise InputError(f"{path}: poses format '{kind}'; {nearest_names(kind, FORMATS)}")
    if kind == "csv":
        stamps, poses = _read_csv(path, lines)
    else:
        rows = _parse_numbers(path, lines, 8 if kind == "tum" else 12, kind)
        if kind == "tum":
            stamps, poses = rows[:, 0], _read_quaternions(path, lines, rows[:, 1:4], rows[:, 4:8])
        else:
            poses = _read_rotation_matrices(path, lines, rows)
            stamps = _find_kitti_times(path, len(poses), times, rate_hz)
            if (Tr := read_calib(path.with_name("calib.txt"))) is not None:
                poses = portable.matmul(inverse(Tr), poses, Tr)
            return Trajectory(stamps, poses)
    _check_times(path, lines, stamps)
    return Trajectory(stamps, poses)


def write_poses(trajectory: Trajectory, path: str | Path, format: str | None = None) -> None:
    """Write a trajectory as ``tum``, ``kitti`` (no times) or ``csv``; by default by the suffix, else TUM."""
    path = find_path(path)
    kind = format or ("csv" if path.suffix.lower() == ".csv" else "tum")
    if kind not in FORMATS:
        raise InputError(f"poses format '{kind}': {nearest_names(kind, FORMATS)}")
    if kind == "kitti":
        rows = trajectory.poses[:, :3].reshape(-1, 12)
    else:
        quaternions = rotation_of(trajectory.poses).as_quat()
        rows = np.column_stack([trajectory.times, trajectory.poses[:, :3, 3], quaternions])
    separator = "," if kind == "csv" else " "
    head = "t,x,y,z,qx,qy,qz,qw\n" if kind == "csv" else ""
    text = "".join(separator.join(map(repr, row)) + "\n" for row in rows.tolist())
    with write_output(path) as temporary:
        temporary.write_text(head + text)


def read_times(path: Path) -> Array:
    """Seconds (n,) from a file of one number a line."""
    return _parse_numbers(path, _read_lines(path), 1, "times")[:, 0]


def read_matrices(path: Path) -> Array:
    """Poses (n, 4, 4) from KITTI rows, in the frame that the file has them in."""
    lines = _read_lines(path)
    return _read_rotation_matrices(path, lines, _parse_numbers(path, lines, 12, "kitti"))


def read_rows(path: Path) -> tuple[Array | None, Array, dict[int, str]]:
    """Times (n,), None in a KITTI file, and poses (n, 4, 4) of every row, and what is wrong with some, by row.

    For readers that keep going: a row that is no rigid pose, or that repeats a time, becomes the identity. Poses
    are in the frame that the file has them in.
    """
    lines = _read_lines(path)
    widths = [len(line.split()) for _, line in lines]
    kind = "csv" if "," in lines[0][1] else "tum" if widths.count(8) > widths.count(12) else "kitti"
    if kind == "csv":
        times, poses = _read_csv(path, lines)
        _check_times(path, lines, times)
        return times, poses, {}
    times, poses = np.full(len(lines), np.nan), np.tile(np.eye(4), (len(lines), 1, 1))
    bad: dict[int, str] = {}
    last = -np.inf
    for at, line in enumerate(lines):
        try:
            row = _parse_numbers(path, [line], 8 if kind == "tum" else 12, kind)
            if kind == "kitti":
                poses[at] = _read_rotation_matrices(path, [line], row)[0]
                continue
            poses[at] = _read_quaternions(path, [line], row[:, 1:4], row[:, 4:8])[0]
            if row[0, 0] <= last:
                raise InputError(f"{path}, line {line[0]}: time {float(row[0, 0])!r} of this pose was there before")
            times[at] = last = float(row[0, 0])
        except ResweepError as error:
            bad[at] = f"no pose: {error}"
            poses[at] = np.eye(4)
    return (times if kind == "tum" else None), poses, bad


def read_calib(path: Path) -> Array | None:
    """``T_camera_lidar`` (4, 4), the ``Tr`` of a KITTI calib.txt, or None where there is none."""
    if not path.is_file():
        return None
    for number, line in _read_lines(path, comments=False):
        key, _, values = line.partition(":")
        if key.strip() in ("Tr", "Tr_velo_to_cam", "Tr_velo_cam"):
            row = _parse_numbers(path, [(number, values)], 12, "kitti")
            return np.asarray(_read_rotation_matrices(path, [(number, values)], row)[0])
    return None


def _read_lines(path: Path, comments: bool = True) -> list[tuple[int, str]]:
    """Numbered lines that hold something; comments are left out, but for a commented CSV header."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a poses file, or use open_log(...).trajectory")
    try:
        text = read_plain_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}); give a TUM, KITTI or CSV file") from error
    kept = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if comments:
        kept = [(number, line) for number, line in kept if not line.startswith("#") or _is_header(line)]
    if not kept:
        raise InputError(f"{path}: holds no line of numbers")
    return kept


def _is_header(line: str) -> bool:
    names = [name.strip().lower() for name in line.split(",")]
    return len(names) > 3 and names[0] in _TIME_NAMES


def guess_format(path: Path) -> str:
    """The format of a file of poses, by its first line: one of `FORMATS`."""
    return _guess_lines(path, _read_lines(path))


def count_poses(path: Path) -> int:
    """How many lines of a file may be poses: all that are neither empty nor comments."""
    return len(_read_lines(path))


def _guess_lines(path: Path, lines: list[tuple[int, str]]) -> str:
    number, first = lines[0]
    if "," in first:
        return "csv"
    width = len(first.split())
    if width in (8, 12):
        return "tum" if width == 8 else "kitti"
    raise InputError(
        f"{path}, line {number}: {width} values; not a file of poses: TUM has 8 (t x y z qx qy qz qw), KITTI 12, CSV "
        "a header and commas"
    )


def _parse_numbers(
    path: Path, lines: list[tuple[int, str]], width: int, kind: str, separator: str | None = None
) -> Array:
    rows = []
    for number, line in lines:
        words = line.split(separator)
        if len(words) != width:
            raise InputError(f"{path}, line {number}: {len(words)} values, {kind} has {width}")
        try:
            rows.append([float(word) for word in words])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        if not np.isfinite(rows[-1]).all():
            raise InputError(f"{path}, line {number}: NaN or infinity; every value must be finite")
    return np.array(rows).reshape(-1, width)


def _read_quaternions(path: Path, lines: list[tuple[int, str]], position: Array, quaternion: Array) -> Array:
    norm = np.linalg.norm(quaternion, axis=1)
    bad = np.flatnonzero(np.abs(norm - 1) > _QUATERNION_TOLERANCE)
    if len(bad):
        raise InputError(
            f"{path}, line {lines[bad[0]][0]}: quaternion of length {norm[bad[0]]:.6g}, not 1; "
            "check the order qx qy qz qw"
        )
    return _make_poses(path, lines, Rotation.from_quat(quaternion).as_matrix(), position)


def _read_rotation_matrices(path: Path, lines: list[tuple[int, str]], rows: Array) -> Array:
    matrices = rows.reshape(-1, 3, 4)
    rotation = matrices[:, :, :3]
    error = np.abs(portable.matmul(rotation, rotation.transpose(0, 2, 1)) - np.eye(3)).max(axis=(1, 2))
    bad = np.flatnonzero((error > _QUATERNION_TOLERANCE) | (portable.det3(rotation) < 0))
    if len(bad):
        raise InputError(
            f"{path}, line {lines[bad[0]][0]}: the 3x3 part is no rotation (deviation {error[bad[0]]:.3g}); "
            "a KITTI row is the 3x4 matrix row by row"
        )
    # Few printed digits leave matrices slightly skew; the nearest rotation is meant.
    return _make_poses(path, lines, portable.nearest_rotation(rotation), matrices[:, :, 3])


def _make_poses(path: Path, lines: list[tuple[int, str]], rotation: Array, position: Array) -> Array:
    if (at := find_outside(position, -MAX_POSITION_M, MAX_POSITION_M)) is not None:
        far = float(np.abs(position[at]).max())
        raise InputError(
            f"{path}, line {lines[at][0]}: a position {far:g} m from zero, at most {MAX_POSITION_M:g} can be; "
            "positions are metres"
        )
    poses = np.tile(np.eye(4), (len(position), 1, 1))
    poses[:, :3, :3] = rotation
    poses[:, :3, 3] = position
    return poses


def _read_csv(path: Path, lines: list[tuple[int, str]]) -> tuple[Array, Array]:
    number, head = lines[0]
    names = [name.strip().strip('"').lower() for name in head.split(",")]
    if not any(name in _TIME_NAMES for name in names):
        raise InputError(
            f"{path}, line {number}: no time column among {', '.join(names)[:200]}; the header needs t, x, y, z, and "
            "qx, qy, qz, qw or roll, pitch, yaw: rename its columns"
        )
    columns = dict(zip(names, _parse_numbers(path, lines[1:], len(names), "the header", ",").T, strict=True))
    if not len(lines) > 1:
        raise InputError(f"{path}: a header but no pose; give a file with at least one row")
    times = next(columns[name] for name in names if name in _TIME_NAMES)
    missing = [axis for axis in "xyz" if axis not in columns]
    if missing:
        raise InputError(f"{path}, line {number}: no column '{missing[0]}'; it has {', '.join(names)}")
    position = np.stack([columns[axis] for axis in "xyz"], axis=1)
    if all(name in columns for name in ("qx", "qy", "qz", "qw")):
        quaternion = np.stack([columns[name] for name in ("qx", "qy", "qz", "qw")], axis=1)
        return times, _read_quaternions(path, lines[1:], position, quaternion)
    for suffix, unit in (("", 1.0), ("_rad", 1.0), ("_deg", np.pi / 180)):
        angles = [f"{name}{suffix}" for name in ("yaw", "pitch", "roll")]
        if all(name in columns for name in angles):
            euler = np.stack([columns[name] * unit for name in angles], axis=1)
            return times, _make_poses(path, lines[1:], Rotation.from_euler("ZYX", euler).as_matrix(), position)
    raise InputError(f"{path}, line {number}: no rotation; give qx,qy,qz,qw or roll,pitch,yaw (radians, or with _deg)")


def _find_kitti_times(path: Path, count: int, times: str | Path | Array | None, rate_hz: float | None) -> Array:
    beside = path.with_name("times.txt")
    if times is None and rate_hz is not None:
        return np.arange(count) / rate_hz
    if times is None and not beside.is_file():
        raise UntimedPosesError(f"{path}: KITTI poses have no times", "give times=FILE or rate_hz=10")
    if times is not None and not isinstance(times, str | Path):
        name, stamps = "times", np.asarray(times, dtype=np.float64)
    else:
        file = beside if times is None else find_path(times)
        name, stamps = str(file), read_times(file)
        _check_times(file, _read_lines(file), stamps)
    if len(stamps) != count:
        raise InputError(f"{name}: {len(stamps)} times for the {count} poses of {path}; they must pair up")
    return stamps


def _check_times(path: Path, lines: list[tuple[int, str]], times: Array) -> None:
    if (at := find_outside(times, -MAX_TIME_S, MAX_TIME_S)) is not None:
        number = lines[at + len(lines) - len(times)][0]
        raise InputError(
            f"{path}, line {number}: a time of {times[at]:g} s, at most {MAX_TIME_S:g} can be; give seconds"
        )
    steps = np.diff(times)
    if (steps <= 0).any():
        at = int(np.flatnonzero(steps <= 0)[0]) + 1
        number = lines[at + len(lines) - len(times)][0]
        problem = "repeats" if steps[at - 1] == 0 else "comes before"
        raise InputError(
            f"{path}, line {number}: time {float(times[at])!r} {problem} the one before it; times must increase"
        )
