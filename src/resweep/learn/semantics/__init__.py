"""Semantic segmentation by kernel point convolutions (KPConv, as C 3.2 uses it), trained on labelled logs."""

from resweep.learn.semantics.config import SemanticsConfig
from resweep.learn.semantics.trainer import learn_semantics

__all__ = ["SemanticsConfig", "learn_semantics"]
