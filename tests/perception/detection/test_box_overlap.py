"""Overlaps of boxes whose areas are known, and what does not change them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.perception.detection.box_overlap import find_intersections, iou_3d, iou_bev


def box(
    x: float, y: float, length: float, width: float, yaw: float = 0.0, z: float = 0.0, height: float = 1.0
) -> Boxes:
    return Boxes([[x, y, z]], [[length, width, height]], [yaw], ["car"])


OCTAGON = 8 * (math.sqrt(2) - 1)  # what a square of side 2 shares with itself turned by 45 degrees


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (box(0, 0, 2, 2), 4.0),
        (box(1, 0, 2, 2), 2.0),
        (box(1, 1, 2, 2), 1.0),
        (box(2, 0, 2, 2), 0.0),  # they touch
        (box(9, 0, 2, 2), 0.0),
        (box(0, 0, 2, 2, math.pi / 2), 4.0),
        (box(0, 0, 2, 2, math.pi / 4), OCTAGON),
        (box(0, 0, 1, 0.5, 1.1), 0.5),  # within
        (box(0, 0, 20, 20, 0.7), 4.0),  # around
        (box(1, 0, math.sqrt(2), math.sqrt(2), math.pi / 4), 1.0),  # half of a diamond
        (box(0, 0, 10, 0.5), 1.0),  # across
    ],
)
def test_what_a_square_shares_is_exact(other: Boxes, shared: float) -> None:
    square = box(0, 0, 2, 2)
    area = float(other.size[0, 0] * other.size[0, 1])
    assert find_intersections(square, other)[0, 0] == pytest.approx(shared, abs=1e-9)
    assert find_intersections(other, square)[0, 0] == pytest.approx(shared, abs=1e-9)
    assert iou_bev(square, other)[0, 0] == pytest.approx(shared / (4 + area - shared), abs=1e-9)


def test_heights_count_in_space() -> None:
    low, high = box(0, 0, 2, 2, height=2.0), box(0, 0, 2, 2, z=1.0, height=2.0)
    assert iou_bev(low, high)[0, 0] == pytest.approx(1.0)
    assert iou_3d(low, high)[0, 0] == pytest.approx(4 / (8 + 8 - 4))
    assert iou_3d(low, box(0, 0, 2, 2, z=3.0))[0, 0] == 0.0


def test_moving_and_turning_both_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    count = 60
    size = rng.uniform(0.5, 6, (count, 3))
    place, yaw = rng.uniform(-4, 4, (count, 3)), rng.uniform(-7, 7, count)
    boxes = Boxes(place, size, yaw, ["car"] * count)
    angle, shift = 2.3, np.array([40.0, -70.0, 3.0])
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1.0]])
    moved = Boxes(place @ turn.T + shift, size, yaw + angle, ["car"] * count)
    for overlap in (iou_bev, iou_3d):
        found = overlap(boxes, boxes)
        assert np.allclose(np.diagonal(found), 1.0)
        assert np.allclose(found, found.T)
        assert np.allclose(overlap(moved, moved), found, atol=1e-9)
        assert (found > 0.01).sum() > 2 * count  # many do overlap


def test_areas_are_those_that_drawn_points_show() -> None:
    """Shares of 20,000 drawn points against exact ones: each is binomial, and within 5 sigma."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-3, 3, (20_000, 3)) * [1, 1, 0]
    for seed in range(20):
        draw = np.random.default_rng(seed)
        pair = [
            box(*draw.uniform(-1, 1, 2).tolist(), *draw.uniform(0.5, 3, 2).tolist(), float(draw.uniform(0, 7)))
            for _ in range(2)
        ]
        inside = (pair[0].contains(points)[0] & pair[1].contains(points)[0]).mean()
        share = find_intersections(*pair)[0, 0] / 36
        assert abs(inside - share) <= 5 * math.sqrt(max(share, 1e-4) * (1 - share) / len(points))


def test_no_boxes_overlap_nothing() -> None:
    none = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ())
    assert iou_bev(none, box(0, 0, 1, 1)).shape == (0, 1)
    assert iou_3d(box(0, 0, 1, 1), none).shape == (1, 0)
