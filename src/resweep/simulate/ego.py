"""The vehicle that carries the sensor: beams that it blocks return nothing of the world (D, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Mesh, World

Box = Sequence[float]


class Ego:
    """The part of the vehicle that blocks beams, fixed to the sensor.

    A box (x0, y0, z0, x1, y1, z1) or a mesh, metres in the sensor's frame. A beam is blocked if its axis hits it.
    """

    def __init__(self, shape: Box | Mesh) -> None:
        self.mesh: Mesh | None = None
        if isinstance(shape, Mesh):
            self.mesh = shape
            return
        try:
            corners = np.asarray(shape, dtype=np.float64).reshape(2, 3)
        except (TypeError, ValueError):
            raise ResweepError(
                f"ego: expected a box (x0, y0, z0, x1, y1, z1) in the sensor's frame or a Mesh, got {shape!r}"
            ) from None
        if not np.isfinite(corners).all() or not (corners[0] < corners[1]).all():
            raise ResweepError(f"ego: the box must go from its lowest to its highest corner, got {tuple(shape)}")
        if ((corners[0] < 0) & (corners[1] > 0)).all():
            raise ResweepError(
                "ego: the sensor lies within the box, which would block every beam; give a box beside it"
            )
        self.corners = corners

    @cached_property
    def _scene(self) -> Any:
        assert self.mesh is not None
        return make_native_scene(World([self.mesh]))

    def blocks(self, directions: Array, origins: Array | None = None) -> Array:
        """Whether the vehicle blocks each beam (b,) that leaves in ``directions`` (b, 3).

        Beams leave from ``origins`` (b, 3), metres in the sensor's frame, or from the sensor's own origin.
        """
        if self.mesh is not None:
            rays = np.ascontiguousarray(directions, np.float32)
            starts = np.zeros_like(rays) if origins is None else np.ascontiguousarray(origins, np.float32)
            return np.asarray(np.isfinite(self._scene.intersect(starts, rays, np.inf)["range"]))
        corners = self.corners[:, None] - (0.0 if origins is None else np.asarray(origins, np.float64)[None])
        with np.errstate(divide="ignore", invalid="ignore"):
            slabs = corners / np.asarray(directions, np.float64)[None]
        # Along a slab that holds the origin a parallel ray never leaves it; along another it never enters.
        inside = (corners[0] <= 0) & (corners[1] >= 0)
        parallel = np.asarray(directions) == 0
        enter = np.where(parallel, np.where(inside, -np.inf, np.inf), slabs.min(axis=0)).max(axis=1)
        leave = np.where(parallel, np.where(inside, np.inf, -np.inf), slabs.max(axis=0)).min(axis=1)
        return np.asarray((leave >= np.maximum(enter, 0.0)) & (leave > 0))
