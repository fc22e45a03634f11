"""Actors that tests share."""

from __future__ import annotations

import numpy as np

from resweep import Actor
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import Label, box


def crossing(speed_mps: float, x: float, y: float, duration_s: float = 20.0, name: str = "car") -> Actor:
    """A box of 4 x 2 m that drives along +y, at (x, y) at time 0."""
    body = box((4.0, 2.0, 1.5), label=Label.CAR)
    poses = np.stack([from_xyz_rpy(x, y + speed_mps * t, 0.0, yaw=np.pi / 2) for t in (0.0, duration_s)])
    return Actor((body,), Trajectory(np.array([0.0, duration_s]), poses), 7, name=name, size_m=(4.0, 2.0, 1.5))
