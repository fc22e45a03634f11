"""A wall 10 m ahead, swept once: the sensor reads 10 m, give or take its own noise.

python examples/01_wall.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.scenes import ground_plane, wall

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

# Metres; x forward, y left, z up. The wall's front face is the plane x = 10.
WALL = 1
layers = [ground_plane((60, 60)), wall((10.1, -8), (10.1, 8), height_m=4, thickness_m=0.2, instance=WALL)]
world = rs.World(layers, labels="semantickitti")  # whose ids the parts of scenes bear

sensor = rs.load_sensor("velodyne-vlp-16")
sweep = rs.Simulator(world, sensor, seed=7).sweep(from_xyz_rpy(z=1.8))

on_wall = sweep.instance == WALL
x = sweep.points[on_wall, 0]
ahead = sweep.range[on_wall & (np.abs(sweep.points[:, 1]) < 0.1) & (np.abs(sweep.points[:, 2]) < 0.2)]
print(f"{len(sweep):,} returns on {sweep.n_beams:,} beams, {on_wall.sum():,} of them from the wall")
print(f"straight ahead: range {ahead.mean():.3f} m; noise of one range {sensor.receiver.range_noise_sigma_m} m")
print(f"the wall stands at x = {x.mean():.3f} m, spread {x.std():.3f} m")

# Every beam is kept, with the reason why it has a return or none.
for status, count in zip(*np.unique(sweep.beam_status, return_counts=True), strict=True):
    print(f"{count:6,} beams {rs.BeamStatus(status).name}")

rs.write_sweep(sweep, folder / "wall.pcd")
rs.write_sweep(sweep, folder / "wall.sweep")  # lossless: the beams without return too
print(f"wrote {folder / 'wall.pcd'} and {folder / 'wall.sweep'}")
