"""The drive that the demo records: a street with parked cars, trees and traffic, and one sensor through it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resweep.log import Log

SENSOR = "velodyne-hdl-32e"
SWEEPS = 26
_ROAD_M, _LANE_M, _SPEED_M_S = 12.0, 2.0, 8.0
_START_X_M = -38.0


def record_street(seed: int, sweeps: int = SWEEPS) -> Log:
    """A drive of ``sweeps`` along the street with three moving cars, computed as it is read.

    The boxes of the cars come with the sweeps, as annotations do.
    """
    from resweep.scenario import Scenario
    from resweep.scenes import StreetConfig, street
    from resweep.simulate import Simulator

    world = street(seed, StreetConfig(road_m=_ROAD_M, parked=0.45))
    lasts = sweeps / 10
    data: dict[str, Any] = {
        "name": "street",
        "ego": {"lane": [[_START_X_M, -_LANE_M], [60.0, -_LANE_M]], "speed_mps": _SPEED_M_S},
        "duration_s": lasts + 0.15,
        "actors": [
            {
                "name": "first",
                "asset": "hatchback",
                "lane": [[_START_X_M + 60, _LANE_M], [-58, _LANE_M]],
                "speed_mps": 9,
            },
            {"name": "second", "asset": "saloon", "lane": [[_START_X_M + 24, _LANE_M], [-58, _LANE_M]], "speed_mps": 5},
            {"name": "third", "asset": "suv", "lane": [[_START_X_M + 25, -_LANE_M], [58, -_LANE_M]], "speed_mps": 11},
        ],
    }
    scenario = Scenario(**data)
    trajectory, actors = scenario.place(world)
    cars = [replace(actor, name="car") for actor in actors]  # the class that their boxes bear
    log = Simulator(world, SENSOR, actors=cars, seed=seed).run(trajectory, sweeps=sweeps)
    return replace(log, name="street")
