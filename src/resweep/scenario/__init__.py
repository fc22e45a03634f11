"""What a scenario is made of: objects to place in a world."""

from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank, load_bank

__all__ = ["Asset", "Bank", "load_bank"]
