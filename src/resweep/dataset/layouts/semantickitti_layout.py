"""SemanticKITTI: ``velodyne/NNNNNN.bin``, ``labels/NNNNNN.label``, ``calib.txt``, ``poses.txt``, ``times.txt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.dataset.actor_annotations import Annotations
from resweep.dataset.layouts.run_files import UNIT, RunFacts, pack_points
from resweep.files import write_file
from resweep.io import poses
from resweep.sweep import Sweep


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write the scan of one sweep."""
    write_file(folder / "velodyne" / f"{at:06d}.bin", pack_points(sweep))


def write_run(folder: Path, run: RunFacts) -> None:
    """Write the calibration of a run."""
    matrix = " ".join(repr(value) for value in poses.T_CAMERA_LIDAR[:3].ravel().tolist())
    text = "".join(f"P{at}: {UNIT}\n" for at in range(4)) + f"Tr: {matrix}\n"
    write_file(folder / "calib.txt", text.encode())


def write_dataset(output: Path, runs: Sequence[RunFacts]) -> None:
    """Write nothing: runs are sequences of their own."""
