"""What a point file cannot hold in its points: frame, pose, motion, time and sensor of a sweep.

Formats with room for free text (PCD and PLY comments, LAS records) carry it as one JSON object, so that
a sweep read back has its pose and motion. Other programs ignore it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import open_regular
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

VERSION = 1
MARK = "resweep "
# Some PLY readers refuse header lines above 1024 characters.
_CHUNK = 200


@dataclass(frozen=True, eq=False)
class Header:
    """Frame of the points, ``pose`` (4, 4) ``T_world_sensor``, motion, timestamp in seconds, sensor name."""

    frame: str = "sensor"
    pose: Array = field(default_factory=lambda: np.eye(4))
    timestamp: float = 0.0
    sensor: str = ""
    trajectory: Trajectory | None = None
    intensity_scale: float | None = None

    @classmethod
    def of(cls, sweep: Sweep, frame: str, intensity_scale: float | None = None) -> Header:
        """The header of ``sweep`` with its points in ``frame``; motion matters only to raw points."""
        motion = sweep.trajectory if frame == "sensor" else None
        return cls(frame, sweep.pose, float(sweep.timestamp), sweep.sensor, motion, intensity_scale)

    def to_json(self) -> str:
        """One line of ASCII without spaces; every number comes back exactly."""
        record: dict[str, Any] = {
            "version": VERSION,
            "frame": self.frame,
            "timestamp": self.timestamp,
            "sensor": self.sensor,
            "pose": self.pose[:3].ravel().tolist(),
        }
        if self.trajectory is not None:
            record["times"] = self.trajectory.times.tolist()
            record["poses"] = self.trajectory.poses[:, :3].reshape(-1, 12).tolist()
        if self.intensity_scale is not None:
            record["intensity_scale"] = self.intensity_scale
        return format_json(record, separators=(",", ":")).replace(" ", "\\u0020")

    @classmethod
    def from_json(cls, text: str, where: str) -> Header:
        """The header written by `to_json`; ``where`` names the file in errors."""
        try:
            record = parse_json(text)
            if record["version"] > VERSION:
                raise InputError(
                    f"{where}: written by a newer Resweep (header version {record['version']}, "
                    f"this one reads {VERSION}); upgrade Resweep"
                )
            motion = (
                Trajectory(np.array(record["times"]), _make_matrices(record["poses"])) if "times" in record else None
            )
            return cls(
                record["frame"],
                _make_matrices([record["pose"]])[0],
                float(record["timestamp"]),
                record["sensor"],
                motion,
                record.get("intensity_scale"),
            )
        except ResweepError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: the Resweep header is damaged ({error}); write the file again") from error

    def to_lines(self) -> list[str]:
        """The header as short comment lines, each beginning with ``resweep``."""
        text = self.to_json()
        return [MARK + text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]

    @classmethod
    def from_lines(cls, lines: Iterable[str], where: str) -> Header | None:
        """The header among comment ``lines``, or None if none begins with ``resweep``."""
        text = "".join(line[len(MARK) :].strip() for line in lines if line.startswith(MARK))
        return cls.from_json(text, where) if text else None


def read_head(path: Path, mark: bytes) -> bytes:
    """The beginning of a file up to the block that holds ``mark``, or 4 MB if none does."""
    data = b""
    with open_regular(path) as file:
        while mark not in data and len(data) < 1 << 22 and (block := file.read(1 << 14)):
            data += block
        return data + file.read(64)  # the rest of the marked line, where a block ends within it


def _make_matrices(rows: Any) -> Array:
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = np.asarray(rows, dtype=np.float64).reshape(-1, 3, 4)
    return poses
