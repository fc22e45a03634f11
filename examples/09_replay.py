"""Replay: a recorded drive again, with its own traffic, seen by another sensor.

The record here is simulated, so that the example needs no data. With a log of yours it begins at the second step: its
format must have annotated boxes, as KITTI raw, nuScenes or Argoverse 2 have.

python examples/09_replay.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.scenario import builtin_bank
from resweep.scenes import StreetConfig, street

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")

# 1. The record: an ego, a car and a bus in a street. Each gets a box, whose class is the actor's name.
world = street(seed=4, config=StreetConfig(road_m=12.0, parked=0.3))
scenario = rs.Scenario(
    ego={"lane": [[-40, -2], [40, -2]], "speed_mps": 8},
    duration_s=0.55,
    actors=[
        {"name": "car", "asset": "hatchback", "lane": [[-10, 2], [-50, 2]], "speed_mps": 9},
        {"name": "bus", "asset": "bus", "lane": [[-22, -2], [40, -2]], "speed_mps": 6},
    ],
)
trajectory, actors = scenario.place(world)
drive = rs.Simulator(world, "velodyne-vlp-16", actors=actors, seed=1).run(trajectory)
rs.write_log(drive, folder / "record", overwrite=True, progress=False)

# 2. The same drive in the world, by a sensor of 32 channels. Without a bank, objects are cut out of the log itself.
record = rs.open_log(folder / "record")
again = rs.replay(record, world, "velodyne-hdl-32e", bank=builtin_bank(), seed=7)
rs.write_log(again.log, folder / "replayed", overwrite=True, progress=False)

# 3. Sweeps pair up: the objects are where they were recorded.
was, now = record[2], again.log[2]
for instance, track in again.tracks.items():
    (row,) = np.flatnonzero(was.boxes.track == track)
    mine = now.deskewed()[now.instance == instance]
    share = was.boxes.contains(mine, margin_m=0.3)[row].mean()
    print(f"{was.boxes.name[row]} {track}: {len(mine)} returns replayed, {share:.0%} of them in the recorded box")
print(f"{len(was):,} returns recorded, {len(now):,} replayed by {now.sensor}, {len(again.left_out)} classes left out")
