"""Segmentation of range images: a small convolutional network, trained on labelled logs."""

from resweep.learn.segmenter.config import SegmenterConfig
from resweep.learn.segmenter.segmenter_trainer import learn_segmenter

__all__ = ["SegmenterConfig", "learn_segmenter"]
