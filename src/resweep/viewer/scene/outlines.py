"""Lines in the scene: boxes of objects, trajectories, fans of beams."""

from __future__ import annotations

import numpy as np

from resweep.boxes import Boxes
from resweep.pose import Array, transform

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_EDGES = np.array([[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 6], [5, 7], [6, 7]])
# An arrow on the roof says which side is the front.
_ARROW = np.array([[[0.1, 0.0, 0.5], [0.5, 0.0, 0.5]], [[0.5, 0.0, 0.5], [0.35, 0.25, 0.5]]])


def outline_boxes(boxes: Boxes, pose: Array) -> Array:
    """Segments (14 k, 2, 3) of boxes in the frame of ``pose``, as lines of the world."""
    if len(boxes) == 0:
        return np.zeros((0, 2, 3))
    unit = np.concatenate([_CORNERS[_EDGES], _ARROW])
    lines = unit[None] * boxes.size[:, None, None, :]
    c, s = np.cos(boxes.yaw), np.sin(boxes.yaw)
    turn = np.zeros((len(boxes), 3, 3))
    turn[:, 0, 0], turn[:, 0, 1], turn[:, 1, 0], turn[:, 1, 1], turn[:, 2, 2] = c, -s, s, c, 1.0
    local = np.einsum("kij,klpj->klpi", turn, lines) + boxes.centre[:, None, None, :]
    return transform(pose, local.reshape(-1, 3)).reshape(-1, 2, 3)


def outline_path(poses: Array) -> Array:
    """Segments (n - 1, 2, 3) through the positions of poses (n, 4, 4)."""
    places = poses[:, :3, 3]
    return np.stack([places[:-1], places[1:]], axis=1)
