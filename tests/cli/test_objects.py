"""``resweep objects``: banks from logs, lists and pictures of them, and how mistakes end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import Boxes
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenario import Asset, Bank, load_bank
from resweep.sweep import Sweep

SIZE = (4.0, 1.8, 1.5)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of two sweeps with a box of which two sides are seen, and one of which almost nothing is."""
    rng = np.random.default_rng(1)
    u, v = rng.uniform(0, 1, (2, 800))
    side = np.column_stack([8 + 4 * u, np.full(800, 2.1), 1.5 * v])
    front = np.column_stack([np.full(800, 8.0), 2.1 + 1.8 * u, 1.5 * v])
    stray = rng.uniform([29.6, -5.4, 0.3], [30.4, -4.6, 1.1], (30, 3))
    points = np.concatenate([side, front, stray])
    points[:, 2] -= 1.7
    boxes = Boxes([[10, 3, -0.95], [30, -5, -0.95]], [SIZE, SIZE], [np.pi, 0.0], ["Car", "Pedestrian"], [3, 9])
    sweeps = [
        Sweep.from_points(
            points,
            pose=from_xyz_rpy(z=1.7),
            timestamp=0.1 * at,
            boxes=boxes,
            intensity=np.full(len(points), 0.3),
        )
        for at in range(2)
    ]
    folder = tmp_path_factory.mktemp("logs") / "yard"
    rs.write_log(Log.from_sweeps(sweeps, "yard"), folder)
    return folder


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank of two meshes."""
    import trimesh

    made = [
        Asset.from_mesh(trimesh.creation.box(extents=(4, 1.8, 1.5)), category="car", name="box-car"),
        Asset.from_mesh(trimesh.creation.cylinder(radius=0.3, height=1.8), category="pedestrian", name="post-man"),
    ]
    return Bank(made, {"log": "nowhere"}).save(tmp_path_factory.mktemp("banks") / "bank")


def test_a_log_becomes_a_bank_and_says_what_it_left_out(resweep, yard, tmp_path) -> None:
    done = resweep("objects", yard, "-o", "bank")
    assert done.status == 0, done.err
    assert "bank: 1 of 2 objects, 1 skipped (too few points)" in done.out
    assert "car-0003" in done.out
    made = load_bank(tmp_path / "bank")
    assert list(made) == ["car-0003"]
    assert made.meta["config"]["min_points"] == 200
    assert made.meta["sweeps"] == 2
    assert made["car-0003"].source == ("yard", 3)
    kept = resweep("objects", yard, "-o", "bank")
    assert kept.status == 1
    assert "exists; choose another name or give --overwrite" in kept.err
    again = resweep("objects", yard, "-o", "bank", "--overwrite", "--set", "mirror=never", "--sweeps", "0:1", "--json")
    assert again.status == 0, again.err
    shown = json.loads(again.out.splitlines()[-1])
    assert shown["meta"]["sweeps"] == 1
    assert shown["assets"][0]["mirrored"] is False
    assert 0.4 < shown["assets"][0]["known"] < 0.8  # two of its sides were seen


def test_a_bank_is_listed(resweep, bank) -> None:
    shown = resweep("objects", bank)
    assert shown.status == 0
    for word in ("box-car", "4.0×1.8×1.5", "post-man", "pedestrian", "from nowhere"):
        assert word in shown.out
    known = json.loads(resweep("info", bank, "--json").out)
    assert (known["kind"], known["categories"]) == ("object bank", {"car": 1, "pedestrian": 1})
    listed = json.loads(resweep("objects", bank, "--json").out)
    assert [asset["name"] for asset in listed["assets"]] == ["box-car", "post-man"]
    assert [asset["known"] for asset in listed["assets"]] == [1.0, 1.0]
    assert "known: 100 all around, about 50 one side alone" in shown.out.replace("\n", " ")


def test_a_gallery_is_drawn_and_not_over_what_exists(resweep, bank, tmp_path) -> None:
    done = resweep("objects", bank, "--gallery", "-o", "sheet.png")
    assert done.status == 0, done.err
    assert (tmp_path / "sheet.png").read_bytes()[:4] == b"\x89PNG"
    before = (tmp_path / "sheet.png").stat().st_mtime_ns
    assert "exists" in resweep("objects", bank, "--gallery", "-o", "sheet.png").err
    assert (tmp_path / "sheet.png").stat().st_mtime_ns == before
    assert resweep("objects", bank, "--gallery").out.strip() == "bank.png"


def test_the_gallery_shows_the_objects(tmp_path, bank) -> None:
    """A bright object leaves many bright pixels, a dark ground few."""
    import matplotlib.image

    from resweep.viewer import gallery

    picture = matplotlib.image.imread(gallery(load_bank(bank), tmp_path / "g.png"))[..., :3]
    assert (picture.max(axis=2) > 0.7).mean() > 0.05


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["absent", "-o", "b"], "absent: no such log or bank"),
        (["YARD"], "is no bank; to build one from this log, give -o BANK"),
        (["YARD", "--gallery"], "not a bank (it has no bank.json)"),
        (["YARD", "-o", "b", "--min-points", "90000"], "none of its 2 objects has 90000 returns (the fullest has"),
        (["YARD", "-o", "b", "--set", "mirorr=never"], "did you mean 'mirror'"),
        (["YARD", "-o", "b", "--set", "icp.round=2"], "did you mean 'rounds'"),
        (["YARD", "-o", "b", "--set", "categories=[tram]"], "no sweep has boxes of tram"),
        (["BANK", "-o", "b"], "is a bank; give a log to build one from, or --gallery"),
        (["BANK", "--min-points", "50"], "--min-points: is for building a bank from a log"),
        (["BANK", "--gallery", "-o", "b.jpg"], "pictures are PNG files"),
        (["YARD", "-o", "YARD", "--overwrite"], "exists and is not a bank"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(resweep, yard, bank, tmp_path, args, message) -> None:
    named = {"YARD": yard, "BANK": bank}
    done = resweep("objects", *(named.get(word, word) for word in args))
    assert done.status != 0
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "b").exists()
    assert (yard / "log.json").exists()


def test_a_log_without_boxes_says_so(resweep, tmp_path) -> None:
    rs.write_log(Log.from_sweeps([Sweep.from_points(np.ones((5, 3)))], "bare"), tmp_path / "bare")
    done = resweep("objects", "bare", "-o", "b")
    assert done.status == 1
    assert "no sweep has annotated boxes" in done.err
