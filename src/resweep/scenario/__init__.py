"""What a scenario is made of: objects to place in a world, and actors that move through it."""

from resweep.scenario.actors import Actor
from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank, load_bank

__all__ = ["Actor", "Asset", "Bank", "load_bank"]
