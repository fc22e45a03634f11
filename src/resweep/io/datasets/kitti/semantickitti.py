"""KITTI odometry sequences, with SemanticKITTI's labels: a folder of scans, poses and calibration.

``velodyne/000000.bin``, ``labels/000000.label`` (optional), ``poses.txt``, ``calib.txt``, ``times.txt``. The
poses are those of camera 0; with ``Tr = T_camera_lidar`` from calib.txt, ``T_world_lidar = inv(Tr) · pose ·
Tr``. Scans are motion-compensated, so points are written deskewed.

The scans keep only returns. The beams that came back empty are inferred from the grid of rings and columns
that the log shows (`resweep.io.empty_beams`), unless ``empty_beams=False``.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.errors import InputError
from resweep.io import poses
from resweep.io.datasets.kitti.semantic_labels import LABELS, relabel_sweep
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.files import kitti_bin
from resweep.io.folders.faults import Faults, refuse_faulty
from resweep.io.folders.pending import OpenFile, PendingSweeps
from resweep.io.format import Format, read_as
from resweep.label_mapping import map_labels
from resweep.labels import NO_LABELS, LabelSet, load_labels
from resweep.log import Log
from resweep.pose import Array, Trajectory, inverse
from resweep.sweep import Sweep

RATE_HZ = 10.0  # of the recordings, where a sequence has no times.txt


def recognises(path: Path) -> bool:
    """Whether ``path`` is a sequence: a folder with ``velodyne/*.bin``."""
    return (path / "velodyne").is_dir() and any((path / "velodyne").glob("*.bin"))


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = False,
    empty_beams: bool = True,
    keep_going: bool = False,
) -> Log:
    """The sequence in ``path``; scan ``000007.bin`` takes line 7 of poses.txt and times.txt.

    With ``empty_beams`` the sweeps also hold the beams that returned nothing, inferred from the sensor's grid.
    """
    scans = sorted((path / "velodyne").glob("*.bin"))
    if not scans:
        raise InputError(f"{path}: no velodyne/*.bin in it; give one sequence, such as sequences/00")
    try:
        index = np.array([int(scan.stem) for scan in scans], np.int64)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path / 'velodyne'}: scans must be named by number, as 000000.bin ({error})") from error
    faults = Faults()
    times, recorded = _read_times(path, index, rate_hz, faults if keep_going else None)
    pose_file = _find_pose_file(path)
    all_poses = _read_poses(path, pose_file, index, faults if keep_going else None)

    def load(at: int) -> Sweep:
        labels = path / "labels" / f"{scans[at].stem}.label"
        scan = read_as(kitti_bin.FORMAT, scans[at], labels=labels if labels.is_file() else None, drop_nan=drop_nan)
        stamp = float(times[at])
        return replace(scan, pose=all_poses[at], timestamp=stamp, beam_time=np.full(scan.n_beams, stamp))

    log = Log(
        load,
        times,
        all_poses,
        path.name,
        labels=load_labels("semantickitti") if (path / "labels").is_dir() else NO_LABELS,
        poses_known=pose_file is not None,
        times_known=recorded,
        intensity_scale=1.0,
        meta={"format": "semantickitti", "path": str(path), "poses": pose_file.name if pose_file else "unknown"},
    )
    return refuse_faulty(infer_empty_beams(log, empty_beams), faults)


def _read_times(path: Path, index: Array, rate_hz: float | None, faults: Faults | None) -> tuple[Array, bool]:
    """Seconds (n,) of the scans, and whether they were recorded."""
    file = path / "times.txt"
    if rate_hz is not None or not file.is_file():
        return np.asarray(index / (rate_hz or RATE_HZ)), False
    return _take_lines(file, poses.read_times(file), index, faults), True


def _find_pose_file(path: Path) -> Path | None:
    # The odometry benchmark keeps poses apart from the sequences: dataset/poses/00.txt.
    apart = path.absolute().parent.parent / "poses" / f"{path.absolute().name}.txt"
    return next((file for file in (path / "poses.txt", apart) if file.is_file()), None)


def _read_poses(path: Path, file: Path | None, index: Array, faults: Faults | None) -> Array:
    """``T_world_lidar`` (n, 4, 4); the identity for all where there is no file."""
    if file is None:
        return np.tile(np.eye(4), (len(index), 1, 1))
    Tr = poses.read_calib(path / "calib.txt")
    if Tr is None:
        raise InputError(f"{path / 'calib.txt'}: no Tr; the camera's poses cannot be turned into the LiDAR's without")
    if faults is None:
        camera = poses.read_matrices(file)
    else:
        _, camera, bad = poses.read_rows(file)
        for at, number in enumerate(index.tolist()):
            if number in bad:
                faults.add(at, bad[number])
    return np.asarray(portable.matmul(inverse(Tr), _take_lines(file, camera, index, faults), Tr))


def _take_lines(file: Path, rows: Array, index: Array, faults: Faults | None) -> Array:
    """The rows of ``index``; a missing one is an error, or a fault of the sweep with ``faults``."""
    if faults is not None:
        for at in np.flatnonzero(index >= len(rows)).tolist():
            faults.add(at, f"no pose: {file} ends before scan {index[at]:06d}")
        return np.asarray(rows[np.minimum(index, len(rows) - 1)])
    if index.max() >= len(rows):
        raise InputError(f"{file}: {len(rows)} lines, but there is a scan {index.max():06d}; it belongs elsewhere")
    return np.asarray(rows[index])


def write_log(
    log: Log,
    sweeps: PendingSweeps,
    folder: Path,
    frame: str = "deskewed",
    instances: bool = True,
    relabel: bool = True,
) -> Log:
    """Fill ``folder`` with a sequence; calib.txt holds the axes' exchange, so the poses read back exactly.

    Labels of another vocabulary are mapped to SemanticKITTI's, and simulated objects that move get the ids for that;
    ``relabel=False`` keeps the log's own ids. Classes that SemanticKITTI lacks become unlabelled, which is warned of.
    Remissions are from 0 to 1. Returns the log with the vocabulary written.
    """
    (folder / "velodyne").mkdir(exist_ok=True)
    (folder / "labels").mkdir(exist_ok=True)
    count, seen = len(log), set[int]()
    write = partial(_write_sweep, folder, log.labels if relabel else None, frame, instances, log.full_scale)
    for labels in sweeps.write(lambda at: _scan_file(folder, at).is_file(), write):
        seen.update(labels)
    Tr = poses.T_CAMERA_LIDAR
    written = np.tile(np.eye(4), (count, 1, 1)) if frame == "world" else log.poses
    poses.write_poses(
        Trajectory(np.arange(count), portable.matmul(Tr, written, inverse(Tr))), folder / "poses.txt", "kitti"
    )
    (folder / "times.txt").write_text("".join(f"{time!r}\n" for time in np.asarray(log.times, float).tolist()))
    unit = "1.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0 0.0"
    matrix = " ".join(repr(value) for value in Tr[:3].ravel().tolist())
    (folder / "calib.txt").write_text("".join(f"P{at}: {unit}\n" for at in range(4)) + f"Tr: {matrix}\n")
    if not relabel or not log.labels.known:
        return log
    lost = map_labels(log.labels, LABELS).lost_names(np.array(sorted(seen)))
    if lost and not log.labels.same_as(LABELS):
        warnings.warn(
            f"log '{log.name}': SemanticKITTI has no class for {', '.join(lost)}; their returns are unlabelled",
            stacklevel=3,
        )
    return replace(log, labels=LABELS)


def _scan_file(folder: Path, at: int) -> Path:
    return folder / "velodyne" / f"{at:06d}.bin"


def _write_sweep(
    folder: Path,
    labels: LabelSet | None,
    frame: str,
    instances: bool,
    full_scale: float | None,
    given: Sweep,
    at: int,
    open_file: OpenFile,
) -> list[int]:
    """Write a sweep, whose labels are mapped from the vocabulary ``labels`` if given; returns those that it had."""
    sweep = given if labels is None else relabel_sweep(given, labels)
    sweep = replace(sweep, intensity=kitti_bin.scale_remission(sweep.intensity, full_scale))
    with open_file(folder / "labels" / f"{at:06d}.label") as file:
        kitti_bin.write_labels(sweep, file, instances)
    with open_file(_scan_file(folder, at)) as file:  # the last file of a sweep: once it is there, the sweep is finished
        kitti_bin.write(sweep, file, frame)
    return [int(label) for label in np.unique(given.label)]


FORMAT = Format(
    "semantickitti",
    "KITTI odometry sequence with SemanticKITTI labels",
    frame="deskewed",
    recognises=recognises,
    open_log=open_log,
    write_log=write_log,
    resumes=True,
    parts=("velodyne/*.bin", "poses.txt", "calib.txt", "times.txt"),
)
