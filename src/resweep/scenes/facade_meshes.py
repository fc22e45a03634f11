"""Buildings along a street: a façade with recessed windows and a door in front of a plain block."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.cars import GLASS
from resweep.scenes.scene_labels import BRICK_REFLECTANCE, GLASS_REFLECTANCE, Label
from resweep.scenes.scene_parts import Point
from resweep.worlds import Material, Mesh

STOREY_M = 3.0
BAY_M = 3.0
RECESS_M = 0.15
WALL, PANE = 0, 1


def building(
    width_m: float,
    depth_m: float,
    storeys: int,
    at: Point = (0.0, 0.0, 0.0),
    yaw_rad: float = 0.0,
    *,
    reflectance: float = BRICK_REFLECTANCE,
    instance: int = 0,
) -> Mesh:
    """A building whose façade stands on ``at``, in the middle of its width, and faces −y before the turn.

    Every bay of about 3 m has a window on each storey, 1.2 m × 1.4 m and set back by 15 cm, but the
    middle bay of the ground floor, which has a door. Panes are glass, mirror-like.
    """
    bays = max(round(width_m / BAY_M), 1)
    height = storeys * STOREY_M
    quads: list[Array] = []
    kinds: list[int] = []
    bay = width_m / bays
    for storey in range(storeys):
        for i in range(bays):
            door = storey == 0 and i == bays // 2
            low, high = (0.0, 2.1) if door else (0.9, 2.3)
            origin = np.array([-width_m / 2 + i * bay, 0.0, storey * STOREY_M])
            _add_bay(quads, kinds, origin, bay, (low, high), 1.0 if door else 1.2)
    _add_block(quads, width_m / 2, depth_m, height)
    kinds += [WALL] * (len(quads) - len(kinds))
    pane = np.repeat(np.array(kinds), 2)
    vertices = np.concatenate(quads)
    faces = (4 * np.arange(len(quads))[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    mesh = Mesh(
        vertices,
        faces,
        label=int(Label.BUILDING),
        reflectance=np.where(pane == PANE, GLASS_REFLECTANCE, reflectance),
        material=pane,
        instance=instance,
        materials=(Material(), GLASS),
        name="building",
    )
    return mesh.moved(from_xyz_rpy(at[0], at[1], at[2], yaw=yaw_rad))


def _make_rectangle(x: tuple[float, float], z: tuple[float, float], y: float) -> Array:
    """An upright rectangle facing −y."""
    return np.array([[x[0], y, z[0]], [x[1], y, z[0]], [x[1], y, z[1]], [x[0], y, z[1]]])


def _add_bay(
    quads: list[Array], kinds: list[int], origin: Array, bay: float, opening: tuple[float, float], width: float
) -> None:
    """One bay of one storey: the wall around an opening, its reveals, and the pane in its depth."""
    left, right = (bay - width) / 2, (bay + width) / 2
    low, high = opening
    parts = [
        _make_rectangle((0, left), (0, STOREY_M), 0),
        _make_rectangle((right, bay), (0, STOREY_M), 0),
        _make_rectangle((left, right), (high, STOREY_M), 0),
    ]
    if low > 0:
        parts.append(_make_rectangle((left, right), (0, low), 0))
    ring = _make_rectangle((left, right), (low, high), 0)
    back = ring + [[0, RECESS_M, 0]] * np.ones((4, 1))
    for i in range(4):
        j = (i + 1) % 4
        parts.append(np.array([ring[i], ring[j], back[j], back[i]]))
    quads += [part + origin for part in [*parts, back]]
    kinds += [WALL] * len(parts) + [PANE]


def _add_block(quads: list[Array], half: float, depth: float, height: float) -> None:
    """The other sides of the building and its roof."""
    a, b, c, d = (np.array(corner) for corner in ((-half, 0), (half, 0), (half, depth), (-half, depth)))
    for start, end in ((b, c), (c, d), (d, a)):
        quads.append(np.array([[*start, 0], [*end, 0], [*end, height], [*start, height]]))
    quads.append(np.array([[*corner, height] for corner in (a, b, c, d)]))
