"""The command line takes URLs wherever it takes logs, worlds and datasets."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh

import resweep as rs
from resweep.cli.app import main
from tests.remote.server import list_keys, read_all, read_folder


def run(*args: object, status: int = 0) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in args])
    assert ended.value.code == status


def test_from_a_log_to_a_world_to_a_log(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    room = trimesh.creation.box((30, 20, 8))  # in which every beam returns
    rs.World.from_mesh(room, label=50, labels="semantickitti").save(f"{bucket}/room.world")
    drive = ("-s", "velodyne-vlp-16", "-p", "0,0,2", "--sweeps", 2)
    run("simulate", f"{bucket}/room.world", *drive, "-o", f"{bucket}/logs/drive")
    run("simulate", f"{bucket}/room.world", *drive, "-o", "drive")
    assert read_all(f"{bucket}/logs/drive") == read_folder(Path("drive"))
    run(
        "build", f"{bucket}/logs/drive", "-o", f"{bucket}/built.world", "--method", "surfels", "--set", "calibrate=null"
    )
    run("build", "drive", "-o", "built.world", "--method", "surfels", "--set", "calibrate=null")
    one, other = rs.load_world(f"{bucket}/built.world"), rs.load_world("built.world")
    assert (one.bounds == other.bounds).all()
    assert one.n_primitives == other.n_primitives > 0
    run("build", f"{bucket}/logs/drive", "-o", f"{bucket}/built.world", status=1)
    assert f"{bucket}/built.world: exists; choose another name or give --overwrite" in capsys.readouterr().err
    run("simulate", f"{bucket}/built.world", "--like", f"{bucket}/logs/drive", "-o", f"{bucket}/logs/again")
    run("evaluate", f"{bucket}/logs/again", f"{bucket}/logs/drive", "--json")
    assert '"sweeps": 2' in capsys.readouterr().out
    run("convert", f"{bucket}/logs/drive", f"{bucket}/logs/pcd", "--format", "pcd")
    run("convert", f"{bucket}/logs/drive/000000.sweep", f"{bucket}/one.ply")
    assert {"pcd/000001.pcd", "pcd/log.json"} <= set(list_keys(f"{bucket}/logs"))
    assert "one.ply" in list_keys(bucket)
    for place in ("built.world", "logs/pcd", "one.ply"):
        run("info", f"{bucket}/{place}", "--json")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["built.world", "cache", "drive"]
    assert not [name for name in list_keys(bucket) if name.endswith((".lock", ".resweep-unfinished"))]


def test_outputs_that_are_local_refuse_urls(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("view", "drive", "-o", f"{bucket}/a.png", status=2)
    assert "is written to a local file or folder only" in capsys.readouterr().err
    run("info", "ftp://a/b", status=2)
    assert "URLs of 'ftp' are not read" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
