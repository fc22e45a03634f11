"""The parts of a scenario as users write them: the ego vehicle, the actors, and what objects they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from resweep.config import Spec
from resweep.quantities import BodyLength, Moment, Mount, Number, ObjectLength, Positive, Rate, TimeShift
from resweep.scenario.motion import MotionSpec

# A Velodyne on KITTI's car stands 1.73 m above the ground (Geiger et al., IJRR 2013, figure 3).
SENSOR_HEIGHT_M = 1.73


class Cad(Spec):
    """An object from a mesh file; the fields are those of `Asset.from_mesh`."""

    file: str
    """Mesh file of the object: OBJ, PLY, STL, GLB or glTF."""
    category: str = "other object"
    """Class of the object, such as car, pedestrian or other object."""
    scale: Positive = 1.0
    """Metres per unit of the file."""
    up: Literal["y", "z"] | None = None
    """Upward axis of the file; y for glTF and GLB if left out, else z."""
    forward: Literal["x", "y", "-x", "-y"] | None = None
    """Axis that the front points along once z is up; -y for glTF and GLB if left out, else x."""


class RecordedTrack(Spec):
    """The boxes of one object of a log: the log's path and the track's number in it."""

    log: str
    """The log with the annotated object."""
    id: int = Field(ge=0, lt=2**63)
    """Number of the object's track in the log."""


class EgoSpec(MotionSpec):
    """Where the sensor goes: one of the motions, a ``poses`` file (TUM, KITTI, CSV), or the poses of a ``log``.

    Without z a motion follows the ground at ``height_m``; z, where given, is the sensor's own. ``offset_m`` moves the
    sensor in the frame of poses or log. ``rate_hz`` times KITTI poses without any. ``size_m`` is the vehicle, its
    box below the sensor, which actors must not run into; null to leave that out.
    """

    poses: str | None = None
    """A file of the sensor's poses: TUM, KITTI or CSV."""
    log: str | None = None
    """A log whose poses the sensor follows."""
    height_m: float = Field(default=SENSOR_HEIGHT_M, gt=0, le=1000)
    """Height of the sensor above the ground where a motion has no z, metres."""
    offset_m: tuple[Mount, Mount, Mount] = (0.0, 0.0, 0.0)
    """Place of the sensor in the frame of poses or log, metres."""
    rate_hz: Rate | None = None
    """Poses a second, for KITTI files without times."""
    size_m: tuple[BodyLength, BodyLength, BodyLength] | None = (4.3, 1.8, 1.5)
    """Length, width and height of the vehicle below the sensor, metres, which actors must not hit; null for none."""

    def kinds(self) -> list[str]:
        """The fields that give its motion."""
        return super().kinds() + [name for name in ("poses", "log") if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _check_one(self) -> EgoSpec:
        if len(self.kinds()) != 1:
            given = " and ".join(self.kinds()) or "nothing"
            self.refuse("", f"give one of at, waypoints, spline, lane, poses or log, got {given}")
        return self


class ActorSpec(MotionSpec):
    """An object and how it moves.

    The object is an ``asset`` of the bank by name, one of a ``category`` (with ``size_m`` that which fits best, D,
    5.1), or a ``cad`` file. Besides the motions of `MotionSpec` it may follow a recorded ``track``.

    It waits at its first place until ``start_s``, or until the ego comes within ``start_within_m`` of it; after its
    motion it stays where it is, or leaves (``after``). ``snap`` sets it on the ground. Variants of the
    scenario draw from ``vary_speed``, a range of factors, and ``vary_start_s``, of seconds added to the start.
    """

    name: str = Field(min_length=1)
    """Name of the actor, unlike all others."""
    asset: str | None = None
    """Name of an object of the bank."""
    category: str | None = None
    """In place of an asset: a class, such as car, of which the bank gives an object."""
    size_m: tuple[ObjectLength, ObjectLength, ObjectLength] | None = None
    """Length, width and height that an object of the category should have, metres: the nearest is taken."""
    cad: Cad | None = None
    """In place of an asset: a mesh file."""
    track: RecordedTrack | None = None
    """In place of a motion: the boxes of a recorded object."""
    start_s: Moment = 0.0
    """When it begins to move, seconds from the start of the ego."""
    start_within_m: Positive | None = None
    """It begins to move once the ego is so near, metres."""
    after: Literal["stay", "leave"] = "stay"
    """What it does after its motion: stays, or leaves."""
    snap: bool = True
    """Whether it is set on the ground."""
    allow_overlap: bool = False
    """Whether it may run into others or the world."""
    vary_speed: tuple[Number, Number] = (1.0, 1.0)
    """Range of factors on the speed, from which variants draw."""
    vary_start_s: tuple[TimeShift, TimeShift] = (0.0, 0.0)
    """Range of seconds added to the start, from which variants draw."""

    def kinds(self) -> list[str]:
        """The fields that give its motion."""
        return super().kinds() + (["track"] if self.track is not None else [])

    @model_validator(mode="after")
    def _check_actor(self) -> ActorSpec:
        objects = [name for name in ("asset", "category", "cad") if getattr(self, name) is not None]
        if len(objects) != 1 and not (self.track is not None and not objects):
            given = " and ".join(objects) or "none"
            self.refuse("asset", f"give one of asset, category or cad, got {given}")
        if self.size_m is not None and (self.category is None or min(self.size_m) <= 0):
            self.refuse("size_m", "needs a category, and is three lengths above zero")
        if len(self.kinds()) != 1:
            given = " and ".join(self.kinds()) or "nothing"
            self.refuse("at", f"give one of at, waypoints, spline, lane or track, got {given}")
        low, high = self.vary_speed
        if not 0 < low <= high:
            self.refuse("vary_speed", f"expected two factors above zero, the smaller first, got [{low:g}, {high:g}]")
        if low < 0.01 or high > 100.0:
            self.refuse("vary_speed", f"factors are between 0.01 and 100, got [{low:g}, {high:g}]")
        if self.vary_start_s[0] > self.vary_start_s[1]:
            self.refuse("vary_start_s", "expected two numbers of seconds, the smaller first")
        return self


def resolve_paths(data: Any, folder: Path) -> Any:
    """Scenario data in which relative paths are those in ``folder``, where they exist there."""
    if isinstance(data, dict):
        names = ("poses", "log", "file")
        return {key: (_resolve if key in names else resolve_paths)(value, folder) for key, value in data.items()}
    return [resolve_paths(item, folder) for item in data] if isinstance(data, list) else data


def _resolve(value: Any, folder: Path) -> Any:
    beside = folder / value if isinstance(value, str) else None
    return str(beside) if beside is not None and os.path.exists(beside) else value
