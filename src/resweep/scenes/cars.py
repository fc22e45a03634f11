"""Parked cars: a rounded body with cabin, windows, wheels and retro-reflective plates."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.mesh_shapes import Shape, make_tubes
from resweep.scenes.scene_labels import GLASS_REFLECTANCE, PAINT_REFLECTANCE, Label
from resweep.scenes.scene_parts import Point, merged
from resweep.worlds import Material, Mesh

PAINT = Material("car paint", specular=0.6, specular_exponent=30.0)
GLASS = Material("glass", specular=1.0, specular_exponent=200.0)
PLATE = Material("number plate", retro=2.0)
TYRE_REFLECTANCE = 0.05

# The outline from the side, front to the right: x along the car as a share of its length, z as a
# share of its height; and the half width there, as a share of the widest. First the lower edge.
_SILL = np.array([[-0.49, 0.2], [-0.3, 0.17], [0.0, 0.17], [0.3, 0.17], [0.49, 0.2]])
_BELT = np.array([[-0.5, 0.55], [-0.3, 0.6], [0.0, 0.6], [0.25, 0.58], [0.5, 0.48]])
_ROOF = np.array([[-0.42, 0.64], [-0.24, 0.97], [0.0, 1.0], [0.1, 0.97], [0.27, 0.62]])


def car(
    at: Point = (0.0, 0.0, 0.0),
    yaw_rad: float = 0.0,
    *,
    length_m: float = 4.3,
    width_m: float = 1.8,
    height_m: float = 1.5,
    reflectance: float = PAINT_REFLECTANCE,
    instance: int = 0,
) -> Mesh:
    """A car standing on ``at``, its front towards ``yaw_rad``, x forward."""
    half = width_m / 2
    size = np.array([length_m, height_m])
    body = _make_loft([(_SILL * size, 0.93 * half), (_BELT * size, half)], closed_below=True)
    cabin = _make_loft([(_ROOF * [1, 0.62] * size, 0.88 * half), (_ROOF * size, 0.72 * half)], closed_below=False)
    label = int(Label.CAR)
    paint: dict[str, Any] = {"label": label, "instance": instance}
    parts = [
        Mesh(*body, reflectance=reflectance, materials=(PAINT,), **paint),
        _make_cabin(cabin, height_m, reflectance, paint),
        Mesh(*_make_wheels(length_m, half), reflectance=TYRE_REFLECTANCE, **paint),
        Mesh(*_make_plates(length_m), reflectance=0.8, materials=(PLATE,), **paint),
    ]
    return merged(parts, "car").moved(from_xyz_rpy(at[0], at[1], at[2], yaw=yaw_rad))


def _make_loft(levels: list[tuple[Array, float]], *, closed_below: bool) -> Shape:
    """A skin between outlines (p, 2), each at its half width: two flanks, the ends, the top, the floor."""
    points = len(levels[0][0])
    vertices = []
    for outline, half in levels:
        for side in (-half, half):
            vertices.append(np.column_stack([outline[:, 0], np.full(points, side), outline[:, 1]]))
    low, high = 0, 2 * points  # rows: right flank, left flank, of each level
    quads = []
    for i in range(points - 1):
        quads.append([low + i, low + i + 1, high + i + 1, high + i])
        quads.append([low + points + i + 1, low + points + i, high + points + i, high + points + i + 1])
        quads.append([high + i, high + i + 1, high + points + i + 1, high + points + i])
        if closed_below:
            quads.append([low + points + i, low + points + i + 1, low + i + 1, low + i])
    last = points - 1
    quads.append([low + points, low, high, high + points])
    quads.append([low + last, low + points + last, high + points + last, high + last])
    faces = np.array(quads)[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    return Shape(np.concatenate(vertices).astype(np.float32), faces.astype(np.uint32))


def _make_cabin(cabin: Shape, height_m: float, reflectance: float, paint: dict[str, Any]) -> Mesh:
    """The cabin: its roof is painted, all else is glass."""
    middle = cabin.vertices[cabin.faces][..., 2].mean(axis=1)
    is_roof = middle > 0.93 * height_m
    return Mesh(
        *cabin,
        reflectance=np.where(is_roof, reflectance, GLASS_REFLECTANCE),
        materials=(PAINT, GLASS),
        material=np.where(is_roof, 0, 1),
        **paint,
    )


def _make_wheels(length_m: float, half: float, radius: float = 0.31, width: float = 0.2) -> Shape:
    spine = np.empty((4, 2, 3))
    spine[:, :, 0] = np.array([-0.31, -0.31, 0.32, 0.32])[:, None] * length_m
    outer = np.array([-1, 1, -1, 1]) * (half + 0.005)
    spine[:, 0, 1], spine[:, 1, 1] = outer, outer - np.sign(outer) * width
    spine[:, :, 2] = radius
    return make_tubes(spine, np.full((4, 2), radius), 16, capped=True)


def _make_plates(length_m: float) -> Shape:
    """Two upright plates of 52 cm × 11 cm, just off the front and the rear."""
    corner = np.array([[0, -0.26, 0.45], [0, 0.26, 0.45], [0, 0.26, 0.56], [0, -0.26, 0.56]])
    offset = np.array([length_m / 2 + 0.01, 0, 0])
    vertices = np.vstack([corner + offset, corner - offset])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]])
    return Shape(vertices.astype(np.float32), faces.astype(np.uint32))
