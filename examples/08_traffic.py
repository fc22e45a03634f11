"""Traffic: three cars on a street of its own, each at its own speed, standing on the ground and clear of all else.

python examples/08_traffic.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.scenes import StreetConfig, street

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")

world = street(seed=4, config=StreetConfig(road_m=12.0, parked=0.3))
scenario = rs.Scenario(
    name="traffic",
    ego={"lane": [[-40, -2], [40, -2]], "speed_mps": 8},
    duration_s=0.55,
    actors=[
        {"name": "hatchback", "asset": "hatchback", "lane": [[20, 2], [-40, 2]], "speed_mps": 9},
        {"name": "saloon", "asset": "saloon", "lane": [[-5, 2], [-50, 2]], "speed_mps": 6},
        {"name": "suv", "asset": "suv", "lane": [[-25, -2], [40, -2]], "speed_mps": 4},
    ],
)
trajectory, actors = scenario.place(world)
drive = rs.Simulator(world, "velodyne-vlp-16", actors=actors, seed=1).run(trajectory)

sweep = drive[2]
for actor in actors:
    own = sweep.instance == actor.instance
    speed = np.linalg.norm(sweep.extra["velocity"][own], axis=1).mean()
    print(f"{actor.name}: instance {actor.instance}, {own.sum()} returns, {speed:.2f} m/s")
rs.write_log(drive, folder / "traffic", overwrite=True, progress=False)

# A car that would drive through another is refused, with its name and the time.
faster = scenario.model_copy(update={"duration_s": 7.0})
try:
    faster.place(world)
except rs.ResweepError as error:
    print(error)
