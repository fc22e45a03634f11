"""A wall 10 m ahead, swept once; then one beam that half misses a plate before it, in every return mode.

python examples/02_wall.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.scenes import box, ground_plane, wall

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

# A plate whose edge cuts a beam in half, before a wall: what each return mode reports.
WALL_M = 10.0
BEAM = {
    "pattern.azimuth_min_deg": 0.0,  # a single pulse, along x
    "pattern.azimuth_max_deg": 0.0,
    "beam.rays": "random",
    "beam.n_rays": 512,
    "receiver.signal_cutoff_m": 1.0,
    "receiver.range_noise_sigma_m": 0.0,
    "receiver.range_quantisation_m": 0.0,
}


def place(plate_m: float) -> rs.World:
    """A plate whose edge cuts the beam in half, ``plate_m`` away, before a wall at 10 m that reflects more."""
    plate = box((0.01, 4.0, 4.0), (plate_m + 0.005, 2.0, -2.0), reflectance=0.3, label=1)
    return rs.World([plate, box((0.2, 20.0, 20.0), (WALL_M + 0.1, 0.0, -10.0), reflectance=0.6, label=2)])


lines = ["plate_m,mode,ranges_m,intensities"]
for plate_m, why in (
    (5.0, "5 m before the wall: two echoes"),
    (9.5, "0.5 m before it: less than the cutoff, one echo"),
):
    print(f"plate at {plate_m} m, {why}")
    world = place(plate_m)
    for mode in ("first", "last", "strongest", "strongest-and-last", "multiple"):
        sensor = rs.load_sensor("sick-lms-291-s05").with_(**BEAM, **{"receiver.mode": mode})
        sweep = rs.Simulator(world, sensor, seed=1).sweep(np.eye(4))
        ranges = " and ".join(f"{value:.2f}" for value in sweep.range)
        shares = " and ".join(f"{value:.2f}" for value in sweep.intensity)
        print(f"  {mode:>18}: {ranges} m, intensity {shares}")
        lines.append(f"{plate_m},{mode},{ranges},{shares}")

(folder / "returns.csv").write_text("\n".join(lines) + "\n")
print(f"wrote {folder / 'returns.csv'}")
