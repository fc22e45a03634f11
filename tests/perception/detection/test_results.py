"""Detections of others: result files of KITTI and nuScenes, and functions; each that does not fit is one error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import InputError
from resweep.io import open_log, write_log
from resweep.log import Log
from resweep.perception.detection.callable_detector import CallableDetector
from resweep.perception.detection.open_detections import open_detections
from resweep.perception.models import DetectionModel
from resweep.pose import Array, from_xyz_rpy
from resweep.sweep import Sweep
from tests.io.test_kitti_object import LABEL, make_training

SCORED = "\n".join(f"{line} {score}" for line, score in zip(LABEL.splitlines(), ("0.9", "-1", "0.4"), strict=True))


@pytest.fixture
def training(tmp_path: Path) -> Path:
    return make_training(tmp_path)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "000000.txt").write_text("")
    (folder / "000007.txt").write_text(SCORED + "\n")
    return folder


def test_kitti_results_are_in_the_frame_of_the_lidar(training: Path, results: Path) -> None:
    log = open_log(training)
    model = open_detections(results, log, training)
    assert isinstance(model, DetectionModel)
    assert model.classes == ("car", "pedestrian")
    assert len(model.detect(log[0])) == 0
    found = model.detect(log[1])
    assert found.boxes.name == ("car", "pedestrian")
    assert found.score.tolist() == [0.9, 0.4]
    assert np.allclose(found.boxes.centre, log[1].boxes.centre)  # type: ignore[union-attr]
    assert np.allclose(found.boxes.yaw, log[1].boxes.yaw)  # type: ignore[union-attr]
    part = log[1:]
    assert len(open_detections(results, part, training).detect(part[0])) == 2


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("000007.txt", LABEL, "line 1: 15 values; a result has 16, the score last"),
        ("000007.txt", SCORED.replace("0.9", "nan"), "line 1: the score is nan; a model that gives NaN found nothing"),
        ("000007.txt", SCORED.replace("0.9", "high"), "line 1: the score 'high' is no number"),
        ("000007.txt", SCORED.replace("20.0", "inf"), "line 1: holds NaN or infinity"),
        ("000007.txt", SCORED.replace(" 1.5 1.6", " 0 1.6"), "line 1: a size that is not above 0"),
        ("000003.txt", "", "has no scan 3 .* these are results of other frames"),
    ],
)
def test_kitti_results_that_do_not_fit(training: Path, results: Path, name: str, text: str, problem: str) -> None:
    (results / name).write_text(text)
    with pytest.raises(InputError, match=problem):
        open_detections(results, open_log(training), training)


def test_frames_without_results_are_an_error(training: Path, results: Path, tmp_path: Path) -> None:
    log = open_log(training)
    (results / "000000.txt").unlink()
    with pytest.raises(InputError, match=r"has no file of frame 0 \(1 of 2 sweeps have none\)"):
        open_detections(results, log, training)
    late = open_detections(results, log[1:], training)  # the file of the other frame is there
    with pytest.raises(InputError, match=r"holds no frame for the sweep at 0\.000000 s"):
        late.detect(log[0])
    with pytest.raises(InputError, match="are results of frames; name the recording"):
        open_detections(results, log)
    with pytest.raises(InputError, match="no scans of KITTI in it"):
        open_detections(results, log, tmp_path)
    (training / "velodyne" / "000009.bin").write_bytes((training / "velodyne" / "000007.bin").read_bytes())
    with pytest.raises(InputError, match=r"has 3 scans, but the log 'training' has 2 sweeps"):
        open_detections(results, log, training)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drive at UTM coordinates past two cars."""
    sweeps = []
    for at in range(2):
        boxes = Boxes(
            [[10.0 - at, 3, 0], [-8, 2, 0.2]], [[4, 2, 1.5], [4.2, 1.8, 1.6]], [0.3, 3.0], ["car", "car"], [1, 2]
        )
        pose = from_xyz_rpy(448_262.0 + at, 5_411_932.0, 260.5, yaw=0.4)
        points = np.random.default_rng(at).uniform(-20, 20, (300, 3)) * [1, 1, 0.05]
        stamp = 1_700_000_000.25 + 0.1 * at
        sweeps.append(Sweep.from_points(points, pose=pose, timestamp=stamp, boxes=boxes, ring=np.arange(300) % 32))
    path = tmp_path_factory.mktemp("nuscenes") / "data"
    write_log(Log.from_sweeps(sweeps, "drive"), path, format="nuscenes")
    return path


def make_results(scene: Path) -> dict[str, Any]:
    """The annotations of a scene as a detector would give them."""
    rows = json.loads(next(scene.glob("v1.0-*/sample_annotation.json")).read_text())
    found: dict[str, Any] = {}
    for at, row in enumerate(rows):
        entry = {name: row[name] for name in ("sample_token", "translation", "size", "rotation")}
        entry |= {"detection_name": "car", "detection_score": 0.9 - 0.1 * at, "velocity": [0, 0], "attribute_name": ""}
        found.setdefault(row["sample_token"], []).append(entry)
    return {"meta": {"use_lidar": True}, "results": found}


