"""The public names are a promise."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
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
    "InputError",
    "Instances",
    "Judgement",
    "LabelSet",
    "Log",
    "Map",
    "Material",
    "Mesh",
    "MeshConfig",
    "MissingExtraError",
    "ObjectConfig",
    "OdometryConfig",
    "OutputError",
    "RealismModel",
    "Replay",
    "Report",
    "ResweepError",
    "Retracer",
    "Scenario",
    "Sensor",
    "SettingsError",
    "Simulator",
    "SplatConfig",
    "Splats",
    "StreamedWorld",
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
    "fit_sensor",
    "from_xyz_rpy",
    "holdout",
    "join",
    "judge",
    "learn_detector",
    "learn_realism",
    "learn_segmenter",
    "learn_semantics",
    "load_bank",
    "load_labels",
    "load_poses",
    "load_realism",
    "load_scenario",
    "load_sensor",
    "load_sweep",
    "load_world",
    "map_labels",
    "odometry",
    "open_log",
    "relabel",
    "replay",
    "resimulate",
    "sensor_names",
    "write_cloud",
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


def test_every_error_is_a_kind_of_one() -> None:
    kinds = [getattr(resweep, name) for name in NAMES if name.endswith("Error")]
    assert len(kinds) == 5
    assert all(issubclass(kind, resweep.ResweepError) and issubclass(kind, ValueError) for kind in kinds)


@pytest.mark.parametrize("name", resweep._SUBMODULES)
def test_each_room_resolves_without_another_import(name: str) -> None:
    """``rs.errors.ResweepError`` works after ``import resweep as rs`` alone."""
    code = f"import resweep as rs; assert rs.{name}.__name__ == 'resweep.{name}', rs.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_see_the_same_names() -> None:
    """An editor completes `rs.` from the TYPE_CHECKING block: it holds what the table holds."""
    tree = ast.parse(Path(resweep.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: item.module for item in block.body if isinstance(item, ast.ImportFrom) for alias in item.names}
    assert set(seen) == set(resweep._PUBLIC) | set(resweep._SUBMODULES)
    for name, module in resweep._PUBLIC.items():
        assert str(seen[name]).startswith(module)


FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(resweep, name))]


@pytest.mark.parametrize("name", [name for name in NAMES if callable(getattr(resweep, name))])
def test_signatures_name_every_argument(name: str) -> None:
    """``help(rs.build)`` must say what it takes: no ``*args`` or ``**options`` in what the package exports."""
    if inspect.isclass(value := getattr(resweep, name)) and issubclass(value, Exception):  # as all exceptions are
        return
    for parameter in inspect.signature(getattr(resweep, name)).parameters.values():
        assert parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD), f"{name}({parameter})"
        if name in FUNCTIONS:
            assert parameter.annotation is not parameter.empty, f"{name}({parameter})"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_an_example_that_calls_it(name: str) -> None:
    found = re.search(r"Example: ``(.+)``", getattr(resweep, name).__doc__)
    assert found, f"{name}: the docstring has no example"
    calls = [node.func for node in ast.walk(ast.parse(found[1])) if isinstance(node, ast.Call)]
    assert any(ast.unparse(call) == f"rs.{name}" for call in calls)
    given = next(
        node
        for node in ast.walk(ast.parse(found[1]))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"rs.{name}"
    )
    known = inspect.signature(getattr(resweep, name)).parameters
    assert {word.arg for word in given.keywords} <= set(known)


# Arguments that mean one thing wherever they stand.
ONE_TYPE = {"resume": "bool", "memory": "int | str | None", "progress": "bool"}


def list_signatures() -> dict[str, inspect.Signature]:
    """The signatures of all public functions, classes and their methods: of the package and of its rooms."""
    rooms = [resweep, *(getattr(resweep, name) for name in resweep._SUBMODULES)]
    found = {}
    for room in rooms:
        for name in getattr(room, "__all__", ()):
            value = getattr(room, name)
            if inspect.isclass(value) and issubclass(value, Exception):
                continue
            members = inspect.getmembers(value, inspect.isfunction) if inspect.isclass(value) else []
            for key, each in [(name, value), *((f"{name}.{key}", each) for key, each in members if key[0] != "_")]:
                if callable(each) and str(getattr(each, "__module__", "")).startswith("resweep."):
                    found[f"{room.__name__}.{key}"] = inspect.signature(each)
    return found


def test_arguments_of_one_name_have_one_type() -> None:
    seen = dict.fromkeys(ONE_TYPE, 0)
    for where, signature in list_signatures().items():
        for name in set(ONE_TYPE) & set(signature.parameters):
            seen[name] += 1
            assert str(signature.parameters[name].annotation) == ONE_TYPE[name], f"{where}({name})"
    assert min(seen.values()) >= 2, seen


def test_options_of_formats_are_arguments_of_the_functions() -> None:
    for function, option in (("open_log", "scene"), ("load_sweep", "drop_nan"), ("write_sweep", "intensity_scale")):
        parameter = inspect.signature(getattr(resweep, function)).parameters[option]
        assert str(parameter).endswith("= <the format's own>")


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
