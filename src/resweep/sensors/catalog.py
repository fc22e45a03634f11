"""The sensors that come with Resweep, and sensors from a user's own YAML."""

from __future__ import annotations

import os
from importlib import resources
from os import PathLike
from pathlib import Path

from resweep.config import parse_spec, read_spec
from resweep.errors import ResweepError, nearest_names
from resweep.sensors.spec import Sensor


def sensor_names() -> list[str]:
    """The names of the catalog, sorted.

    Example: ``ousters = [name for name in rs.sensor_names() if name.startswith("ouster")]``
    """
    files = resources.files("resweep.sensors").joinpath("catalog").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_sensor(name_or_path: str | PathLike[str]) -> Sensor:
    """The sensor of a catalog name such as ``velodyne-hdl-32e``, or of a YAML file.

    A string is a path if it ends in .yaml or .yml or names an existing file, else a catalog name.

    Example: ``sensor = rs.load_sensor("velodyne-hdl-32e").with_(rotation_rate_hz=20)``
    """
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.suffix not in (".yaml", ".yml") and not os.path.isfile(path):
        name = name_or_path.strip().lower()
        if name not in sensor_names():
            raise ResweepError(
                f"sensor '{name_or_path}': not in the catalog and not a file; {nearest_names(name, sensor_names())}"
            )
        file = resources.files("resweep.sensors").joinpath("catalog").joinpath(f"{name}.yaml")
        return parse_spec(file.read_text(encoding="utf-8"), Sensor, file.name)
    if not os.path.isfile(path):
        raise ResweepError(f"{path}: no such sensor file; give a YAML file or a name listed by 'resweep sensors'")
    return read_spec(path, Sensor)


def find_sensor(name: str) -> Sensor | None:
    """The catalog's sensor of that name, or None: a log may name any."""
    return load_sensor(name) if name in sensor_names() else None


def find_beam_slope(name: str) -> float:
    """Width at 1 m, in metres, of the beam of a catalog sensor; 0 if the catalog has none of that name."""
    if name not in sensor_names():
        return 0.0
    return load_sensor(name).beam_slope
