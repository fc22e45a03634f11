"""Grass in a courtyard, with one ray a pulse and with nine: what comes through.

One ray has no width: it hits a blade or misses it. Light has: a part of it stops at the blade, the rest goes on.

python examples/04_vegetation.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.scenes import CourtyardConfig, Label, courtyard
from resweep.viewer import range_image

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

place = CourtyardConfig(size_m=40, wall_height_m=4, trees=4, triangles=2_500_000, blade_segments=4, tree_gap_m=6)
world = courtyard(seed=2, config=place)
print(f"{world.n_triangles:,} triangles, of which {world.meta['blades']:,} blades of grass and {place.trees} trees")

# A receiver that tells echoes 0.3 m apart, and reports up to four of them.
sensor = rs.load_sensor("velodyne-hdl-64e").with_(**{"receiver.mode": "multiple", "receiver.signal_cutoff_m": 0.3})
simulator = rs.Simulator(world, sensor, seed=5)  # the scene is built once, whatever sweeps it later
pose = from_xyz_rpy(z=2.0)

for rays in ("single", "nine"):
    sweep = simulator.with_sensor(sensor.with_(**{"beam.rays": rays})).sweep(pose)
    plant = sweep.label == Label.VEGETATION
    from_plant = np.zeros(sweep.n_beams, bool)
    from_plant[sweep.beam[plant]] = True
    nearest = np.full(sweep.n_beams, np.inf)
    np.minimum.at(nearest, sweep.beam[plant], sweep.range[plant])
    behind = ~plant & (sweep.range > nearest[sweep.beam])
    through = len(np.unique(sweep.beam[behind]))
    print(
        f"{rays:>6}: {from_plant.sum():,} of {sweep.n_beams:,} beams returned from a plant; "
        f"{through:,} of those ({through / from_plant.sum():.0%}) also returned from the ground, wood or wall behind it"
    )

range_image(sweep, folder / "courtyard.png", labels=world.labels)
rs.write_sweep(sweep, folder / "courtyard.laz")
print(f"wrote {folder / 'courtyard.png'} and {folder / 'courtyard.laz'}")
