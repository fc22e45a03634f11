"""KITTI's object detection benchmark: one ``training/`` for all runs, its frames numbered through, and ``ImageSets/``.

``training/`` has velodyne, calib, label_2 and image_2, a file a frame each. The images show the returns, since loaders
ask for images; they are no photographs. The truth of each sweep is in the folder of its run, `FRAMES` tells which.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.dataset.actor_annotations import Annotations
from resweep.dataset.layouts.kitti_image import draw_returns
from resweep.dataset.layouts.kitti_labels import format_objects
from resweep.dataset.layouts.run_files import UNIT, RunFacts, pack_points
from resweep.errors import InputError
from resweep.files import write_file
from resweep.files.strict_json import format_json
from resweep.io.datasets.kitti.kitti_camera import KittiCamera
from resweep.pose import Array
from resweep.sweep import Sweep

FRAMES = "frames.json"
_VALIDATION_STRIDE = 5  # every fifth run, or the last fifth of a single one, is for validation


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write scan, calibration, labels and image of one sweep."""
    training, stem = folder.parent / "training", f"{run.first_frame + at:06d}"
    points = pack_points(sweep)
    write_file(training / "velodyne" / f"{stem}.bin", points)
    write_file(training / "image_2" / f"{stem}.png", draw_returns(points[:, :3], points[:, 3], run.camera))
    write_file(training / "calib" / f"{stem}.txt", format_calibration(run.camera).encode())
    lines = "".join(f"{line}\n" for line in format_objects(found.rows(), run.camera))
    write_file(training / "label_2" / f"{stem}.txt", lines.encode())


def write_run(folder: Path, run: RunFacts) -> None:
    """Write nothing more: frames are moments of their own."""


def write_dataset(output: Path, runs: Sequence[RunFacts]) -> None:
    """Write which frames are for training and which for validation, and the run and sweep of each frame.

    Frames whose label file is empty are in neither set: loaders stumble over frames without an object.
    """
    sets: dict[str, list[str]] = {"train": [], "val": []}
    frames = {}
    for number, run in enumerate(runs):
        count = len(run.times)
        for at in range(count):
            stem = f"{run.first_frame + at:06d}"
            frames[stem] = {"run": run.name, "sweep": at}
            if _has_labels(output / "training" / "label_2" / f"{stem}.txt", output / run.name / "boxes"):
                sets["val" if _is_validation(number, len(runs), at, count) else "train"].append(stem)
    sets["trainval"], sets["test"] = sorted(sets["train"] + sets["val"]), []
    for name, stems in sets.items():
        write_file(output / "ImageSets" / f"{name}.txt", "".join(f"{stem}\n" for stem in stems).encode())
    write_file(output / FRAMES, (format_json(frames, indent=1) + "\n").encode())


def _has_labels(file: Path, truth: Path) -> bool:
    if not file.is_file():
        raise InputError(f"{file}: missing, though its sweep is complete; remove {truth} to make its run again")
    return file.stat().st_size > 0


def _is_validation(run: int, runs: int, at: int, sweeps: int) -> bool:
    if runs == 1:
        return at >= sweeps - max(1, sweeps // _VALIDATION_STRIDE) and sweeps > 1
    return run % _VALIDATION_STRIDE == _VALIDATION_STRIDE - 1 or (runs < _VALIDATION_STRIDE and run == runs - 1)


def format_calibration(camera: KittiCamera) -> str:
    """A calibration file of the object benchmark; there is no IMU but the LiDAR."""
    lines = [f"P{at}: {format_numbers(matrix)}" for at, matrix in enumerate(camera.projections)]
    lines += [f"R0_rect: {format_numbers(camera.rectification)}"]
    lines += [f"Tr_velo_to_cam: {format_numbers(camera.T_camera_lidar[:3])}", f"Tr_imu_to_velo: {UNIT}"]
    return "\n".join(lines) + "\n"


def format_numbers(matrix: Array) -> str:
    """The numbers of a matrix row by row, with all their digits."""
    return " ".join(repr(value) for value in matrix.ravel().tolist())
