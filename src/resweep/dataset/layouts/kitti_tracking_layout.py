"""KITTI's tracking benchmark: one ``training/`` for all runs, each of them a sequence such as 0000.

``training/`` has ``velodyne/0000/``, ``image_02/0000/`` (the returns, no photographs), ``calib/0000.txt``,
``label_02/0000.txt``, ``oxts/0000.txt`` and ``evaluate_tracking.seqmap.training``, the list of sequences that
evaluations read. The truth of each sweep is in the folder of its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.dataset.actor_annotations import Annotations
from resweep.dataset.layouts.kitti import format_numbers
from resweep.dataset.layouts.kitti_image import draw_returns
from resweep.dataset.layouts.kitti_labels import format_tracks
from resweep.dataset.layouts.run_files import UNIT, RunFacts, pack_points, read_objects
from resweep.files import write_file
from resweep.io.datasets.kitti.kitti_camera import KittiCamera
from resweep.io.datasets.kitti.oxts import format_packets
from resweep.pose import Trajectory
from resweep.sweep import Sweep

SEQUENCES = "evaluate_tracking.seqmap.training"


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write scan and image of one sweep."""
    training = folder.parent / "training"
    points = pack_points(sweep)
    write_file(training / "velodyne" / run.name / f"{at:06d}.bin", points)
    image = draw_returns(points[:, :3], points[:, 3], run.camera)
    write_file(training / "image_02" / run.name / f"{at:06d}.png", image)


def write_run(folder: Path, run: RunFacts) -> None:
    """Write calibration, tracks and motion of a sequence."""
    training, file = folder.parent / "training", f"{run.name}.txt"
    frames = range(len(run.times))
    lines = [line for at in frames for line in format_tracks(at, read_objects(folder, at), run.camera)]
    write_file(training / "label_02" / file, "".join(f"{line}\n" for line in lines).encode())
    write_file(training / "calib" / file, _format_calibration(run.camera).encode())
    write_file(training / "oxts" / file, format_packets(Trajectory(run.times, run.poses)).encode())


def write_dataset(output: Path, runs: Sequence[RunFacts]) -> None:
    """Write the list of sequences with the number of their frames."""
    text = "".join(f"{run.name} empty 000000 {len(run.times):06d}\n" for run in runs)
    write_file(output / "training" / SEQUENCES, text.encode())


def _format_calibration(camera: KittiCamera) -> str:
    """A calibration file of the tracking benchmark, whose last lines have no colons; the IMU is where the LiDAR is."""
    lines = [f"P{at}: {format_numbers(matrix)}" for at, matrix in enumerate(camera.projections)]
    lines += [f"R_rect {format_numbers(camera.rectification)}"]
    lines += [f"Tr_velo_cam {format_numbers(camera.T_camera_lidar[:3])}", f"Tr_imu_velo {UNIT}"]
    return "\n".join(lines) + "\n"
