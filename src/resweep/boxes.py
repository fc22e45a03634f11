"""Annotated objects of a sweep: boxes with a class and a track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes (k,) in the frame of their sweep's ``pose``, motion during the sweep undone.

    ``centre`` (k, 3) metres, ``size`` (k, 3) metres: length along the heading, width, height;
    ``yaw`` (k,) radians about z, counter-clockwise from x; ``name`` (k,) the class as its dataset spells
    it; ``track`` (k,) int64 the same for one object in all sweeps, -1 where unknown. ``label`` (k,) int64 is
    the class as returns bear it (0: none), ``velocity`` (k, 3) metres a second in the world (NaN: unknown) and
    ``n_points`` (k,) int64 the returns on the object (-1: not counted).
    """

    centre: Array
    size: Array
    yaw: Array
    name: Sequence[str]
    track: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    label: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    velocity: Array = field(default_factory=lambda: np.zeros((0, 3)))
    n_points: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", np.asarray(self.centre, np.float64).reshape(-1, 3))
        object.__setattr__(self, "size", np.asarray(self.size, np.float64).reshape(-1, 3))
        object.__setattr__(self, "yaw", np.asarray(self.yaw, np.float64).reshape(-1))
        object.__setattr__(self, "name", tuple(str(name) for name in self.name))
        for name, unknown in (("track", -1), ("label", 0), ("n_points", -1)):
            column = np.asarray(getattr(self, name), np.int64).reshape(-1)
            object.__setattr__(self, name, column if len(column) else np.full(len(self.yaw), unknown))
        velocity = np.asarray(self.velocity, np.float64).reshape(-1, 3)
        object.__setattr__(self, "velocity", velocity if len(velocity) else np.full((len(self.yaw), 3), np.nan))
        columns = (self.centre, self.size, self.yaw, self.name, self.track, self.label, self.velocity, self.n_points)
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise ResweepError(f"boxes: columns differ in length ({sorted(lengths)})")

    def __len__(self) -> int:
        return len(self.yaw)

    def contains(self, points: Array, margin_m: float = 0.0) -> Array:
        """Whether each point (n, 3) lies in each box: (k, n) bool. ``margin_m`` widens the boxes."""
        offset = np.asarray(points, np.float64)[None] - self.centre[:, None]
        c, s = portable.cos(self.yaw)[:, None], portable.sin(self.yaw)[:, None]
        local = np.stack([c * offset[..., 0] + s * offset[..., 1], c * offset[..., 1] - s * offset[..., 0]], axis=-1)
        local = np.concatenate([local, offset[..., 2:]], axis=-1)
        return np.asarray((np.abs(local) <= self.size[:, None] / 2 + margin_m).all(axis=-1))
