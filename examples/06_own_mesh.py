"""Your own meshes: labels and reflectances by material name, copies as instances, a retro-reflective sign.

python examples/06_own_mesh.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import trimesh

import resweep as rs
from resweep.pose import from_xyz_rpy

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
LABELS = rs.load_labels("semantickitti")  # any vocabulary, or a YAML file of your own
GROUND, FACADE, CAR, SIGN = (LABELS.id_of(name) for name in ("road", "building", "car", "traffic sign"))

# An OBJ as a modelling tool writes it: faces grouped by material, which an MTL file beside it lists.
corners = [(-40, -40, 0), (40, -40, 0), (40, 40, 0), (-40, 40, 0), (20, -15, 0), (20, 15, 0), (20, 15, 6), (20, -15, 6)]
vertices = "".join("v {} {} {}\n".format(*corner) for corner in corners)
faces = "usemtl asphalt\nf 1 2 3 4\nusemtl brick\nf 5 6 7 8\n"
(folder / "place.obj").write_text("mtllib place.mtl\n" + vertices + faces)
(folder / "place.mtl").write_text("newmtl asphalt\nKd 0.2 0.2 0.2\nnewmtl brick\nKd 0.6 0.3 0.2\n")
names = {"asphalt": GROUND, "brick": FACADE}
bright = {"asphalt": 0.15, "brick": 0.35}
place = rs.World.from_mesh(folder / "place.obj", label=names, labels=LABELS, reflectance=bright)

# A GLB that places one model three times: its triangles are kept once, however many copies there are; each gets an id.
scene = trimesh.Scene()
scene.add_geometry(trimesh.creation.box((4.2, 1.8, 1.5)), geom_name="body", node_name="car-0")
for i, y in enumerate((-6.0, 1.0, 8.0)):
    scene.graph.update(f"car-{i}", matrix=from_xyz_rpy(12.0, y, 0.75), geometry="body")
scene.export(folder / "cars.glb")
# GLB files have y up and are turned to z up when they are read; this one was written with z up, so say so.
(cars,) = rs.World.from_mesh(folder / "cars.glb", label=CAR, reflectance=0.5, up="z").layers
numbered = rs.Instances(cars.mesh, cars.transforms, instance=[1, 2, 3], label=cars.label, name="cars")

# A mesh from arrays, with a material that sends light back where it came from.
quad = np.array([[15, -1, 2], [15, 1, 2], [15, 1, 3], [15, -1, 3]])
sheeting = rs.Material("sheeting", retro=2.0)
sign = rs.Mesh(
    quad, np.array([[0, 1, 2], [0, 2, 3]]), label=SIGN, reflectance=0.6, materials=[sheeting], instance=9, name="sign"
)

world = place + rs.World([numbered, sign], labels=LABELS)
print(world)
sweep = rs.Simulator(world, rs.load_sensor("ouster-os1-64"), seed=3).sweep(from_xyz_rpy(z=1.8))
for name, label in {"ground": GROUND, "facade": FACADE, "car": CAR, "sign": SIGN}.items():
    seen = sweep.label == label
    ids = np.unique(sweep.instance[seen]).tolist()
    print(f"{name:>6}: {seen.sum():6,} returns, mean intensity {sweep.intensity[seen].mean():.2f}, instances {ids}")