def test_nuscenes_results_are_in_the_frame_of_the_lidar(scene: Path, tmp_path: Path) -> None:
    log = open_log(scene)
    file = tmp_path / "results.json"
    file.write_text(json.dumps(make_results(scene)))
    model = open_detections(file, log, scene)
    for sweep, scores in zip(log, ([0.9, 0.8], [0.7, 0.6]), strict=True):
        found = model.detect(sweep)
        assert sweep.boxes is not None
        assert found.score.tolist() == pytest.approx(scores)
        assert np.allclose(found.boxes.centre, sweep.boxes.centre, atol=1e-6)
        assert np.allclose(found.boxes.size, sweep.boxes.size)
        assert np.allclose(found.boxes.yaw, sweep.boxes.yaw, atol=1e-6)


def test_nuscenes_results_that_do_not_fit(scene: Path, tmp_path: Path) -> None:
    log, file = open_log(scene), tmp_path / "results.json"

    def refuses(change: Any, problem: str) -> None:
        data = make_results(scene)
        change(data["results"])
        file.write_text(json.dumps(data))
        with pytest.raises(InputError, match=problem):
            open_detections(file, log, scene)

    first = next(iter(make_results(scene)["results"]))
    refuses(lambda data: data.pop(first), "no entry for sample")
    refuses(lambda data: data.update(abc=[]), r"sample 'abc' is not in .* these are results of other frames")
    refuses(lambda data: data[first][0].update(size=[1, 0, 1]), "size: expected three numbers above 0")
    refuses(lambda data: data[first][0].update(detection_score=None), "detection_score: expected a finite number")
    refuses(lambda data: data[first][0].update(translation=[1, 2]), "translation: 2 numbers, 3 expected")
    file.write_text('{"results": {"a": [NaN]}}')
    with pytest.raises(InputError, match="damaged or not JSON"):
        open_detections(file, log, scene)
    file.write_text(json.dumps(make_results(scene)))
    with pytest.raises(InputError, match="has no tables of nuScenes"):
        open_detections(file, log, tmp_path)


def find_one(points: Array) -> tuple[Any, Any, Any]:
    """A car where the points are."""
    assert points.dtype == np.float32
    assert points.shape[1] == 5
    return [[*points[:, :3].mean(axis=0), 4, 2, 1.5, 0.1]], [0.7], [0]


SWEEP = Sweep.from_points(np.array([[9.0, 1, 0], [11, 1, 0]]), intensity=np.array([51.0, 255]), ring=np.array([3, 4]))


def test_a_function_is_a_detector() -> None:
    seen: list[Array] = []

    def look(points: Array) -> tuple[Any, Any, Any]:
        seen.append(points)
        return find_one(points)

    model = CallableDetector(look, ("car",), 255.0)
    assert isinstance(model, DetectionModel)
    found = model.detect(SWEEP)
    assert np.allclose(seen[0], [[9, 1, 0, 0.2, 3], [11, 1, 0, 1, 4]])
    assert found.boxes.centre[0].tolist() == [10, 1, 0]
    assert found.boxes.name == ("car",)
    log = Log.from_sweeps([SWEEP], "one")
    assert open_detections(f"{__name__}:find_one", log).detect(SWEEP).score.tolist() == [0.7]
    assert len(CallableDetector(lambda points: ([], [], [])).detect(SWEEP)) == 0


BOX = [[1.0, 2, 3, 4, 2, 1.5, 0]]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((BOX, [float("nan")], ["car"]), "gives values that are not finite"),
        (([[np.nan, *BOX[0][1:]]], [1], ["car"]), "gives values that are not finite"),
        ((BOX, [1, 2], ["car"]), r"shapes \[1, 7\], \[2\] and 1; expected \(k, 7\), \(k,\) and k"),
        (([[1, 2]], [1], ["car"]), r"shapes \[1, 2\]"),
        ((BOX, [1], [4]), "gives the class 4; give a name, or a number below 1"),
        (([[1, 2, 3, 4, 0, 1.5, 0]], [1], ["car"]), "gives a size that is not above 0"),
        ((BOX, ["high"], ["car"]), "that are no numbers"),
        (None, "gives no tuple of boxes, scores and classes"),
    ],
)
def test_what_is_no_detection_is_refused(given: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        CallableDetector(lambda points: given).detect(SWEEP)


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(InputError, match=r"the model: fails on a sweep \(ZeroDivisionError"):
        CallableDetector(lambda points: 1 / 0).detect(SWEEP)
    log = Log.from_sweeps([SWEEP], "one")
    with pytest.raises(InputError, match="model 'no_module:find': cannot be imported"):
        open_detections("no_module:find", log)
    with pytest.raises(InputError, match="is no function"):
        open_detections(f"{__name__}:BOX", log)
    with pytest.raises(
        InputError, match="nowhere: does not exist; give the folder that `resweep learn detector` wrote"
    ):
        open_detections("nowhere", log)
