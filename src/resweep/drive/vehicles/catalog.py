"""The vehicles that come with Resweep, and vehicles from a user's own YAML."""

from __future__ import annotations

import os
from importlib import resources
from os import PathLike
from pathlib import Path

from resweep.config import parse_spec, read_spec
from resweep.drive.vehicles.spec import Vehicle
from resweep.errors import ResweepError, nearest_names


def vehicle_names() -> list[str]:
    """The names of the catalog, sorted."""
    files = resources.files("resweep.drive.vehicles").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_vehicle(name_or_path: str | PathLike[str]) -> Vehicle:
    """The vehicle of a catalog name such as ``passenger-car``, or of a YAML file.

    Example: ``car = rs.drive.load_vehicle("passenger-car")``
    """
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.suffix not in (".yaml", ".yml") and not os.path.isfile(path):
        if name_or_path not in vehicle_names():
            raise ResweepError(
                f"vehicle '{name_or_path}': not in the catalog and not a file; "
                f"{nearest_names(name_or_path, vehicle_names())}"
            )
        file = resources.files("resweep.drive.vehicles").joinpath(f"{name_or_path}.yaml")
        return parse_spec(file.read_text(encoding="utf-8"), Vehicle, file.name)
    return read_spec(path, Vehicle)
