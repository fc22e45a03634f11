"""Annotated boxes, from the frames and the forms in which datasets give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.pose import Array, transform


def boxes_from_poses(T_frame_boxes: Array, poses: Array, size: Any, name: Sequence[str], track: Any) -> Boxes:
    """Boxes from their poses (k, 4, 4) in another frame; x of a box is its heading. Tilt is left out."""
    there = portable.matmul(T_frame_boxes, poses)
    yaw = portable.arctan2(there[:, 1, 0], there[:, 0, 0])
    return Boxes(there[:, :3, 3], size, yaw, name, track)


def boxes_from_yaws(T_frame_boxes: Array, centre: Any, yaw: Any, size: Any, name: Sequence[str], track: Any) -> Boxes:
    """Boxes from centres (k, 3) and yaws (k,) in another frame."""
    yaw = np.asarray(yaw, np.float64).reshape(-1)
    heading = portable.matmul(
        np.stack([portable.cos(yaw), portable.sin(yaw), np.zeros_like(yaw)], axis=1), T_frame_boxes[:3, :3].T
    )
    centre = transform(T_frame_boxes, np.asarray(centre, np.float64).reshape(-1, 3))
    return Boxes(centre, size, portable.arctan2(heading[:, 1], heading[:, 0]), name, track)


class Tracks:
    """Numbers for a dataset's object names, from 0 in the order of their first mention."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._number: dict[str, int] = {}
        for name in names:
            self._number.setdefault(name, len(self._number))

    def __getitem__(self, name: str) -> int:
        return self._number.setdefault(name, len(self._number))
