"""Cameras: how directions become pixels, and poses from which to look."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from resweep import _core
from resweep.config import Positive, Spec
from resweep.errors import ResweepError, SettingsError
from resweep.pose import Array

MAX_PIXELS = 16384
_NATIVE = {
    "pinhole": _core.Projection.PINHOLE,
    "panoramic": _core.Projection.PANORAMIC,
    "above": _core.Projection.PARALLEL,
}


class Camera(Spec):
    """A camera, whose axes are x forward, y left, z up.

    ``projection`` is that of a ``pinhole``, a ``panoramic`` one (columns are azimuths, rows elevations), or ``above``:
    parallel rays, as a map has.
    """

    projection: Literal["pinhole", "panoramic", "above"] = "pinhole"
    """How directions become pixels: pinhole, panoramic, or above (parallel rays)."""
    width: Annotated[int, Field(ge=1, le=MAX_PIXELS)] = 1280
    """Pixels across."""
    height: Annotated[int, Field(ge=1, le=MAX_PIXELS)] = 720
    """Pixels down."""
    fov_deg: Annotated[float, Field(gt=0, le=360)] = 70.0
    """Angle that is seen across, degrees; of a panorama up to 360. Parallel rays have none."""
    span_m: Positive = 100.0
    """Metres that are seen across by parallel rays."""

    def check(self) -> None:
        """Raise if a pinhole sees half of the world or more."""
        if self.projection == "pinhole" and self.fov_deg >= 179:
            raise SettingsError(
                "fov_deg", f"{self.fov_deg:g}: a pinhole sees less than 179 degrees; take a panoramic one"
            )

    @property
    def half(self) -> tuple[float, float]:
        """Half of what is seen across and up: tangents, radians or metres, by projection. Pixels are square."""
        if self.projection == "pinhole":
            across = math.tan(math.radians(self.fov_deg) / 2)
        else:
            across = math.radians(self.fov_deg) / 2 if self.projection == "panoramic" else self.span_m / 2
        up = across * self.height / self.width
        return across, min(up, math.pi / 2) if self.projection == "panoramic" else up

    def native(self, pose: Array, origin: Array) -> _core.Camera:
        """The camera at ``pose`` (``T_world_camera``) as the tracer takes it, around a world's ``origin``."""
        self.check()
        place = np.array(pose, np.float64)
        place[:3, 3] -= origin
        across, up = self.half
        return _core.Camera(
            projection=_NATIVE[self.projection],
            width=self.width,
            height=self.height,
            half_across=across,
            half_up=up,
            pose=np.ascontiguousarray(place),
        )

    def scaled(self, factor: int) -> Camera:
        """The same view with ``factor`` times as many pixels across and down."""
        return self.model_copy(update={"width": factor * self.width, "height": factor * self.height})


def look_at(eye: ArrayLike, target: ArrayLike) -> Array:
    """``T_world_camera`` (4, 4) of a camera at ``eye`` that looks at ``target``, both (3,) metres, upright."""
    start, end = np.asarray(eye, np.float64), np.asarray(target, np.float64)
    forward = end - start
    length = float(np.linalg.norm(forward))
    if not (np.isfinite(length) and length > 1e-9):
        raise ResweepError(f"camera: eye and target are one place, {start.tolist()}; give two different places")
    forward = forward / length
    left = np.cross([0.0, 0.0, 1.0], forward)
    if np.linalg.norm(left) < 1e-6:  # straight up or down: the upper edge of the picture is y
        left = np.array([-1.0, 0.0, 0.0]) if forward[2] < 0 else np.array([1.0, 0.0, 0.0])
    left = left / np.linalg.norm(left)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([forward, left, np.cross(forward, left)], axis=1)
    pose[:3, 3] = start
    return pose


def look_down(centre: ArrayLike, height_m: float) -> Array:
    """``T_world_camera`` of a camera ``height_m`` above ``centre`` (3,) that looks down, y up in the picture."""
    place = np.asarray(centre, np.float64)
    return look_at(place + np.array([0.0, 0.0, height_m]), place)
