"""From a world and a sensor to sweeps."""

from resweep.simulate.simulator import Simulator

__all__ = ["Simulator"]
