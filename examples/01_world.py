"""Build a world from a drive, sweep a held-out place again, and say how close that is: the main job of Resweep.

The drive is simulated, so that nothing has to be fetched. With a recording of yours it reads the same:
``log = rs.open_log("kitti/sequences/00")``.

python examples/01_world.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
HELD = 3  # the sweep that the world is not built from

# Six sweeps at 5 m/s through a street.
times = np.arange(0.0, 0.6501, 0.05)
trajectory = rs.Trajectory(times, np.stack([rs.from_xyz_rpy(5.0 * t - 10.0, -1.3, 1.8) for t in times]))
sensor = rs.load_sensor("velodyne-vlp-16")
log = rs.Simulator(rs.scenes.street(seed=0), sensor, seed=1).run(trajectory)
rs.write_log(log, folder / "recording", overwrite=True, progress=False)
log = rs.open_log(folder / "recording")

rest = log[[at for at in range(len(log)) if at != HELD]]
world = rs.build(rest, rs.HybridConfig(refine="none"), progress=False)  # refinement pays on long drives
world.save(folder / "street.world", overwrite=True)
print(f"{world.n_primitives:,} primitives from {len(rest)} sweeps, saved as {folder / 'street.world'}")

again = rs.resimulate(log[HELD : HELD + 1], rs.load_world(folder / "street.world"))
report = rs.evaluate(again, log[HELD : HELD + 1])
median, near = report.metrics["range_median_m"], report.metrics["within_0.10m"]
report.save(folder / "report.html")
print(f"held-out sweep {HELD}: median range error {100 * median:.1f} cm, {100 * near:.1f} % within 10 cm")
print(f"all figures: {folder / 'report.html'}")
