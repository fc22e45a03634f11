"""The core install does the main job: every module loads, the README runs, a drive is built and driven again."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trimesh

import resweep as rs
from resweep.cli import app

Command = Callable[..., Any]  # the fixtures of conftest.py

README = Path(__file__).resolve().parents[2] / "README.md"
MODULES = sorted(module.name for module in pkgutil.walk_packages(rs.__path__, "resweep."))
ENVIRONMENT = "resweep.drive.gym"
COMMANDS = sorted(str(command.name or getattr(command.callback, "__name__", "")) for command in app.registered_commands)


def test_every_module_loads() -> None:
    assert len(MODULES) > 100
    for name in MODULES:
        if name != ENVIRONMENT:
            importlib.import_module(name)


def test_an_environment_of_gymnasium_names_its_extra() -> None:
    """Its classes are Gymnasium's, so it cannot load without."""
    with pytest.raises(rs.ResweepError, match=r"pip install 'resweep\[drive\]'"):
        importlib.import_module(ENVIRONMENT)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(resweep: Command, command: str) -> None:
    done = resweep(*command.split(), "--help")
    assert (done.status, done.err) == (0, "")
    assert re.search(rf"Usage: +resweep {command}", done.out)


def test_the_first_python_of_the_readme_runs(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.S)
    assert found
    done = subprocess.run([sys.executable, "-c", found[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    returns = re.match(r"(\d+) returns on (\d+) beams", done.stdout)
    assert returns
    assert len(rs.load_sweep(tmp_path / "sweep.ply")) == int(returns[1]) > 1000
    assert len(rs.open_log(tmp_path / "drive")) == 5


def test_a_drive_is_built_driven_again_and_compared(installed: Command, drive: Path, tmp_path: Path) -> None:
    for args in (
        ("build", drive, "-o", "street.world"),
        ("simulate", "street.world", "-s", "velodyne-vlp-16", "--like", drive, "--seed", 1, "-o", "again"),
        ("evaluate", "again", drive, "-o", "report.html"),
        ("info", "street.world"),
        ("view", "again", "-o", "again.png"),
        ("convert", "again", "kitti", "--format", "semantickitti"),
        ("sensors", "velodyne-vlp-16"),
    ):
        done = installed(*args)
        assert done.status == 0, done.err
        assert done.out
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "again.png").stat().st_size > 10_000
    assert len(rs.open_log(tmp_path / "kitti")) == len(rs.open_log(tmp_path / "again")) >= 3
    figures = json.loads(installed("evaluate", "again", drive, "--json").out.splitlines()[-1])
    assert figures["range_median_m"] < 0.05  # splats of a noisy cloud, seen from where it was recorded
    assert figures["return_recall"] > 0.8


def test_traffic_is_simulated(resweep: Command, tmp_path: Path) -> None:
    args = ("simulate", "scene:street", "-s", "velodyne-vlp-16", "--scenario", "hidden-car")
    done = resweep(*args, "--sweeps", 2, "-o", "hidden")
    assert done.status == 0, done.err
    boxes = rs.open_log(tmp_path / "hidden")[0].boxes
    assert boxes is not None
    assert len(boxes) > 0


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "glb"])
def test_meshes_of_every_format_are_swept(resweep: Command, tmp_path: Path, suffix: str) -> None:
    trimesh.creation.box((20, 20, 20)).export(tmp_path / f"room.{suffix}")
    done = resweep("simulate", f"room.{suffix}", "-s", "velodyne-vlp-16", "-p", "0,0,0", "-o", "out")
    assert done.status == 0, done.err
    assert len(rs.open_log(tmp_path / "out")[0]) > 20_000
