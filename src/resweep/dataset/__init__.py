"""Datasets: worlds, sensors, drives and traffic to labelled sweeps on disk."""

from resweep.dataset.generate import Summary, generate
from resweep.dataset.plan import Plan, load_plan

__all__ = ["Plan", "Summary", "generate", "load_plan"]
