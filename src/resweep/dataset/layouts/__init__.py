"""Where a dataset's files lie: one module a layout, which writes the files of a sweep and those of a whole run.

Each sweep's files are written one by one and appear whole; ``boxes/NNNNNN.json`` comes last: with it the sweep is
complete. Beside what the layouts have, ``velocity/NNNNNN.bin`` holds (n, 3) float32 metres a second in the world and
``time/NNNNNN.bin`` (n,) float32 seconds since the sweep's timestamp, a row a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.dataset.actor_annotations import Annotations
from resweep.dataset.layouts import kitti, kitti_tracking_layout, nuscenes, semantickitti_layout
from resweep.dataset.layouts.run_files import RunFacts, is_complete, write_poses, write_truth
from resweep.io.datasets.kitti.semantic_labels import relabel_sweep
from resweep.sweep import Sweep

LAYOUTS = {
    "semantickitti": semantickitti_layout,
    "kitti": kitti,
    "kitti-tracking": kitti_tracking_layout,
    "nuscenes": nuscenes,
}

__all__ = ["LAYOUTS", "RunFacts", "express_labels", "is_complete", "write_dataset", "write_run", "write_sweep"]


def express_labels(sweep: Sweep, layout: str, run: RunFacts) -> Sweep:
    """The sweep of a run with labels as its layout writes them: SemanticKITTI's, but nuScenes maps its own."""
    return sweep if layout == "nuscenes" else relabel_sweep(sweep, run.labels)


def write_sweep(folder: Path, layout: str, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write the files of one sweep, the boxes last."""
    LAYOUTS[layout].write_sweep(folder, at, sweep, found, run)
    write_truth(folder, at, sweep, found)


def write_run(folder: Path, layout: str, run: RunFacts) -> None:
    """Write what belongs to a run as a whole: poses, times, calibration, tracks or tables."""
    write_poses(folder, run)
    LAYOUTS[layout].write_run(folder, run)


def write_dataset(output: Path, layout: str, runs: Sequence[RunFacts]) -> None:
    """Write what belongs to the dataset as a whole, once all its runs are there."""
    LAYOUTS[layout].write_dataset(output, runs)
