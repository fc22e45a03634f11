"""Labelled sweeps on disk: datasets generated from a plan, and recorded drives replayed with their traffic."""

from resweep.dataset.generate import Summary, generate
from resweep.dataset.plan import Plan, load_plan
from resweep.dataset.replay import Replay, replay

__all__ = ["Plan", "Replay", "Summary", "generate", "load_plan", "replay"]
