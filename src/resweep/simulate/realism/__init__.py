"""Learned models at run time: channels of beams, cards, networks run by onnxruntime. No PyTorch."""

from resweep.simulate.beam_channels import CHANNELS, CLASSES, BeamChannels, find_channels
from resweep.simulate.realism.model import RealismModel, load_realism
from resweep.simulate.realism.model_card import RealismCard
from resweep.simulate.sensor_grid import SensorGrid, find_sensor_grid

__all__ = [
    "CHANNELS",
    "CLASSES",
    "BeamChannels",
    "RealismCard",
    "RealismModel",
    "SensorGrid",
    "find_channels",
    "find_sensor_grid",
    "load_realism",
]
