"""``resweep info`` and ``resweep convert`` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
import typer
from typer.testing import CliRunner

from resweep.calibration import Calibration
from resweep.cli.verbs.convert import convert
from resweep.cli.verbs.info import info
from resweep.errors import ResweepError
from resweep.io import load_sweep, open_log, write_log, write_poses, write_sweep
from resweep.labels import load_labels
from resweep.log import Log
from resweep.sweep import Sweep
from resweep.viewer.describe import describe
from resweep.worlds import Mesh, Splats, World

app = typer.Typer()
app.command()(info)
app.command()(convert)


def run(*args: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in args], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_info_of_a_sweep(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.sweep")
    facts = json.loads(run("info", tmp_path / "s.sweep", "--json"))
    assert (facts["returns"], facts["beams"], facts["beams without return"]) == (400, 400, 80)
    assert facts["range m"] == [float(sweep.range.min()), float(sweep.range.max())]
    assert "returns" in run("info", tmp_path / "s.sweep")


def test_info_names_the_classes_by_the_vocabulary(tmp_path: Path, log: Log) -> None:
    points = np.random.default_rng(0).normal(0, 5, (30, 3))
    named = [Sweep.from_points(points, label=np.repeat([40, 70, 5], 10))]
    write_log(
        Log.from_sweeps(named, labels=load_labels("semantickitti")),
        tmp_path / "00",
        format="semantickitti",
        progress=False,
    )
    facts = json.loads(run("info", tmp_path / "00", "--json"))
    assert facts["vocabulary"] == "semantickitti (SemanticKITTI)"
    assert facts["first sweep: labels"] == {"label 5": 10, "road": 10, "vegetation": 10}
    assert "vegetation 10" in run("info", tmp_path / "00")
    write_sweep(named[0], tmp_path / "s.pcd")
    assert describe(tmp_path / "s.pcd")["labels"] == {"label 5": 10, "label 40": 10, "label 70": 10}
    assert describe(tmp_path / "s.pcd")["vocabulary"].startswith("unknown")


def test_labels_are_mapped_on_request(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(0, 5, (30, 3))
    sweep = Sweep.from_points(points, label=np.repeat([40, 16, 252], 10))
    write_log(
        Log.from_sweeps([sweep], labels=load_labels("semantickitti")),
        tmp_path / "00",
        format="semantickitti",
        progress=False,
    )
    out = run("convert", tmp_path / "00", tmp_path / "a", "--format", "pcd", "--labels", "nuscenes-lidarseg")
    assert "labels: semantickitti to nuscenes-lidarseg; no counterpart, now noise: on rails" in out
    assert open_log(tmp_path / "a")[0].label.tolist() == [24] * 10 + [0] * 10 + [17] * 10
    write_sweep(sweep, tmp_path / "s.pcd")
    with pytest.raises(ResweepError, match=r"meaning of its labels is unknown.*give --from-labels NAME"):
        run("convert", tmp_path / "s.pcd", tmp_path / "t.pcd", "--labels", "argoverse2")
    assert not (tmp_path / "t.pcd").exists()
    args = ["--from-labels", "semantickitti", "--labels", "kitti360"]
    out = run("convert", tmp_path / "s.pcd", tmp_path / "t.pcd", *args)
    assert "every class has a counterpart" in out
    assert np.unique(load_sweep(tmp_path / "t.pcd").label).tolist() == [7, 26, 31]
    with pytest.raises(ResweepError, match="did you mean 'nuscenes-lidarseg'"):
        run("convert", tmp_path / "00", tmp_path / "b", "--format", "pcd", "--labels", "nuscenes")


def test_info_of_logs_and_poses(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    facts = describe(tmp_path / "out")
    assert (facts["kind"], facts["sweeps"], facts["provenance"]["seed"]) == ("log (pcd)", 3, 7)
    assert facts["rate Hz"] == pytest.approx(10)
    write_poses(log.trajectory, tmp_path / "p.csv")
    assert describe(tmp_path / "p.csv")["poses"] == 3
    assert "path length m" in run("info", tmp_path / "p.csv")


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".glb"])
def test_info_of_a_mesh(suffix: str, tmp_path: Path) -> None:
    trimesh.creation.box((1, 2, 3)).export(str(tmp_path / f"box{suffix}"))
    facts = describe(tmp_path / f"box{suffix}")
    high = 1.0 if suffix == ".glb" else 1.5  # GLB files have y up
    assert (facts["kind"], facts["triangles"], facts["bounds"]["z"]) == ("mesh", 12, [-high, high])
    up = "y in the file" if suffix == ".glb" else "z in the file, assumed: its format does not state it"
    assert facts["up"] == up


def test_info_of_a_world(tmp_path: Path) -> None:
    (tmp_path / "w.world").mkdir()
    (tmp_path / "w.world" / "world.json").write_text('{"version": 1, "layers": ["road"]}')
    facts = describe(tmp_path / "w.world")
    assert facts == {"kind": "world", "version": 1, "layers": ["road"], "vocabulary": "unknown", "labels": {}}
    ground = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], label=40)
    World([ground], labels="semantickitti").save(tmp_path / "v.world")
    facts = json.loads(run("info", tmp_path / "v.world", "--json"))
    assert (facts["vocabulary"], facts["labels"]) == ("semantickitti (SemanticKITTI)", {"road": 1})


def test_info_of_a_world_is_a_summary(tmp_path: Path) -> None:
    ground = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], label=40, name="floor")
    discs = Splats(np.zeros((7, 3)), np.tile([0, 0, 1.0], (7, 1)), np.full(7, 0.1), label=50)
    meta = {"source": "drive", "build": {"kind": "HybridConfig", "config": {f"setting_{at}": at for at in range(90)}}}
    calibration = Calibration(np.full(64, np.radians(0.02)), np.full(64, -0.012))
    world = World([ground, discs], meta=meta, labels="semantickitti", calibration=calibration)
    world.save(tmp_path / "w.world")
    shown = run("info", tmp_path / "w.world")
    assert len(shown.splitlines()) < 24
    for part in ("mesh 'floor'", "1 triangles", "splats", "building 7, road 1", "in memory", "91 settings", "--all"):
        assert part in shown
    assert "64 rings, elevation +0.020° and range -12.0 mm on average, uncertainty unknown" in shown
    assert "setting_89" not in shown
    assert "setting_89: 89" in run("info", tmp_path / "w.world", "--all")
    assert json.loads(run("info", tmp_path / "w.world", "--json"))["meta"]["build"]["config"]["setting_89"] == 89


@pytest.mark.parametrize("content", ["", "t,x\n", "\x00\x01"])
def test_info_of_nonsense(content: str, tmp_path: Path) -> None:
    for name in ("a.txt", "a.pcd", "a.ply", "a.xyzzy"):
        (tmp_path / name).write_text(content)
        with pytest.raises(ResweepError, match=name):
            describe(tmp_path / name)


def test_convert_files(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.sweep")
    run("convert", tmp_path / "s.sweep", tmp_path / "s.laz", "--frame", "world")
    assert np.abs(load_sweep(tmp_path / "s.laz").world_points() - sweep.world_points()).max() < 1e-4
    with pytest.raises(ResweepError, match="--overwrite"):
        run("convert", tmp_path / "s.sweep", tmp_path / "s.laz")
    run("convert", tmp_path / "s.sweep", tmp_path / "s.laz", "--overwrite")
    with pytest.raises(ResweepError, match=r"did you mean '\.las'"):
        run("convert", tmp_path / "s.sweep", tmp_path / "s.lass")


def test_convert_logs(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "a", format="sweep", progress=False)
    run("convert", tmp_path / "a", tmp_path / "b", "--format", "semantickitti")
    assert len(open_log(tmp_path / "b")) == 3
    failures: list[tuple[list[Any], str]] = [
        ([tmp_path / "c"], "--format"),
        ([tmp_path / "c.pcd"], "one file cannot hold the 3 sweeps"),
        ([tmp_path / "b", "--format", "pcd"], "exists and is not empty"),
        ([tmp_path / "c", "--format", "pdc"], "did you mean 'pcd'"),
        ([tmp_path / "c", "--format", "pcd", "--frame", "wrold"], "did you mean 'world'"),
    ]
    for args, message in failures:
        with pytest.raises(ResweepError, match=message):
            run("convert", tmp_path / "a", *args)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "b"]


def test_info_of_poses_without_times(log: Log, tmp_path: Path) -> None:
    write_poses(log.trajectory, tmp_path / "kitti.txt", "kitti")
    facts = describe(tmp_path / "kitti.txt")
    assert (facts["poses"], facts["times"]) == (len(log), "none in the file")
    assert "time s" not in facts
    assert facts["path length m"] == pytest.approx(log.trajectory.length_m)
