"""What networks make of objects that they never saw: an open-set baseline, models of users, and their quality."""

from resweep.perception.open_set.baseline import OpenSetBaseline, OpenSetConfig, fit_baseline
from resweep.perception.open_set.panoptic_quality import Quality, add_up, find_quality
from resweep.perception.open_set.segments import THINGS, UNKNOWN_CLASS, OpenSetModel, Segments
from resweep.perception.open_set.users_models import OpenSetFunction, load_open_set_model, wrap_open_set_function

__all__ = [
    "THINGS",
    "UNKNOWN_CLASS",
    "OpenSetBaseline",
    "OpenSetConfig",
    "OpenSetFunction",
    "OpenSetModel",
    "Quality",
    "Segments",
    "add_up",
    "find_quality",
    "fit_baseline",
    "load_open_set_model",
    "wrap_open_set_function",
]
