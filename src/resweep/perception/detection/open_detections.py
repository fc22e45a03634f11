"""A detector of any kind by its name: a folder of ours, files of results, or a function."""

from __future__ import annotations

import re
from pathlib import Path

from resweep.errors import InputError
from resweep.log import Log
from resweep.perception.detection.callable_detector import import_detector
from resweep.perception.detection.detector import load_detector
from resweep.perception.detection.detector_card import CARD
from resweep.perception.detection.kitti_results import open_kitti_results, recognises_kitti
from resweep.perception.detection.nuscenes_results import open_nuscenes_results
from resweep.perception.models import DetectionModel

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def open_detections(model: str | Path, log: Log, recording: str | Path | None = None) -> DetectionModel:
    """The detector that ``model`` names, for the sweeps of a log and for simulated ones of the same times.

    It is the folder that ``resweep learn detector`` wrote; a folder of KITTI's result files, one a frame; a JSON of
    nuScenes' results; or MODULE:NAME, a function that takes points and gives boxes (`CallableDetector`). Result files
    need the ``recording``: the folder that the log was opened from, which has the numbers of frames, calibrations and
    sample tokens.
    """
    path = Path(model)
    if (path / CARD).is_file():
        return load_detector(path).for_log(log)
    if path.is_file() and path.suffix == ".json":
        return open_nuscenes_results(path, log, _check_recording(path, recording))
    if recognises_kitti(path):
        return open_kitti_results(path, log, _check_recording(path, recording))
    if not path.exists() and _FUNCTION.fullmatch(str(model)):
        return import_detector(str(model), log.full_scale)
    what = "is no detector" if path.exists() else "does not exist"
    raise InputError(
        f"{model}: {what}; give the folder that `resweep learn detector` wrote, a folder of KITTI's result files, "
        "a results JSON of nuScenes, or MODULE:NAME of a function"
    )


def _check_recording(path: Path, recording: str | Path | None) -> Path:
    if recording is None:
        raise InputError(f"{path}: are results of frames; name the recording that they are of")
    return Path(recording)
