"""Labels from a learned model, without PyTorch: what a network is given of a sweep, and the classes it finds.

Networks are trained by `resweep.learn.semantics`; here they run by onnxruntime. Neighbours and grids are found by the
native kd-tree, outside of the network, so that both sides share them.
"""

from resweep.segmentation.card import Scores, SegmentationCard, read_card, write_model
from resweep.segmentation.labeller import Labeller, label_log, load_labeller

__all__ = ["Labeller", "Scores", "SegmentationCard", "label_log", "load_labeller", "read_card", "write_model"]
