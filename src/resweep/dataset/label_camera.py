"""The camera of a run's KITTI labels: that of its plan, of the log that the ego drives along, or KITTI's own."""

from __future__ import annotations

from resweep.dataset.dataset_plan import DatasetPlan, RunPlan
from resweep.io.datasets.kitti.kitti_camera import DEFAULT_CAMERA, KittiCamera, find_camera, read_camera
from resweep.remote import find_path


def choose_camera(plan: DatasetPlan, run: RunPlan) -> KittiCamera:
    """The camera that a plan names, else that of the run's own log (``ego.log``) where its folder has one."""
    if plan.camera is not None:
        return read_camera(plan.camera)
    log = run.scenario.ego.log if plan.layout.startswith("kitti") else None
    found = None if log is None else find_camera(find_path(log))
    return DEFAULT_CAMERA if found is None else found
