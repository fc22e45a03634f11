"""``resweep build``: what it writes, and how mistakes end."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import resweep as rs
from resweep.cli.verbs.build import build
from resweep.progress import Verbosity, set_verbosity
from tests.places import ROAD, at, log_of, plane

app = typer.Typer()
app.command()(build)


@pytest.fixture(scope="module")
def drive(tmp_path_factory) -> Path:
    points = plane(6.0, 0.2)
    label = [np.full(len(points), ROAD)] * 3
    folder = tmp_path_factory.mktemp("logs") / "drive"
    rs.write_log(log_of([points] * 3, [at(0.0), at(0.5), at(1.0)], label=label), folder, format="semantickitti")
    return folder


def run(*args: object):
    return CliRunner().invoke(app, [str(word) for word in args])


def test_a_log_becomes_a_world(drive, tmp_path):
    result = run(drive, drive, "-o", tmp_path / "a.world", "--sweeps", "0:2", "--set", "map.ego_radius_m=0")
    assert result.exit_code == 0, result.output
    world = rs.load_world(tmp_path / "a.world")
    assert world.meta["sweeps"] == 4
    assert world.meta["build"]["config"]["map"]["ego_radius_m"] == 0
    assert "splats" in result.output


def test_settings_come_from_a_file_and_options_win(drive, tmp_path):
    (tmp_path / "c.yaml").write_text("voxel_m: 0.3\nnormal_radius_m: 1.0\nradius_m: 0.3\n")
    args = (drive, "-o", tmp_path / "s.world", "-m", "surfels", "-c", tmp_path / "c.yaml", "--set", "radius_m=0.2")
    assert run(*args).exit_code == 0
    layer = rs.load_world(tmp_path / "s.world").layers[0]
    assert np.allclose(layer.radius, 0.2)
    assert layer.name == "surfels"


@pytest.mark.parametrize("method", ["imls", "rimls", "poisson"])
def test_a_log_becomes_a_mesh(drive, tmp_path, method):
    settings = ("--set", "voxel_m=0.3", "--set", "kernel_m=0.9", "--set", "cell_m=0.3")
    result = run(drive, "-o", tmp_path / "m.world", "--method", method, *settings)
    assert result.exit_code == 0, result.output
    world = rs.load_world(tmp_path / "m.world")
    layer = world.layers[0]
    assert (layer.kind, layer.name) == ("mesh", method)
    vertices = layer.vertices + world.origin
    assert np.abs(vertices[np.abs(vertices[:, :2]).max(axis=1) < 5, 2]).max() < 0.05
    assert set(np.unique(layer.label)) == {ROAD}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--method", "imsl"], "did you mean 'imls'"),
        (["--method", "imls", "--set", "voxel_m=0"], "voxel_m"),
        (["--method", "labals"], "did you mean 'labels'"),
        (["--sweeps", "five"], "A:B"),
        (["--sweeps", "7:9"], "--sweeps"),
        (["--set", "splats.alhpa=1"], "did you mean 'alpha'"),
        (["--set", "map.ego_radius=1"], "did you mean 'ego_radius_m'"),
        (["--config", "absent.yaml"], "absent.yaml"),
    ],
)
def test_mistakes_say_what_to_do_and_write_nothing(drive, tmp_path, args, message):
    result = run(drive, "-o", tmp_path / "x.world", *args)
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert isinstance(result.exception, rs.ResweepError)
    assert not (tmp_path / "x.world").exists()


QUICK = ("-m", "surfels", "--set", "calibrate=null", "--set", "voxel_m=0.5", "--set", "normal_radius_m=1.0")


def test_an_existing_world_is_kept_without_overwrite(drive, tmp_path):
    assert run(drive, "-o", tmp_path / "w.world", *QUICK).exit_code == 0
    assert "--overwrite" in str(run(drive, "-o", tmp_path / "w.world", *QUICK).exception)
    assert run(drive, "-o", tmp_path / "w.world", "--overwrite", *QUICK).exit_code == 0


def test_keep_going_skips_logs_that_cannot_be_read(drive, tmp_path):
    absent = tmp_path / "absent"
    assert "absent" in str(run(absent, drive, "-o", tmp_path / "k.world", *QUICK).exception)
    result = run(absent, drive, "-o", tmp_path / "k.world", "--keep-going", *QUICK)
    assert result.exit_code == 0, result.output
    assert "absent" in result.output


def test_the_name_of_a_file_is_refused_before_the_work(tmp_path):
    result = run(tmp_path / "absent", "-o", tmp_path / "place.ply")
    assert isinstance(result.exception, rs.ResweepError)
    assert "saved as a folder" in str(result.exception)


@pytest.mark.parametrize(("config", "last"), [(rs.HybridConfig(), 7), (rs.SurfelConfig(voxel_m=0.3), 4)])
def test_a_build_says_which_stage_of_how_many_it_is_in(drive, capsys, config, last):
    set_verbosity(Verbosity.VERBOSE)
    rs.build(rs.open_log(drive), config)
    lines = capsys.readouterr().err.splitlines()
    stages = [int(found[1]) for line in lines if (found := re.match(rf"stage (\d) of {last}, ", line))]
    assert len(stages) == len(lines)
    assert stages == sorted(stages)
    assert stages[0] == 1
    assert any(line.startswith(f"stage 2 of {last}, reading sweeps: 3/3, done in ") for line in lines)
