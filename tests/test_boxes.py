"""Boxes: which points lie in them."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.pose import from_xyz_rpy, inverse, transform


def make_boxes(count: int = 6) -> Boxes:
    rng = np.random.default_rng(3)
    return Boxes(
        rng.uniform(-8, 8, (count, 3)),
        rng.uniform(1, 6, (count, 3)),
        rng.uniform(-4, 4, count),
        [f"class {at}" for at in range(count)],
        np.arange(count),
        known=np.linspace(0, 1, count),
    )


@pytest.mark.parametrize("margin_m", [0.0, 0.2])
def test_points_in_boxes_are_those_in_the_boxes_own_frames(margin_m: float) -> None:
    boxes = make_boxes()
    points = np.random.default_rng(4).uniform(-10, 10, (20_000, 3))
    inside = []
    for centre, size, yaw in zip(boxes.centre, boxes.size, boxes.yaw, strict=True):
        local = transform(inverse(from_xyz_rpy(*centre, yaw=yaw)), points)
        inside.append((np.abs(local) <= size / 2 + margin_m).all(axis=1))
    assert (boxes.contains(points, margin_m) == inside).all()
    counts = boxes.count_points(points, margin_m)
    assert counts.tolist() == [int(rows.sum()) for rows in inside]
    assert counts.dtype == np.int64
    assert counts.min() > 0


def test_no_boxes_and_no_points_give_empty_counts() -> None:
    boxes = make_boxes()
    assert boxes.count_points(np.zeros((0, 3))).tolist() == [0] * len(boxes)
    assert boxes[:0].count_points(np.zeros((5, 3))).tolist() == []
    assert boxes[:0].contains(np.zeros((5, 3))).shape == (0, 5)


def test_rows_of_boxes_keep_all_columns() -> None:
    boxes = make_boxes()
    chosen = boxes[np.array([4, 1])]
    assert chosen.name == ("class 4", "class 1")
    assert chosen.track.tolist() == [4, 1]
    assert chosen.known.tolist() == pytest.approx([0.8, 0.2])
    assert boxes[boxes.track > 3].name == ("class 4", "class 5")
    assert [one.name for one in boxes[2:4]] == [("class 2",), ("class 3",)]


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(ResweepError, match="columns differ in length"):
        Boxes(np.zeros((2, 3)), np.ones((2, 3)), np.zeros(2), ["a", "b"], known=np.zeros(3))
