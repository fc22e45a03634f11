"""True boxes: a log's own where it has any, else boxes around the instances of its labels."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.log import Log
from resweep.perception.detection.box_overlap import iou_3d, iou_bev
from resweep.perception.detection.truth import CAMERA_HALF_RAD, find_truth
from resweep.pose import Array, from_xyz_rpy, inverse, transform
from resweep.sweep import Sweep

LABELS = load_labels("semantickitti")
SIZE = (4.2, 1.8, 1.5)


def car_sides(rng: np.random.Generator, sensor: Array, place: Array, yaw: float) -> Array:
    """Returns (n, 3) on the sides of a car that face the sensor, and on its roof; the car stands on z = 0."""
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    local = turn.T @ (sensor[:2] - place)
    half = np.array(SIZE) / 2
    sides = [rng.uniform(-half, half, (60, 3)) * [1, 1, 0] + [0, 0, half[2]]]
    for axis in (0, 1):
        if abs(local[axis]) > half[axis]:
            side = rng.uniform(-half, half, (150, 3))
            side[:, axis] = math.copysign(half[axis], local[axis])
            sides.append(side)
    points = np.concatenate(sides)
    return np.column_stack([points[:, :2] @ turn.T + place, points[:, 2] + half[2]])


def make_log(speed_m_s: float = 0.0, label: str = "car") -> tuple[Log, list[Array]]:
    """A drive past a car, which has an instance; and the car's place in each sweep's frame."""
    rng = np.random.default_rng(0)
    sweeps, places = [], []
    for at in range(6):
        pose = from_xyz_rpy(float(at), 0.0, 1.7)
        place = np.array([12.0 + 0.1 * at * speed_m_s, 4.0])
        car = car_sides(rng, pose[:3, 3], place, 0.0)
        ground = np.column_stack([rng.uniform(-20, 30, (4000, 2)), np.zeros(4000)])
        points = transform(inverse(pose), np.concatenate([car, ground]))
        labels = np.repeat([LABELS.id_of(label), LABELS.id_of("road")], [len(car), len(ground)])
        instance = np.repeat([7, 0], [len(car), len(ground)])
        sweeps.append(Sweep.from_points(points, pose=pose, label=labels, instance=instance, timestamp=0.1 * at))
        places.append(transform(inverse(pose), np.array([[*place, SIZE[2] / 2]])))
    return Log.from_sweeps(sweeps, "past a car", labels=LABELS), places


@pytest.mark.parametrize(("speed", "label"), [(0.0, "car"), (9.0, "moving car")])
def test_a_box_around_an_instance_is_that_of_the_car(speed: float, label: str) -> None:
    log, places = make_log(speed, label)
    for truth, place in zip(find_truth(log, show=False), places, strict=True):
        assert truth.boxes.name == ("car",)
        assert truth.counted.all()
        assert truth.sector is None
        real = Boxes(place, [SIZE], [0.0], ["car"])
        assert iou_bev(truth.boxes, real)[0, 0] > 0.85
        assert iou_3d(truth.boxes, real)[0, 0] > 0.8
        assert truth.boxes.n_points[0] > 100


def test_a_car_of_which_one_end_was_seen_is_completed_away_from_the_sensor() -> None:
    rng = np.random.default_rng(0)
    half = np.array(SIZE) / 2
    end = rng.uniform(-half, half, (300, 3))
    end[:, 0] = -half[0]  # the back of a car straight ahead
    points = end + np.array([15.0, 0.0, half[2] - 1.7])
    ground = np.column_stack([rng.uniform(5, 25, 2000), rng.uniform(-5, 5, 2000), np.full(2000, -1.7)])
    labels = np.repeat([LABELS.id_of("car"), LABELS.id_of("road")], [len(points), len(ground)])
    sweep = Sweep.from_points(
        np.concatenate([points, ground]), label=labels, instance=np.repeat([3, 0], [len(points), len(ground)])
    )
    (truth,) = find_truth(Log.from_sweeps([sweep], "behind a car", labels=LABELS), show=False)
    assert truth.counted.all()
    assert truth.boxes.size[0] == pytest.approx([3.9, 1.8, 1.5], abs=0.1)
    assert truth.boxes.centre[0, :2] == pytest.approx([15.0 - half[0] + 3.9 / 2, 0.0], abs=0.1)
    few = sweep.select(np.arange(len(sweep)) >= 290)
    assert not find_truth(Log.from_sweeps([few], "few", labels=LABELS), show=False)[0].counted.any()


def boxed(*places: tuple[float, float]) -> Log:
    boxes = Boxes([[x, y, 0.0] for x, y in places], [SIZE] * len(places), np.zeros(len(places)), ["Car"] * len(places))
    points = np.array([[x, y, 0.1] for x, y in places])
    return Log.from_sweeps([Sweep.from_points(points, boxes=boxes)], "boxed", labels=LABELS)


def test_boxes_that_are_all_ahead_were_annotated_in_a_camera() -> None:
    (ahead,) = find_truth(boxed((10, 0), (20, 5), (30, -20)), show=False)
    assert ahead.sector == (0.0, CAMERA_HALF_RAD)
    assert ahead.boxes.name == ("car",) * 3
    assert ahead.boxes.n_points.tolist() == [1, 1, 1]
    for around in (boxed((10, 0), (20, 5), (-30, -20)), boxed((10, 0))):
        assert find_truth(around, show=False)[0].sector is None
    assert find_truth(boxed((10, 0), (20, 5), (30, 0)), "everywhere", show=False)[0].sector is None
    assert find_truth(boxed((10, 0), (-9, 0)), "camera", show=False)[0].select("car", 1).tolist() == [True, False]


def test_a_log_with_neither_is_an_error_of_one_line() -> None:
    sweep = Sweep.from_points(np.ones((3, 3)))
    log = Log.from_sweeps([sweep], "bare")
    with pytest.raises(ResweepError, match="log 'bare': has neither annotated boxes nor instances of vehicles"):
        find_truth(log, show=False)


def test_boxes_around_instances_of_a_real_log_fit_as_annotated_ones_do(sample_data: Path) -> None:
    """A street of parked cars: all that count are as large as cars, and stand side by side."""
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "03", empty_beams=False)[4:7]
    (_, truth, _) = find_truth(log, show=False)
    counted = truth.boxes[truth.counted]
    assert len(counted) >= 4
    assert (counted.size[:, 0] >= 3.3).all()
    near = counted[np.abs(counted.centre[:, 1] + 3) < 1]  # parked along the road on its right
    assert len(near) >= 3
    assert (np.abs((near.yaw + math.pi / 2) % math.pi - math.pi / 2) < 0.1).all()
