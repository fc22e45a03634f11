"""The parts of a scenario as users write them: the ego vehicle, the actors, and what objects they are."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import Field, model_validator

from resweep.config import Spec
from resweep.scenario.motion import Motion

# A Velodyne on KITTI's car stands 1.73 m above the ground (Geiger et al., IJRR 2013, figure 3).
SENSOR_HEIGHT_M = 1.73


class Cad(Spec):
    """An object from a mesh file; the fields are those of `Asset.from_mesh`."""

    file: str
    category: str = "other object"
    scale: float = Field(default=1.0, gt=0)
    up: Literal["y", "z"] = "z"
    forward: Literal["x", "y", "-x", "-y"] = "x"


class RecordedTrack(Spec):
    """The boxes of one object of a log: the log's path and the track's number in it."""

    log: str
    id: int = Field(ge=0)


class EgoSpec(Motion):
    """Where the sensor goes: one of the motions, a ``poses`` file (TUM, KITTI, CSV), or the poses of a ``log``.

    Without z a motion follows the ground at ``height_m``; z, where given, is the sensor's own. ``offset_m`` moves the
    sensor in the frame of poses or log. ``rate_hz`` times KITTI poses without any. ``size_m`` is the vehicle, its
    box below the sensor, which actors must not run into; null to leave that out.
    """

    poses: str | None = None
    log: str | None = None
    height_m: float = Field(default=SENSOR_HEIGHT_M, gt=0)
    offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rate_hz: float | None = Field(default=None, gt=0)
    size_m: tuple[float, float, float] | None = (4.3, 1.8, 1.5)

    def kinds(self) -> list[str]:
        """The fields that say how it moves."""
        return super().kinds() + [name for name in ("poses", "log") if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _check_one(self) -> EgoSpec:
        if len(self.kinds()) != 1:
            given = " and ".join(self.kinds()) or "nothing"
            self.refuse("", f"give one of at, waypoints, spline, lane, poses or log, got {given}")
        return self


class ActorSpec(Motion):
    """An object and how it moves.

    The object is an ``asset`` of the bank by name, one of a ``category`` (with ``size_m`` that which fits best, D,
    5.1), or a ``cad`` file. Besides the motions of `Motion` it may follow a recorded ``track``.

    It waits at its first place until ``start_s``, or until the ego comes within ``start_within_m`` of it; after its
    motion it stays where it is, or leaves (``after``). ``snap`` sets it on the ground. Variants of the
    scenario draw from ``vary_speed``, a range of factors, and ``vary_start_s``, of seconds added to the start.
    """

    name: str = Field(min_length=1)
    asset: str | None = None
    category: str | None = None
    size_m: tuple[float, float, float] | None = None
    cad: Cad | None = None
    track: RecordedTrack | None = None
    start_s: float = Field(default=0.0, ge=0)
    start_within_m: float | None = Field(default=None, gt=0)
    after: Literal["stay", "leave"] = "stay"
    snap: bool = True
    allow_overlap: bool = False
    vary_speed: tuple[float, float] = (1.0, 1.0)
    vary_start_s: tuple[float, float] = (0.0, 0.0)

    def kinds(self) -> list[str]:
        """The fields that say how it moves."""
        return super().kinds() + (["track"] if self.track is not None else [])

    @model_validator(mode="after")
    def _check_actor(self) -> ActorSpec:
        objects = [name for name in ("asset", "category", "cad") if getattr(self, name) is not None]
        if len(objects) != 1 and not (self.track is not None and not objects):
            given = " and ".join(objects) or "none"
            self.refuse("asset", f"give one of asset, category or cad, got {given}")
        if self.size_m is not None and (self.category is None or min(self.size_m) <= 0):
            self.refuse("size_m", "goes with a category, and is three lengths above zero")
        if len(self.kinds()) != 1:
            given = " and ".join(self.kinds()) or "nothing"
            self.refuse("at", f"give one of at, waypoints, spline, lane or track, got {given}")
        low, high = self.vary_speed
        if not 0 < low <= high:
            self.refuse("vary_speed", f"expected two factors above zero, the smaller first, got [{low:g}, {high:g}]")
        if self.vary_start_s[0] > self.vary_start_s[1]:
            self.refuse("vary_start_s", "expected two numbers of seconds, the smaller first")
        return self


def resolve_paths(data: Any, folder: FilePath) -> Any:
    """Scenario data in which relative paths are those in ``folder``, where they exist there."""
    if isinstance(data, dict):
        names = ("poses", "log", "file")
        return {key: (_resolve if key in names else resolve_paths)(value, folder) for key, value in data.items()}
    return [resolve_paths(item, folder) for item in data] if isinstance(data, list) else data


def _resolve(value: Any, folder: FilePath) -> Any:
    beside = folder / value if isinstance(value, str) else None
    return str(beside) if beside is not None and os.path.exists(beside) else value
