"""Labelled sweeps on disk: datasets generated from a plan, and recorded drives replayed with their traffic."""

from resweep.dataset.dataset_plan import DatasetPlan, load_plan
from resweep.dataset.generate import Summary, generate
from resweep.dataset.replay import Replay, replay

__all__ = ["DatasetPlan", "Replay", "Summary", "generate", "load_plan", "replay"]
