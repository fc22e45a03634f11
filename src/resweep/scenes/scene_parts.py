"""Plain parts to build places from: ground, boxes, walls, poles and cylinders.

Each returns a `Mesh` in metres. ``at`` (3,) is the middle of the part's foot; ``yaw_rad`` turns it
about the vertical through ``at``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.mesh_shapes import make_tubes
from resweep.scenes.scene_labels import (
    CONCRETE_REFLECTANCE,
    METAL_REFLECTANCE,
    SOIL_REFLECTANCE,
    Label,
)
from resweep.worlds import Material, Mesh

Point = Sequence[float]

# Bottom, top, then the four sides; corners 0 to 3 go round the foot, 4 to 7 round the top.
_BOX_QUADS = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
_BOX_FACES = _BOX_QUADS[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)


def ground_plane(
    size_m: Sequence[float] = (100.0, 100.0),
    at: Point = (0.0, 0.0, 0.0),
    *,
    label: int = Label.TERRAIN,
    reflectance: float = SOIL_REFLECTANCE,
    name: str = "ground",
) -> Mesh:
    """A level rectangle of ``size_m`` (x, y) in two triangles, facing up."""
    half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.asarray(size_m) / 2
    vertices = np.column_stack([half, np.zeros(4)]) + np.asarray(at)
    return Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), label=int(label), reflectance=reflectance, name=name)


def box(
    size_m: Sequence[float],
    at: Point = (0.0, 0.0, 0.0),
    yaw_rad: float = 0.0,
    *,
    label: int = Label.OTHER_OBJECT,
    reflectance: float = CONCRETE_REFLECTANCE,
    instance: int = 0,
    material: Material | None = None,
    name: str = "box",
) -> Mesh:
    """A closed box of ``size_m`` (x, y, z) standing on ``at``."""
    if min(size_m) <= 0:
        raise ResweepError(f"box '{name}': size must be above zero in x, y and z, got {tuple(size_m)}")
    ring = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    corners = np.vstack([np.column_stack([ring, np.zeros(4)]), np.column_stack([ring, np.ones(4)])])
    vertices = _place(corners * np.asarray(size_m), at, yaw_rad)
    return Mesh(
        vertices,
        _BOX_FACES,
        label=int(label),
        reflectance=reflectance,
        instance=instance,
        materials=(material or Material(),),
        name=name,
    )


def wall(
    start: Sequence[float],
    end: Sequence[float],
    height_m: float = 2.0,
    thickness_m: float = 0.2,
    *,
    label: int = Label.BUILDING,
    reflectance: float = CONCRETE_REFLECTANCE,
    instance: int = 0,
    name: str = "wall",
) -> Mesh:
    """A straight solid wall between two points (x, y) or (x, y, z) on the ground."""
    first, last = np.zeros(3), np.zeros(3)
    first[: len(start)], last[: len(end)] = start, end
    along = last - first
    length = float(np.hypot(along[0], along[1]))
    return box(
        (length, thickness_m, height_m),
        tuple((first + last) / 2),
        math.atan2(along[1], along[0]),
        label=label,
        reflectance=reflectance,
        instance=instance,
        name=name,
    )


def cylinder(
    radius_m: float,
    height_m: float,
    at: Point = (0.0, 0.0, 0.0),
    sides: int = 24,
    *,
    label: int = Label.OTHER_OBJECT,
    reflectance: float = CONCRETE_REFLECTANCE,
    instance: int = 0,
    name: str = "cylinder",
) -> Mesh:
    """A closed upright cylinder standing on ``at``, its ``sides`` corners on the circle."""
    if radius_m <= 0 or height_m <= 0 or sides < 3:
        raise ResweepError(
            f"cylinder '{name}': needs a radius and a height above zero and three sides, "
            f"got {radius_m}, {height_m}, {sides}"
        )
    spine = np.asarray(at, dtype=np.float64) + np.array([[0, 0, 0], [0, 0, height_m]])
    shape = make_tubes(spine[None], np.full((1, 2), radius_m), sides, capped=True)
    return Mesh(*shape, label=int(label), reflectance=reflectance, instance=instance, name=name)


def pole(
    height_m: float = 6.0,
    diameter_m: float = 0.15,
    at: Point = (0.0, 0.0, 0.0),
    sides: int = 16,
    *,
    label: int = Label.POLE,
    reflectance: float = METAL_REFLECTANCE,
    instance: int = 0,
    name: str = "pole",
) -> Mesh:
    """An upright pole standing on ``at``."""
    return cylinder(
        diameter_m / 2, height_m, at, sides, label=label, reflectance=reflectance, instance=instance, name=name
    )


def merged(meshes: Sequence[Mesh], name: str) -> Mesh:
    """One mesh of all the faces of several, with the union of their materials."""
    if not meshes:
        raise ResweepError(f"mesh '{name}': nothing to merge; give at least one mesh")
    table: list[Material] = []
    material = []
    for mesh in meshes:
        table += [entry for entry in mesh.materials if entry not in table]
        renumber = np.array([table.index(entry) for entry in mesh.materials], dtype=np.uint8)
        material.append(renumber[mesh.material])
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + np.uint32(start) for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate(faces),
        label=np.concatenate([mesh.label for mesh in meshes]),
        reflectance=np.concatenate([mesh.reflectance for mesh in meshes]),
        material=np.concatenate(material),
        instance=np.concatenate([mesh.instance for mesh in meshes]),
        materials=table,
        name=name,
    )


def _place(points: Array, at: Point, yaw_rad: float) -> Array:
    pose = from_xyz_rpy(at[0], at[1], at[2], yaw=yaw_rad)
    return np.asarray(portable.matmul(points, pose[:3, :3].T) + pose[:3, 3])
