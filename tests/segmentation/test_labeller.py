"""Labels of a model: the same bytes on any number of threads, without PyTorch, and nothing else changed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import resweep as rs
from resweep.boxes import Boxes
from resweep.cli.app import app, main
from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.log import Log
from resweep.segmentation import label_log, load_labeller
from resweep.segmentation.blocks import find_reach, split_blocks
from resweep.segmentation.features import thin_sweep
from resweep.sweep import Sweep
from resweep.work import Threads


def test_only_the_labels_change(log: Log, model: Path) -> None:
    labeller = load_labeller(model)
    named = label_log(log, labeller)
    assert named.labels.name == "semantickitti-19"
    before, after = log[1], named[1]
    for field in fields(Sweep):
        if field.name not in ("label", "extra"):
            np.testing.assert_array_equal(getattr(before, field.name), getattr(after, field.name), field.name)
    assert set(np.unique(after.label)) <= set(labeller.card.classes)
    assert len(np.unique(after.label)) > 1
    np.testing.assert_array_equal(named.poses, log.poses)


def test_threads_change_no_byte_of_the_scores(log: Log, model: Path) -> None:
    labeller = load_labeller(model)
    thinned = [thin_sweep(sweep, labeller.card.cell_m) for sweep in log] * 3
    one = [labeller.scores(item).tobytes() for item in thinned]
    two = [scores.tobytes() for scores in Threads(2).map(labeller.scores, thinned, "", show=False)]
    assert one == two
    assert one[0] != one[1]
    again = thin_sweep(log[0], labeller.card.cell_m, threads=2)
    assert again.features.tobytes() == thinned[0].features.tobytes()


def test_a_sweep_without_returns_stays_empty(log: Log, model: Path) -> None:
    empty = log[0].select(np.zeros(len(log[0]), bool))
    assert load_labeller(model).classify(empty).shape == (0,)


def test_boxes_are_mapped_or_unlabelled(log: Log, model: Path) -> None:
    car = load_labels("semantickitti").id_of("moving car")
    box = Boxes(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1), ["car"], label=np.array([car]))
    labeller = load_labeller(model)
    boxed = Log.from_sweeps([replace(log[0], boxes=box)], labels=log.labels)
    mapped = label_log(boxed, labeller)[0].boxes
    unknown = label_log(replace(boxed, labels=load_labels("unknown")), labeller)[0].boxes
    assert mapped is not None
    assert mapped.label.tolist() == [labeller.card.labels.id_of("car")]
    assert unknown is not None
    assert unknown.label.tolist() == [0]


def test_labelling_needs_no_pytorch(log: Log, model: Path, tmp_path: Path) -> None:
    rs.write_log(log[:1], tmp_path / "in", progress=False)
    code = "import sys; from resweep.cli.app import _run; sys.exit(_run(sys.argv[1:]) or 9 * ('torch' in sys.modules))"
    args = ["label", str(tmp_path / "in"), "--model", str(model), "-o", str(tmp_path / "out"), "-q"]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = rs.open_log(tmp_path / "out")
    np.testing.assert_array_equal(written[0].label, load_labeller(model).classify(log[0]))


def test_a_labelled_log_is_built_without_what_can_move(log: Log, model: Path, tmp_path: Path) -> None:
    rs.write_log(log, tmp_path / "in", progress=False)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["label", str(tmp_path / "in"), "-m", str(model), "-o", str(out), "-q"])
    assert done.exit_code == 0, done.output
    assert "3 sweeps as sweep, labelled as semantickitti-19 (road, building, pole)" in done.output
    written = rs.open_log(out)
    assert written.labels.same_as(load_labels("semantickitti-19"))
    config = rs.SplatConfig(calibrate=None, map={"drop_labels": [written.labels.id_of("road")], "ego_radius_m": 0})
    world = rs.build(written, config, progress=False)
    assert set(np.unique(world.layers[0].label)) <= {written.labels.id_of(name) for name in ("building", "pole")}
    assert world.labels.name == "semantickitti-19"


def test_mistakes_are_said_in_one_line(log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rs.write_log(log[:1], tmp_path / "in", progress=False)
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["label", str(tmp_path / "in"), "--model", str(tmp_path / "none"), "-o", str(tmp_path / "out")])
    assert left.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("resweep: error: ")
    assert "none: holds no model of labels" in line
    with pytest.raises(ResweepError, match="holds no model"):
        load_labeller(tmp_path)


def test_scores_are_means_over_directions(log: Log, model: Path) -> None:
    labeller = load_labeller(model)
    thinned = thin_sweep(log[0], labeller.card.cell_m)
    x, y, z = thinned.points.T
    turned = [(x, y), (-y, x), (-x, -y), (y, -x)]  # by quarters, counter-clockwise
    each = [labeller.scores_of(np.stack([*pair, z], axis=1).astype(np.float32), thinned.features) for pair in turned]
    assert np.abs(each[0] - each[1]).max() > 0.01
    # Points that lie on the border of a cell may go to either side of it.
    away = np.abs(labeller.scores(thinned) - np.mean(each, axis=0)).max(axis=1)
    assert np.median(away) < 1e-4


def test_large_clouds_are_labelled_in_blocks(log: Log, model: Path) -> None:
    labeller = load_labeller(model)
    thinned = thin_sweep(log[0], labeller.card.cell_m)
    points = np.concatenate([thinned.points + np.float32([12.0 * at, 0, 0]) for at in range(4)])
    features = np.concatenate([thinned.features] * 4)
    whole, parts = (labeller.scores_of(points, features, most) for most in (len(points), 300))
    np.testing.assert_allclose(parts, whole, atol=1e-3)
    reach = find_reach(labeller.card.cell_m, labeller.card.levels)
    assert max(len(around) for _, around in split_blocks(points, reach, 300)) < 0.9 * len(points)
    rows = np.concatenate([rows for rows, _ in split_blocks(points, 1.0, 300)])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(points)))
