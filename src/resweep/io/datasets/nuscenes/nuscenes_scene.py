"""A scene that we write: its sweeps, its names and where its files lie.

Every token is a hash of the scene's ``identity``, so two logs never share one; tables of several scenes are joined by
putting their rows together. The global frame begins at the corner of the scene's map (`map`). What nuScenes
has no field for is in the scene's record under ``resweep``, for our own reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import InputError
from resweep.io.datasets.nuscenes.classes import CHANNEL, Row, make_token
from resweep.labels import LabelSet
from resweep.pose import Array, rotation_of
from resweep.sensors import Sensor

VERSION = "v1.0-resweep"
TIME = "time_s"  # beside the integer microseconds of `timestamp`: the time with all its digits
VELOCITY = "velocity_mps"  # of an annotation, in the global frame; the devkit has differences of positions only
TRACK = "track"  # of an instance: the number that the log gave it
_DAY_S = 86_400
FACTS = "resweep"  # of a scene: what our reader takes from there


@dataclass(frozen=True, eq=False)
class NuScenesFrame:
    """One sweep: its time, ``T_world_sensor``, and the boxes in the frame of its pose (None: it was not annotated).

    ``points`` (k,) are the returns in each box, ``visible`` (k,) the share of the object that is seen (NaN: unknown).
    ``labelled``: some of its returns have a class.
    """

    time: float
    pose: Array
    boxes: Boxes | None
    points: Array
    visible: Array
    labelled: bool = True


@dataclass(frozen=True, eq=False)
class NuScenesScene:
    """What is known of a scene as a whole.

    ``identity`` is its hash, unlike that of any other log; ``start_s`` is the time of its first sweep; ``origin`` (2,)
    is where the corner of its map lies in the log's world; stored intensities are those of the log times
    ``intensity_scale``. It may have ``lidarseg`` and ``cameras`` or not. ``labels`` is the vocabulary of the labels of
    its boxes.
    """

    identity: str
    name: str
    start_s: float
    origin: Array
    intensity_scale: float
    version: str = VERSION
    lidarseg: bool = True
    cameras: bool = True
    labels: LabelSet | None = None
    sensor: Sensor | None = None
    sensor_name: str = ""

    @property
    def logfile(self) -> str:
        """The name of the log, in file names too; no other log has it."""
        words = re.sub(r"[^A-Za-z0-9.+-]+", "-", self.name).strip("-.") or "drive"
        return f"{words}-{self.token('log')[:8]}"

    def token(self, *parts: object) -> str:
        """The token of a record of this scene."""
        return make_token(self.identity, *parts)

    def stamp(self, time: float) -> int:
        """A time in microseconds since 1970, as nuScenes counts.

        Times that count from zero, as simulated ones do, begin at some time of 1970-01-01 that is the scene's own: the
        devkit cannot list two scenes that begin at once.
        """
        begin = int(self.token("begin"), 16) % (_DAY_S * 10**6) if abs(self.start_s) < _DAY_S else 0
        return begin + round(time * 1e6)

    def scan_file(self, time: float, key: bool = True) -> Path:
        """Where the scan of that time lies in the dataset, named as nuScenes names scans."""
        folder = Path("samples" if key else "sweeps") / CHANNEL
        return folder / f"{self.logfile}__{CHANNEL}__{self.stamp(time):016d}.pcd.bin"

    def label_file(self, at: int) -> Path:
        """Where the labels of the frame ``at`` lie in the dataset."""
        return Path("lidarseg") / self.version / f"{self.token('sample_data', at)}_lidarseg.bin"

    def facts(self) -> dict[str, Any]:
        """What the scene's record keeps for our reader."""
        spec = None if self.sensor is None else self.sensor.model_dump(mode="json", exclude_none=True)
        return {
            "origin_m": self.origin.tolist(),
            "intensity_scale": self.intensity_scale,
            "sensor_name": self.sensor_name,
            "sensor": spec,
        }


def find_keys(frames: Sequence[NuScenesFrame]) -> list[bool]:
    """Which frames are keyframes: those with boxes or labels, or all where none has any."""
    keys = [frame.boxes is not None or frame.labelled for frame in frames]
    return keys if any(keys) else [True] * len(frames)


def check_stamps(times: Array, name: str) -> None:
    """Raise if two sweeps fall on one microsecond, the unit of nuScenes' times."""
    if len(np.unique(np.round(np.asarray(times) * 1e6))) < len(times):
        raise InputError(f"log '{name}': two sweeps within a microsecond, nuScenes' unit of time; check its times")


def express_pose(scene: NuScenesScene, pose: Array) -> Row:
    """Translation and rotation, as records have them, of a pose in the log's world."""
    return {
        "translation": (pose[:3, 3] - np.r_[scene.origin, 0.0]).tolist(),
        "rotation": to_quaternion(pose[:3, :3]),
    }


def to_quaternion(rotation: Array) -> list[float]:
    """A rotation (3, 3) as w x y z."""
    x, y, z, w = rotation_of(rotation).as_quat().tolist()
    return [w, x, y, z]


def link_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows, each linked to the one before and the one after."""
    chained = [{**row, "prev": "", "next": ""} for row in rows]
    for before, row in pairwise(chained):
        before["next"], row["prev"] = row["token"], before["token"]
    return chained
