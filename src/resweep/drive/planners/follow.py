"""Following a line: pure pursuit (Coulter 1992, "Implementation of the pure pursuit path tracking algorithm")."""

from __future__ import annotations

import math

import numpy as np

from resweep.pose import Array


def find_ahead(line: Array, place: tuple[float, float], ahead_m: float) -> tuple[float, float]:
    """The point of a line (n, 2) that lies ``ahead_m`` further along it than the one nearest to a place."""
    segments = np.diff(line, axis=0)
    squares = np.maximum((segments * segments).sum(axis=1), 1e-12)
    arm = np.array(place) - line[:-1]
    share = np.clip((arm * segments).sum(axis=1) / squares, 0.0, 1.0)
    foot = line[:-1] + share[:, None] * segments
    gap = foot - np.array(place)
    nearest = int((gap * gap).sum(axis=1).argmin())
    lengths = np.sqrt(squares)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = min(float(along[nearest] + share[nearest] * lengths[nearest]) + ahead_m, float(along[-1]))
    return float(np.interp(wanted, along, line[:, 0])), float(np.interp(wanted, along, line[:, 1]))


def pursue(pose: tuple[float, float, float], target: tuple[float, float]) -> tuple[float, float]:
    """Curvature, 1/m, of the arc from a pose (x, y, yaw) to a target, and its bearing, radians."""
    x, y, yaw = pose
    dx, dy = target[0] - x, target[1] - y
    distance = max(math.hypot(dx, dy), 1e-6)
    off = math.atan2(dy, dx) - yaw
    bearing = math.atan2(math.sin(off), math.cos(off))
    return 2.0 * math.sin(bearing) / distance, bearing
