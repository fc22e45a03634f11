"""A figure of your own: one meadow seen from above, by the sensor, and from the side.

python examples/07_picture.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENE_LABELS, Label, meadow
from resweep.viewer import palette
from resweep.viewer.sweep_grid import range_grid

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

simulator = rs.Simulator(meadow(seed=0), "ouster-os1-128", seed=1)
around = simulator.sweep(from_xyz_rpy(z=2.5))
# A scan that never repeats itself: each frame fills in more of the same view.
frames = list(simulator.with_sensor("livox-avia").run(np.repeat(from_xyz_rpy(z=2.5)[None], 15, axis=0)))

figure = palette.new_figure(13.0, 6.0, f"{simulator.world.n_triangles / 1e6:.1f} million triangles of meadow, swept")
left, upper, lower = figure.subplot_mosaic("ABB;ACC", width_ratios=(0.84, 0.6, 0.6)).values()

points = around.deskewed()
order = np.argsort(points[:, 2])
left.scatter(*points[order, :2].T, s=1.2, c=palette.label_colours(around.label[order], SCENE_LABELS), linewidths=0)
left.set(xlim=(-30, 30), ylim=(-30, 30), aspect="equal")
palette.style_axes(left, f"{around.sensor} from above, {len(around):,} returns", "x, forward [m]", "y, left [m]")

grid = range_grid(around)
assert grid is not None
image = np.where(grid.cells < 0, np.nan, around.range[grid.cells])
upper.imshow(image, extent=grid.extent, origin="lower", aspect="auto", cmap=palette.DEPTH_MAP, vmin=0, vmax=30)
palette.style_axes(upper, "range of the nearest return, 0 (blue) to 30 m (red)", "azimuth [°]", "elevation [°]")

cloud = np.concatenate([frame.world_points() for frame in frames])
label = np.concatenate([frame.label for frame in frames])
shown = (np.abs(cloud[:, 1]) < 0.6) & (cloud[:, 0] > 11.5)
colours = palette.label_colours(label[shown], SCENE_LABELS)
lower.scatter(cloud[shown, 0], cloud[shown, 2], s=3.0, c=colours, linewidths=0)
lower.set(xlim=(11.5, 19.5), ylim=(0.6, 3.0), aspect="equal")
title = f"{frames[0].sensor}, from the side: grass lets beams through, a wall does not"
palette.style_axes(lower, title, "x [m]", "z [m]")
kinds = (Label.VEGETATION, Label.TERRAIN, Label.BUILDING, Label.TRUNK, Label.POLE)
entries = [(SCENE_LABELS.class_name(kind), SCENE_LABELS.colour(kind)) for kind in kinds]
palette.add_legend(left, entries, loc="lower right")

beyond = shown & (cloud[:, 0] > 18.5)
print(
    f"slice: {np.sum(shown & (label == Label.TERRAIN)):,} returns from the ground, {beyond.sum()} from behind the wall"
)
figure.savefig(folder / "meadow.png", dpi=100, facecolor=palette.PAPER)
print(f"wrote {folder / 'meadow.png'}")
