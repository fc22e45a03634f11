"""Range-image segmenters: small networks that say of each return what it hit; and models of users that do so."""

from resweep.perception.segmentation.callable_model import CallableModel, wrap_function
from resweep.perception.segmentation.labeller_model import LabellerModel
from resweep.perception.segmentation.result_files import ResultFiles, ResultFolder, open_results
from resweep.perception.segmentation.segmenter import RangeSegmenter, load_segmenter
from resweep.perception.segmentation.segmenter_card import SegmenterCard

__all__ = [
    "CallableModel",
    "LabellerModel",
    "RangeSegmenter",
    "ResultFiles",
    "ResultFolder",
    "SegmenterCard",
    "load_segmenter",
    "open_results",
    "wrap_function",
]
