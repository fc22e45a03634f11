"""From a world and a sensor to sweeps."""

from resweep.simulate.resimulate import resimulate
from resweep.simulate.retrace import Retracer
from resweep.simulate.simulator import Simulator

__all__ = ["Retracer", "Simulator", "resimulate"]
