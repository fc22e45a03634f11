"""Objects of traffic from plain shapes, each in its own frame: x forward, on the ground below its middle."""

from __future__ import annotations

import numpy as np

from resweep.scenes.mesh_shapes import make_tubes
from resweep.scenes.scene_labels import METAL_REFLECTANCE, PAINT_REFLECTANCE, SIGN_REFLECTANCE, Label
from resweep.scenes.scene_parts import box, cylinder, merged
from resweep.worlds import Mesh

_FUR_REFLECTANCE = 0.4
_RUBBER = 0.05


def make_vehicle(length_m: float, width_m: float, height_m: float, label: int, name: str) -> Mesh:
    """A boxy vehicle on wheels, as buses and lorries are: body, cab windows and wheels."""
    clear = 0.35
    parts = [
        box(
            (length_m, width_m, height_m - clear),
            (0, 0, clear),
            label=label,
            reflectance=PAINT_REFLECTANCE,
            name="body",
        )
    ]
    for x in (-0.32 * length_m, 0.34 * length_m):
        for side in (-1, 1):
            y = side * (width_m / 2 - 0.15)
            parts.append(box((0.9, 0.28, 0.9), (x, y, 0.0), label=label, reflectance=_RUBBER, name="wheel"))
    return merged(parts, name)


def make_animal(length_m: float = 1.6, height_m: float = 1.4) -> Mesh:
    """A four-legged animal such as a deer: a round trunk, neck, head and legs."""
    half, trunk = length_m / 2, 0.17 * length_m
    belly = 0.62 * height_m
    spines = [
        [[-0.8 * half, 0, belly], [0.45 * half, 0, belly]],
        [[0.4 * half, 0, belly], [0.75 * half, 0, 0.92 * height_m]],
        [[0.7 * half, 0, 0.92 * height_m], [half, 0, 0.85 * height_m]],
    ]
    radii = [[trunk, trunk], [0.5 * trunk, 0.4 * trunk], [0.45 * trunk, 0.25 * trunk]]
    for x in (-0.7 * half, 0.35 * half):
        for side in (-1, 1):
            spines.append([[x, side * 0.6 * trunk, belly], [x, side * 0.6 * trunk, 0.0]])
            radii.append([0.3 * trunk, 0.15 * trunk])
    shape = make_tubes(np.array(spines), np.array(radii), 10, capped=True)
    return Mesh(*shape, label=int(Label.OTHER_OBJECT), reflectance=_FUR_REFLECTANCE, name="animal")


def make_pedestrian(height_m: float = 1.75) -> Mesh:
    """A standing person: legs, trunk and head."""
    h = height_m
    legs = [(0, side * 0.1, 0) for side in (-1, 1)]
    parts = [cylinder(0.08, 0.48 * h, at, 10, label=Label.PERSON, reflectance=0.3, name="leg") for at in legs]
    parts.append(cylinder(0.2, 0.37 * h, (0, 0, 0.48 * h), 14, label=Label.PERSON, reflectance=0.4, name="trunk"))
    parts.append(cylinder(0.1, 0.15 * h, (0, 0, 0.85 * h), 12, label=Label.PERSON, reflectance=0.4, name="head"))
    return merged(parts, "pedestrian")


def make_cone(height_m: float = 0.75) -> Mesh:
    """A traffic cone on its foot, of high reflectance all over."""
    foot = box((0.36, 0.36, 0.04), (0, 0, 0), reflectance=_RUBBER, name="foot")
    spine = np.array([[[0, 0, 0.04], [0, 0, height_m]]])
    shape = make_tubes(spine, np.array([[0.15, 0.03]]), 16, capped=True)
    body = Mesh(*shape, label=int(Label.OTHER_OBJECT), reflectance=SIGN_REFLECTANCE, name="cone")
    return merged([foot, body], "cone")


def make_barrier(length_m: float = 2.0, height_m: float = 1.0) -> Mesh:
    """A construction barrier across the way: two planks on two feet; it is long along y."""
    parts = [box((0.5, 0.08, 0.1), (0, side * 0.4 * length_m, 0), name="foot") for side in (-1, 1)]
    parts += [box((0.06, 0.06, height_m), (0, side * 0.4 * length_m, 0), name="post") for side in (-1, 1)]
    for z in (0.45 * height_m, 0.78 * height_m):
        parts.append(box((0.05, length_m, 0.2), (0, 0, z), reflectance=SIGN_REFLECTANCE, name="plank"))
    return merged(parts, "barrier")


def make_debris(seed: int = 0) -> Mesh:
    """Something unknown that fell off a lorry: boxes and a pipe in a heap."""
    rng = np.random.default_rng([seed, 0x64656272])
    parts = [
        box(
            rng.uniform(0.25, 0.7, 3).tolist(), (*rng.uniform(-0.25, 0.25, 2), 0.0), rng.uniform(0, np.pi), name="piece"
        )
        for _ in range(4)
    ]
    pipe = make_tubes(np.array([[[-0.6, -0.2, 0.5], [0.6, 0.3, 0.6]]]), np.full((1, 2), 0.06), 12, capped=True)
    parts.append(Mesh(*pipe, label=int(Label.OTHER_OBJECT), reflectance=METAL_REFLECTANCE, name="pipe"))
    return merged(parts, "debris")
