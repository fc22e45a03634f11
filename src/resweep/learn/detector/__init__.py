"""A bird's-eye detector of vehicles, trained on logs with boxes or with instances in their labels."""

from resweep.learn.detector.detector_config import DetectorConfig
from resweep.learn.detector.detector_trainer import learn_detector

__all__ = ["DetectorConfig", "learn_detector"]
