"""The public names are a promise."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import resweep

NAMES = [
    "Actor",
    "AlignConfig",
    "Asset",
    "Bank",
    "BeamStatus",
    "HybridConfig",
    "Instances",
    "LabelSet",
    "Log",
    "Material",
    "Mesh",
    "MeshConfig",
    "ObjectConfig",
    "OdometryConfig",
    "Replay",
    "Report",
    "ResweepError",
    "Retracer",
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
    "align",
    "build",
    "build_bank",
    "evaluate",
    "from_xyz_rpy",
    "join",
    "load_bank",
    "load_labels",
    "load_scenario",
    "load_sensor",
    "load_world",
    "map_labels",
    "odometry",
    "open_log",
    "read_poses",
    "read_sweep",
    "relabel",
    "replay",
    "resimulate",
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


def test_type_checkers_see_the_same_names() -> None:
    """An editor completes `rs.` from the TYPE_CHECKING block: it holds what the table holds."""
    tree = ast.parse(Path(resweep.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: item.module for item in block.body if isinstance(item, ast.ImportFrom) for alias in item.names}
    assert set(seen) == set(resweep._PUBLIC) | set(resweep._SUBMODULES)
    for name, module in resweep._PUBLIC.items():
        assert str(seen[name]).startswith(module)


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
