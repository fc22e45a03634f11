"""What the writer of a bag changed of a log, noted in the bag's metadata so that its reader can undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.config import parse_yaml, read_text
from resweep.errors import InputError
from resweep.log import Log
from resweep.sweep import Sweep

# Seconds added to all times, and the factor of intensities: keys of ``custom_data`` in metadata.yaml.
SHIFT_KEY, SCALE_KEY = "resweep_time_shift_s", "resweep_intensity_scale"


def undo_writing(log: Log, path: Path) -> Log:
    """The log of a bag with the times and intensities it had before Resweep wrote it; others stay as they are."""
    notes = _read_notes(path)
    shift, scale = _to_number(notes, SHIFT_KEY, 0.0, path), _to_number(notes, SCALE_KEY, 1.0, path)
    if (shift, scale) == (0.0, 1.0):
        return log
    if scale <= 0:
        raise InputError(f"{path}: {SCALE_KEY} in metadata.yaml is {scale:g}, not above zero; write the bag again")

    def undo(sweep: Sweep) -> Sweep:
        earlier = sweep.moved_to(sweep.pose, sweep.timestamp - shift)
        return replace(earlier, intensity=sweep.intensity / np.float32(scale))

    return log.map(undo, "undo the writer's units", times=log.times - shift)


def _read_notes(path: Path) -> Mapping[str, Any]:
    file = path / "metadata.yaml"
    if not file.is_file():  # a stored file alone, or a bag of ROS 1
        return {}
    notes = parse_yaml(read_text(file, "the metadata of a ROS 2 bag"), str(file)).get("rosbag2_bagfile_information")
    notes = notes.get("custom_data") if isinstance(notes, Mapping) else None
    return notes if isinstance(notes, Mapping) else {}


def _to_number(notes: Mapping[str, Any], key: str, default: float, path: Path) -> float:
    text = notes.get(key, default)
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{path}: {key} in metadata.yaml is '{text}', not a number; write the bag again")
    return value
