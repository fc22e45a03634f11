"""What commands say of a log's facts, and how they are given."""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.labels import load_labels
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sweep import Sweep


@pytest.fixture
def clouds(tmp_path: Path) -> Path:
    """Three clouds with labels of no known meaning, at known poses."""
    rng = np.random.default_rng(0)
    sweeps = [
        Sweep.from_points(
            8 * rng.normal(size=(300, 3)), pose=from_xyz_rpy(at), timestamp=0.1 * at, label=np.full(300, 40)
        )
        for at in range(3)
    ]
    rs.write_log(Log.from_sweeps(sweeps), tmp_path / "clouds", format="pcd", progress=False)
    return tmp_path / "clouds"


def test_info_names_classes_by_the_vocabulary(resweep: Any, clouds: Path) -> None:
    def facts(*args: object) -> dict[str, Any]:
        result = resweep("info", *args, "--json")
        assert result.status == 0, result.err
        return dict(json.loads(result.out))

    assert facts(clouds)["first sweep: labels"] == {"label 40": 300}
    assert facts(clouds)["vocabulary"].startswith("unknown")
    assert facts(clouds, "--labels", "semantickitti")["first sweep: labels"] == {"road": 300}
    assert facts(clouds / "000000.pcd", "--labels", "semantickitti")["labels"] == {"road": 300}
    assert facts(clouds)["empty beams"].startswith("not inferred: ")
    (clouds / "poses.txt").unlink()
    (clouds / "log.json").unlink()
    for file in clouds.glob("*.pcd"):
        head, mark, rest = file.read_bytes().partition(b"DATA")
        file.write_bytes(b"".join(line for line in head.splitlines(True) if b"resweep" not in line) + mark + rest)
    assert facts(clouds)["poses"].startswith("unknown; where they matter give --poses FILE")
    assert facts(clouds)["times"] == "assumed from a rate"


def test_a_converted_sweep_file_keeps_what_is_known(resweep: Any, clouds: Path) -> None:
    known = rs.open_log(clouds, labels="nuscenes-lidarseg")
    rs.write_log(known[:1], "known", format="ply", progress=False)
    assert resweep("convert", "known", "one.sweep").status == 0
    assert rs.open_log("one.sweep").labels == load_labels("nuscenes-lidarseg")


def test_labels_must_be_known_and_have_a_meaning(resweep: Any, clouds: Path, room: Path) -> None:
    for args in (("info", clouds), ("view", clouds), ("build", clouds, "-o", "w")):
        result = resweep(*args, "--labels", "semantickity")
        assert result.status == 1
        assert "labels 'semantickity': no such vocabulary, and no YAML file; did you mean 'semantickitti'" in result.err
    assert "room.obj is neither" in resweep("info", room, "--labels", "semantickitti").err


def test_build_maps_by_the_vocabulary_that_is_given(
    resweep: Any, clouds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Log] = []

    def stop(log: Log, *rest: object, **more: object) -> None:
        built.append(log)
        raise rs.ResweepError("enough")

    monkeypatch.setattr(import_module("resweep.build.pipeline"), "resolve", stop)
    assert "enough" in resweep("build", clouds, "-o", "w", "--labels", "semantickitti").err
    assert built[0].labels == load_labels("semantickitti")


def test_errors_of_the_library_get_the_options_that_help(resweep: Any, clouds: Path) -> None:
    (clouds / "000001.pcd").write_bytes((clouds / "000001.pcd").read_bytes()[:-7])
    message = resweep("convert", clouds, "out", "--format", "ply").err
    assert message.rstrip().endswith("fetch or write it again; --keep-going leaves such sweeps out")
    with pytest.raises(rs.ResweepError) as caught:
        list(rs.open_log(clouds))
    assert "--" not in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert resweep("convert", clouds, "out", "--format", "ply", "--keep-going").status == 0


@pytest.fixture
def unplaced(tmp_path: Path) -> Path:
    """Two KITTI scans of no known pose."""
    for at in range(2):
        rs.write_sweep(Sweep.from_points(np.full((9, 3), 5.0 + at)), tmp_path / "scans" / f"{at}.bin")
    return tmp_path / "scans"


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        (
            ["build", "scans", "-o", "w"],
            "has no poses; give --poses FILE (TUM, KITTI or CSV) or --odometry to find them",
        ),
        (
            ["simulate", "scene:street", "-s", "velodyne-vlp-16", "--like", "scans", "-o", "out"],
            "has no poses; give --poses FILE (TUM, KITTI or CSV), or fire a sensor of the catalog: "
            "--sensor NAME --poses X,Y,Z in place of --like",
        ),
        (
            ["replay", "scans", "-w", "scene:street", "-s", "velodyne-vlp-16", "-o", "out"],
            "has no poses, so it cannot be replayed; give --poses FILE (TUM, KITTI or CSV)",
        ),
    ],
)
def test_unknown_poses_are_asked_for_in_the_options_of_the_command(
    args: list[str], advice: str, resweep: Any, unplaced: Path
) -> None:
    assert resweep(*args).err == f"resweep: error: log '{unplaced.name}': {advice}\n"
