"""From a world and a sensor to sweeps."""

from resweep.simulate.realism import RealismModel, load_realism
from resweep.simulate.resimulate import resimulate
from resweep.simulate.retrace import Retracer
from resweep.simulate.simulator import Simulator

__all__ = ["RealismModel", "Retracer", "Simulator", "load_realism", "resimulate"]
