"""What SemanticKITTI is written: its own ids, those of things in motion for what moves, remissions from 0 to 1."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import Boxes
from resweep.io.datasets.kitti.semantic_labels import LABELS, relabel_sweep
from resweep.io.files.kitti_bin import scale_remission
from resweep.labels import load_labels
from resweep.pose import from_xyz_rpy
from resweep.scenes import ground_plane

SCENARIO = {
    "ego": {"at": [0, 0]},
    "duration_s": 0.4,
    "actors": [
        {"name": "driving", "asset": "hatchback", "lane": [[8, 3], [30, 3]], "speed_mps": 6},
        {"name": "parked", "asset": "hatchback", "at": [8, -4]},
        {"name": "bus", "asset": "bus", "lane": [[-30, 4], [20, 4]], "speed_mps": 9},
        {"name": "walker", "asset": "pedestrian", "lane": [[-5, -5], [5, -5]], "speed_mps": 1.2},
    ],
}


def drive(labels: str) -> rs.Log:
    vocabulary = load_labels(labels)
    ground = vocabulary.id_of_category("road")
    world = rs.World([ground_plane((90, 90), label=ground)], labels=vocabulary)
    trajectory, actors = rs.Scenario(**SCENARIO).place(world)
    return rs.Simulator(world, "velodyne-vlp-16", actors=actors).run(trajectory, sweeps=2)


@pytest.mark.parametrize("labels", ["semantickitti", "nuscenes-lidarseg"])
def test_what_moves_has_the_ids_of_things_in_motion(labels: str, tmp_path: Path) -> None:
    log = drive(labels)
    rs.write_log(log, tmp_path / "out", "semantickitti", progress=False)
    again = rs.open_log(tmp_path / "out", empty_beams=False)
    assert again.labels.name == "semantickitti"
    names = dict(zip(log[0].boxes.track.tolist(), log[0].boxes.name, strict=True))  # type: ignore[union-attr]
    found = {}
    for sweep in again:
        for track, name in names.items():
            found.setdefault(name, set()).update(sweep.label[sweep.instance == track].tolist())
        assert set(sweep.label[sweep.instance == 0].tolist()) == {LABELS.id_of("road")}
    assert found == {"driving": {252}, "parked": {10}, "bus": {257}, "walker": {254}}


def test_an_object_recorded_in_motion_that_stands_is_at_rest() -> None:
    boxes = Boxes(np.zeros((3, 3)), np.ones((3, 3)), np.zeros(3), ["a", "b", "c"], [1, 2, 3], [252, 10, 252])
    velocity = [[0.0, 0, 0], [3.0, 0, 0], [np.nan] * 3]
    boxes = Boxes(boxes.centre, boxes.size, boxes.yaw, boxes.name, boxes.track, boxes.label, velocity)
    sweep = rs.Sweep.from_points(np.ones((5, 3)), label=[252, 10, 252, 252, 40], instance=[1, 2, 3, 0, 0], boxes=boxes)
    done = relabel_sweep(sweep, LABELS)
    assert done.label.tolist() == [10, 252, 252, 252, 40]  # an unknown velocity, and no object, change nothing
    assert done.boxes is not None
    assert done.boxes.label.tolist() == [10, 252, 252]


def test_ids_of_unknown_meaning_stay(tmp_path: Path) -> None:
    sweep = rs.Sweep.from_points(np.ones((3, 3)), label=[7, 8, 300], pose=from_xyz_rpy(1.0))
    log = rs.Log.from_sweeps([sweep], "x", labels=load_labels("unknown"))
    rs.write_log(log, tmp_path / "out", "semantickitti", progress=False)
    again = rs.open_log(tmp_path / "out", empty_beams=False)
    assert again.labels.name == "unknown"
    assert again[0].label.tolist() == [7, 8, 300]


def test_classes_without_counterpart_are_named(tmp_path: Path) -> None:
    vocabulary = load_labels("rellis3d")
    labels = [vocabulary.id_of("vehicle"), vocabulary.id_of("sky"), 77]
    log = rs.Log.from_sweeps([rs.Sweep.from_points(np.ones((3, 3)), label=labels)], "hill", labels=vocabulary)
    with pytest.warns(UserWarning, match="log 'hill': SemanticKITTI has no class for sky, label 77; their returns"):
        rs.write_log(log, tmp_path / "out", "semantickitti", progress=False)
    assert rs.open_log(tmp_path / "out", empty_beams=False)[0].label.tolist() == [20, 0, 0]
    own = rs.Log.from_sweeps([rs.Sweep.from_points(np.ones((2, 3)), label=[10, 77])], "own", labels=LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is lost of labels that are not mapped
        rs.write_log(own, tmp_path / "own", "semantickitti", progress=False)
    assert rs.open_log(tmp_path / "own", empty_beams=False)[0].label.tolist() == [10, 77]


def test_remissions_are_from_zero_to_one(tmp_path: Path) -> None:
    assert scale_remission(np.array([0.0, 0.2, 0.9, 4.8])).tolist() == pytest.approx([0.0, 0.2, 0.9, 1.0])
    assert scale_remission(np.array([0.0, 51.0, 255.0])).tolist() == pytest.approx([0.0, 0.2, 1.0])
    assert scale_remission(np.zeros(0)).tolist() == []
    sweep = rs.Sweep.from_points(np.ones((3, 3)), intensity=[0.1, 0.2, 3.0])
    rs.write_log(rs.Log.from_sweeps([sweep], "x"), tmp_path / "out", "semantickitti", progress=False)
    rows = np.fromfile(tmp_path / "out" / "velodyne" / "000000.bin", "<f4").reshape(-1, 4)
    assert rows[:, 3].tolist() == pytest.approx([0.1, 0.2, 1.0])
