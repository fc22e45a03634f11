"""The lines of KITTI's label files: objects as a camera sees them (KITTI object and tracking devkits, readme).

Only objects that the image shows and that have returns get a line, as in KITTI. All others are in ``boxes/``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.io.datasets.kitti.kitti_camera import KittiCamera
from resweep.pose import transform

# The devkits name the levels but give no shares. 0: fully visible, 1: partly, 2: largely occluded, 3: unknown.
_PARTLY_HIDDEN, _LARGELY_HIDDEN = 0.2, 0.6
# Tracking has levels of truncation too: 0 up to what the object benchmark allows an easy object, 2 beyond a hard one.
_PARTLY_CUT, _LARGELY_CUT = 0.15, 0.5
KITTI_NAMES = {
    "car": "Car",
    "van": "Van",
    "truck": "Truck",
    "pedestrian": "Pedestrian",
    "cyclist": "Cyclist",
    "tram": "Tram",
}


def format_objects(rows: Sequence[dict[str, Any]], camera: KittiCamera) -> list[str]:
    """Lines of ``label_2`` for the objects ``rows`` of a sweep (`Annotations.rows`)."""
    return [
        _format_line(row, edges, f"{truncation:.2f}", camera) for row, edges, truncation in _find_shown(rows, camera)
    ]


def format_tracks(frame: int, rows: Sequence[dict[str, Any]], camera: KittiCamera) -> list[str]:
    """Lines of ``label_02`` for the objects of the ``frame``-th sweep: frame and track, and levels of truncation."""
    return [
        f"{frame} {row['track']} {_format_line(row, edges, str(_grade(truncation, _PARTLY_CUT, _LARGELY_CUT)), camera)}"
        for row, edges, truncation in _find_shown(rows, camera)
    ]


def _find_shown(
    rows: Sequence[dict[str, Any]], camera: KittiCamera
) -> Iterator[tuple[dict[str, Any], list[float], float]]:
    """The objects with returns that the image shows, with their edges in pixels and their truncation."""
    hit = [row for row in rows if row["n_points"] > 0]
    centre, size, yaw = (np.array([row[name] for row in hit]) for name in ("centre", "size", "yaw"))
    boxes = Boxes(centre, size, yaw, [row["name"] for row in hit])
    found = camera.find_image_boxes(boxes)
    for row, edges, truncation in zip(hit, found.edges.tolist(), found.truncation.tolist(), strict=True):
        if truncation < 1.0:
            yield row, edges, truncation


def _format_line(row: dict[str, Any], edges: list[float], truncation: str, camera: KittiCamera) -> str:
    """type truncated occluded alpha, edges in the image (4), h w l, x y z of the floor's middle, ry."""
    length, width, height = row["size"]
    floor = np.array([row["centre"]]) - [[0.0, 0.0, height / 2]]
    x, y, z = transform(camera.T_rect_lidar, floor)[0].tolist()
    ahead = portable.matmul(camera.T_rect_lidar[:3, :3], [math.cos(row["yaw"]), math.sin(row["yaw"]), 0.0])
    turn = -math.atan2(ahead[2], ahead[0])
    alpha = _wrap_angle(turn - math.atan2(x, z))
    hidden = row["occlusion"]
    occlusion = 3 if hidden is None else _grade(hidden, _PARTLY_HIDDEN, _LARGELY_HIDDEN)
    numbers = (alpha, *edges, height, width, length, x, y, z, turn)
    name = KITTI_NAMES.get(row["name"], "Misc")
    return f"{name} {truncation} {occlusion} " + " ".join(f"{value:.4f}" for value in numbers)


def _grade(share: float, partly: float, largely: float) -> int:
    return 0 if share < partly else 1 if share < largely else 2


def _wrap_angle(angle: float) -> float:
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
