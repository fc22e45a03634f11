"""What a scenario is made of: actors that move through a world."""

from resweep.scenario.actors import Actor

__all__ = ["Actor"]
