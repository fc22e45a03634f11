"""The public names are a promise."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import resweep

NAMES = [
    "Actor",
    "Asset",
    "Bank",
    "BeamStatus",
    "HybridConfig",
    "Instances",
    "Log",
    "Material",
    "Mesh",
    "MeshConfig",
    "ResweepError",
    "Scenario",
    "Sensor",
    "Simulator",
    "SplatConfig",
    "Splats",
    "SurfelConfig",
    "Sweep",
    "Trajectory",
    "VolumeConfig",
    "Volumes",
    "World",
    "__version__",
    "load_bank",
    "load_scenario",
    "load_sensor",
    "load_world",
    "open_log",
    "read_poses",
    "read_sweep",
    "sensor_names",
    "write_log",
    "write_sweep",
]


def test_the_public_names_are_these() -> None:
    assert sorted(resweep.__all__) == NAMES
    assert set(NAMES) <= set(dir(resweep))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_resolves_to_what_its_module_holds(name: str) -> None:
    value = getattr(resweep, name)
    if name != "__version__":
        assert value.__name__ == name
        assert value.__doc__
        assert getattr(importlib.import_module(resweep._PUBLIC[name]), name) is value


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulator'"):
        _ = resweep.simulator


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, resweep; heavy = {'numpy', 'scipy', 'zarr', 'trimesh', 'matplotlib', 'pydantic', 'resweep._core'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "[]"
