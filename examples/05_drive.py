"""A drive: the sensor moves while it turns, so each sweep is skewed; undoing that; writing it for other tools.

python examples/05_drive.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy, transform
from resweep.scenes import Label, ground_plane, pole, wall

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")

WALL_Y = 8.0
trees = [pole(7.0, 0.4, (x, -6.0, 0.0), label=Label.TRUNK, instance=i) for i, x in enumerate(range(-30, 41, 10), 1)]
layers = [ground_plane((120, 60)), wall((-40, WALL_Y + 0.1), (50, WALL_Y + 0.1), 4, 0.2), *trees]
world = rs.World(layers, labels="semantickitti")  # whose ids the parts of scenes bear

# A lane change at 20 m/s: knots every 50 ms, interpolated in between.
times = np.arange(0.0, 1.0001, 0.05)
y = 1.5 * np.sin(np.pi * times) ** 2
yaw = np.arctan(np.gradient(y, times) / 20.0)
steps = zip(20.0 * times, y, yaw, strict=True)
trajectory = rs.Trajectory(times, np.stack([from_xyz_rpy(a, b, 1.9, yaw=c) for a, b, c in steps]))

drive = rs.Simulator(world, rs.load_sensor("velodyne-vlp-16"), seed=11).run(trajectory)
print(f"{len(drive)} sweeps over {trajectory.length_m:.1f} m; each is computed when it is read")

# The wall is flat. A sweep taken as if the sensor had stood still bends it; its own motion straightens it.
sweep = drive[3]
on_wall = sweep.label == Label.BUILDING
as_fired = transform(sweep.pose, sweep.points[on_wall].astype(np.float64))[:, 1] - WALL_Y
deskewed = sweep.world_points()[on_wall, 1] - WALL_Y
print(f"wall off its plane: {np.sqrt(np.mean(as_fired**2)):.3f} m rms as fired, ", end="")
print(f"{np.sqrt(np.mean(deskewed**2)):.3f} m rms deskewed")

rs.write_log(drive, folder / "sequences/00", format="semantickitti", overwrite=True, progress=False)
rs.write_log(drive, folder / "drive-las", format="las", frame="world", overwrite=True, progress=False)

again = rs.open_log(folder / "sequences/00")
labels = ", ".join(again.labels.count(again[0].label))
print(f"read back from SemanticKITTI: {len(again)} sweeps, {len(again[0]):,} points in the first; labels {labels}")
cloud = rs.load_sweep(folder / "drive-las/000003.las")
print(f"read back from LAS, world coordinates: {np.allclose(cloud.world_points(), sweep.world_points(), atol=2e-3)}")
