"""Judges by what a user calls them: models on disk and functions, which can read clouds that nobody has read before."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import InputError
from resweep.log import Log
from resweep.perception.detection.detector_card import KIND as DETECTOR
from resweep.perception.detection.kitti_results import recognises_kitti
from resweep.perception.detection.open_detections import open_detections
from resweep.perception.judging.asking import Model
from resweep.perception.load_model import bind_model, load_model, read_kind
from resweep.perception.models import DetectionModel, FeatureModel, SegmentationModel
from resweep.perception.segmentation.result_files import ResultFiles


def open_model(path: str | Path, log: Log) -> Model:
    """The model that ``path`` names, to judge the sweeps of a log and simulated ones.

    It is a folder that ``resweep learn`` wrote (a segmenter, a detector or a labeller), or ``MODULE:NAME`` of a model
    or function in Python. Files of results are an error: they hold answers on the recorded sweeps alone.
    """
    given = Path(path)
    if given.suffix == ".json" or (given.is_dir() and not read_kind(str(path)) and recognises_kitti(given)):
        raise InputError(_describe_results(path))
    model = open_detections(path, log) if read_kind(str(path)) == DETECTOR else bind_model(load_model(path), log)
    if isinstance(model, ResultFiles):
        raise InputError(_describe_results(path))
    if not isinstance(model, SegmentationModel | DetectionModel | FeatureModel):
        raise InputError(f"{path}: a {type(model).__name__}, which is no judge; give a segmenter or a detector")
    return model


def _describe_results(path: str | Path) -> str:
    return (
        f"{path}: holds results, which are answers on the recorded sweeps alone; a judge must read the simulated ones "
        "too, so give the model that made them: a folder of resweep learn, or MODULE:NAME of a function"
    )
