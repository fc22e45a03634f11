"""What a network that was trained on recordings makes of simulated sweeps: judges, paired scenes, their scores."""

from resweep.perception.load_model import bind_model, load_model

__all__ = ["bind_model", "load_model"]
