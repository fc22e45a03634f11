"""What a scenario is made of: objects to place in a world, actors that move through it, and how they move."""

from resweep.scenario.actors import Actor
from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank, load_bank
from resweep.scenario.builtin import builtin_bank
from resweep.scenario.scenario import Scenario, load_scenario

__all__ = ["Actor", "Asset", "Bank", "Scenario", "builtin_bank", "load_bank", "load_scenario"]
