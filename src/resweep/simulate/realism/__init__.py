"""Learned models at run time: channels of beams, cards, networks run by onnxruntime. No PyTorch."""

from resweep.simulate.realism.card import Card
from resweep.simulate.realism.channels import CHANNELS, CLASSES, BeamChannels, find_channels
from resweep.simulate.realism.layout import Layout, find_layout
from resweep.simulate.realism.model import RealismModel, load_realism

__all__ = [
    "CHANNELS",
    "CLASSES",
    "BeamChannels",
    "Card",
    "Layout",
    "RealismModel",
    "find_channels",
    "find_layout",
    "load_realism",
]
