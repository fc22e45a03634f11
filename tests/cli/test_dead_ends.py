"""Commands that cannot do what is asked: their messages name options that this command has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from resweep.cli.app import _name_options
from resweep.io import write_sweep
from resweep.sweep import Sweep


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("give it with crs=", "give it with --crs"),
        ("give intensity_scale=257", "give --intensity-scale 257"),
        ("write PCD, or frame='deskewed'", "write PCD, or frame='deskewed'"),
        ("give format= one of las", "give format= one of las"),
        ("in /data/crs=4326/a.las", "in /data/crs=4326/a.las"),
    ],
)
def test_arguments_are_named_as_options_where_there_are_such(text: str, named: str) -> None:
    assert _name_options(text, {"--crs", "--intensity-scale"}) == named
    assert _name_options("or frame='deskewed'", {"--frame"}) == "or --frame deskewed"


def test_a_folder_of_two_formats_is_opened_in_the_one_that_is_named(resweep: Any, tmp_path: Path) -> None:
    for name in ("a.pcd", "b.ply"):
        write_sweep(Sweep.from_points(np.array([[1.0, 2, 3]])), tmp_path / name)
    assert "give --format one of pcd, ply" in resweep("info", tmp_path).err
    assert "log (ply)" in resweep("info", tmp_path, "--format", "ply").out
    assert "give format= one of" in resweep("convert", tmp_path, "out", "--format", "las").err  # is that of the output


def test_a_picture_of_a_mesh_names_render(resweep: Any, tmp_path: Path) -> None:
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "box.glb")
    result = resweep("view", tmp_path / "box.glb", "-o", "box.png")
    assert result.status == 1
    assert "resweep render" in result.err


@pytest.mark.parametrize(
    ("text", "what"),
    [("num_lasers: 2\nlasers: []\n", "calibration"), ("color_map: {}\n", "--labels"), ("a: 1\n", "ego")],
)
def test_settings_of_others_are_one_line(text: str, what: str, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "foreign.yaml").write_text(text)
    result = resweep("info", tmp_path / "foreign.yaml")
    assert result.status == 1
    assert what in result.err
    assert len(result.err.splitlines()) == 1


def test_a_log_without_poses_names_the_formats_of_poses(resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for at in range(2):
        write_sweep(Sweep.from_points(np.array([[1.0, 2, 3]])), tmp_path / "log" / f"{at}.bin")
    assert "--poses FILE (TUM, KITTI or CSV)" in resweep("build", tmp_path / "log", "-o", "w.world").err


def test_no_sweep_is_counted_twice(resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    write_sweep(Sweep.from_points(np.ones((9, 3))), tmp_path / "log" / "a.pcd")
    assert "from before" not in resweep("convert", tmp_path / "log", "out", "--format", "las").out
