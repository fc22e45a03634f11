"""nuscenes-devkit, unmodified, loads, draws and evaluates what we write as nuScenes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import resweep as rs
from resweep.cli import main
from resweep.io import merge_nuscenes
from resweep.scenes.opening import open_world

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "nuscenes.md"
SCENARIO: dict[str, Any] = {
    "name": "junction",
    "ego": {"lane": [[-20, -1.3], [0, -1.3]], "speed_mps": 8},
    "duration_s": 0.45,
    "actors": [
        {"name": "oncoming", "asset": "bus", "lane": [[8, 1.05], [-30, 1.05]], "speed_mps": 10},
        {"name": "ahead", "asset": "hatchback", "lane": [[-6, -1.3], [20, -1.3]], "speed_mps": 7},
        {"name": "hidden", "asset": "saloon", "at": [6, -1.3]},
        {"name": "cone", "asset": "cone", "at": [-14, -4.0], "allow_overlap": True},
        {"name": "walker", "asset": "pedestrian", "lane": [[-12, 4.2], [0, 4.2]], "speed_mps": 1.4},
        {"name": "behind", "asset": "truck", "lane": [[-34, 1.05], [-60, 1.05]], "speed_mps": 9},
    ],
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def run_python(python: str, *arguments: str, cwd: Path) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    result = subprocess.run(
        [python, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def concatenate(roots: list[Path], out: Path) -> None:
    """What people do with two outputs: files into one folder, and each table's rows one after the other."""
    tables: dict[str, list[Any]] = {}
    for root in roots:
        for part in ("samples", "lidarseg", "maps"):
            shutil.copytree(root / part, out / part, dirs_exist_ok=True)
        for file in (root / "v1.0-resweep").glob("*.json"):
            if file.name != "splits.json":
                tables.setdefault(file.name, []).extend(json.loads(file.read_text()))
    (out / "v1.0-resweep").mkdir()
    for name, rows in tables.items():
        (out / "v1.0-resweep" / name).write_text(json.dumps(rows))
    names = [row["name"] for row in tables["scene.json"]]
    (out / "v1.0-resweep" / "splits.json").write_text(json.dumps({"all": names}))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, external_python: str) -> Path:
    """A dataset and a simulated drive; both merged, both put together by hand; the drive as part of nuScenes mini."""
    folder = tmp_path_factory.mktemp("nuscenes")
    fields: dict[str, Any] = {"worlds": ["scene:street"], "sensors": ["velodyne-hdl-32e"], "scenarios": [SCENARIO]}
    rs.dataset.generate(rs.dataset.DatasetPlan(layout="nuscenes", **fields), folder / "edge", progress=False)
    world = open_world("scene:street", 0)
    trajectory, actors = rs.Scenario(**SCENARIO).place(world)
    drive = rs.Simulator(world, "velodyne-hdl-32e", actors=actors, seed=7).run(trajectory)
    rs.write_log(drive, folder / "drive", format="nuscenes", progress=False)
    merge_nuscenes([folder / "edge", folder / "drive"], folder / "data", progress=False)
    concatenate([folder / "edge", folder / "drive"], folder / "naive")
    log = rs.open_log(folder / "drive", empty_beams=False)
    mini = {"version": "v1.0-mini", "scene": "scene-0103"}
    rs.write_log(log, folder / "mini", format="nuscenes", progress=False, **mini)
    return folder


@pytest.fixture(scope="module")
def judged(written: Path, external_python: str) -> dict[str, Any]:
    roots = [f"v1.0-resweep:all:{written / name}" for name in ("data", "naive")]
    roots.append(f"v1.0-mini:mini_val:{written / 'mini'}")
    said = run_python(external_python, str(HERE / "nuscenes_devkit.py"), str(written / "judged"), *roots, cwd=written)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


@pytest.mark.parametrize("root", ["data", "naive", "mini"])
def test_the_devkit_loads_and_draws(judged: dict[str, Any], root: str) -> None:
    found = judged[root]
    assert found["samples"] == (4 if root == "mini" else 8)
    low, high = found["intensity"]
    assert low >= 0
    assert 200 < high <= 255
    assert found["on_map"] > 0.95  # roads lie on the map's roads; its pixels are rounded
    if root == "data":
        names = ("annotation", "classes", "image", "instance", "poses", "scan")
        assert sorted(found["drawn"]) == [f"{name}.png" for name in names]
        assert min(found["drawn"].values()) > 10_000
    for word in ("vehicle.bus.rigid", "human.pedestrian.adult", "vehicle.moving: ", "flat.driveable_surface"):
        assert word in found["said"]


@pytest.mark.parametrize("root", ["data", "naive", "mini"])
def test_annotations_agree_with_the_devkit(judged: dict[str, Any], root: str) -> None:
    found = judged[root]
    assert found["miscounted"] == []  # points_in_box counts what num_lidar_pts says
    assert max(found["velocity_errors"]) < 0.5
    assert found["attributes"] == [
        "human.pedestrian.adult pedestrian.moving",
        "movable_object.trafficcone ",
        "vehicle.bus.rigid vehicle.moving",
        "vehicle.car vehicle.moving",
        "vehicle.car vehicle.parked",
        "vehicle.truck vehicle.moving",
    ]


@pytest.mark.parametrize("root", ["data", "naive", "mini"])
def test_the_official_detection_evaluation_runs(judged: dict[str, Any], root: str) -> None:
    perfect, shifted = judged[root]["perfect"], judged[root]["shifted"]
    assert set(perfect["classes"]) == {"bus", "car", "pedestrian", "traffic_cone", "truck"}
    for name, figures in perfect["classes"].items():
        aps = figures.pop("ap")
        assert min(aps.values()) == pytest.approx(1.0), name
        assert max(value for value in figures.values() if value == value) < 1e-6, name
        moved = shifted["classes"][name]
        assert moved["trans_err"] == pytest.approx(1.2, abs=1e-6)
        assert (moved["ap"]["1.0"], moved["ap"]["2.0"]) == (pytest.approx(0.0), pytest.approx(1.0))
    assert perfect["mean_ap"] == pytest.approx(len(perfect["classes"]) / 10)
    assert shifted["mean_ap"] < 0.7 * perfect["mean_ap"]


@pytest.mark.slow
def test_the_page_does_what_it_says(tmp_path: Path, external_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (commands,), (code,) = blocks("bash"), blocks("python")
    for line in commands.splitlines():
        with pytest.raises(SystemExit) as result:
            main(shlex.split(line)[1:])
        assert result.value.code == 0, line
    said = run_python(external_python, "-c", code, cwd=tmp_path)
    assert "car {0.5: 1.0" in said
    assert (tmp_path / "scan.png").stat().st_size > 10_000
    assert rs.open_log("data", scene="edge-cases-0000").labels.name == "nuscenes-lidarseg"
