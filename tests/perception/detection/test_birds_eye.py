"""Bird's-eye images of few returns, and boxes through what a network gives and back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import SettingsError
from resweep.perception.detection.birds_eye import BirdsEyeGrid, draw_birds_eye
from resweep.perception.detection.box_overlap import iou_3d
from resweep.perception.detection.decoding import BOX_CHANNELS, decode, encode_boxes

GRID = BirdsEyeGrid(reach_x_m=3.2, reach_y_m=1.6, cell_m=0.2, bottom_m=-2.0, top_m=2.0)


def test_a_cell_shows_its_highest_return() -> None:
    points = np.array([[0.1, 0.1, -1.0], [0.15, 0.1, 1.0], [0.1, 0.15, 0.0], [-3.1, -1.5, 0.0], [9, 0, 0], [0.1, 0, 3]])
    image = draw_birds_eye(points, np.array([0.1, 0.5, 0.9, 7.0, 1.0, 1.0], np.float32), GRID)
    assert image.shape == (3, 32, 16)
    assert image.dtype == np.float32
    assert image[:, 16, 8] == pytest.approx([0.75, 0.5, math.log(4) / math.log(64)])
    assert image[:, 0, 0] == pytest.approx([0.5, 1.0, math.log(2) / math.log(64)])  # brighter than a white target: cut
    assert np.count_nonzero(image.any(axis=0)) == 2


def test_the_order_of_returns_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    points = np.round(rng.uniform(-3, 3, (5000, 3)), 1)  # many of equal height
    intensity = rng.random(5000).astype(np.float32)
    order = rng.permutation(5000)
    assert np.array_equal(
        draw_birds_eye(points, intensity, GRID), draw_birds_eye(points[order], intensity[order], GRID)
    )
    assert not draw_birds_eye(points[:0], intensity[:0], GRID).any()


def test_grids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"reach_x_m: twice 3 m are 30 cells of 0\.2 m; give a multiple of 16"):
        BirdsEyeGrid(reach_x_m=3.0)
    with pytest.raises(SettingsError, match="top_m: -5 is not above bottom_m"):
        BirdsEyeGrid(top_m=-5.0)


def test_boxes_come_back_from_what_a_network_would_give() -> None:
    boxes = Boxes(
        [[-2.3, 0.4, -1.0], [1.7, -0.9, 0.3]], [[4, 1.8, 1.5], [0.8, 0.6, 1.7]], [0.3, 2.0], ["car", "walker"]
    )
    rows = np.column_stack([boxes.centre, boxes.size, boxes.yaw])
    cell = np.floor(GRID.find_answers(boxes.centre)).astype(int)
    middles = (cell + 0.5) * GRID.answer_m - [GRID.reach_x_m, GRID.reach_y_m]
    answers = np.full((2 + len(BOX_CHANNELS), *GRID.answer_shape), -9.0, np.float32)
    for number in (0, 1):
        answers[number, cell[number, 0], cell[number, 1]] = (2.0, 1.0)[number]
        answers[number, cell[number, 0], cell[number, 1] + 1] = 0.5  # beside the peak, and lower
    answers[2:, cell[:, 0], cell[:, 1]] = encode_boxes(rows, middles, GRID.answer_m).T
    found = decode(answers, GRID, ("car", "walker"), 0.3)
    assert found.boxes.name == ("car", "walker")
    assert found.score == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-1))])
    assert np.allclose(np.diagonal(iou_3d(found.boxes, boxes)), 1.0, atol=1e-5)
    assert np.allclose((found.boxes.yaw - boxes.yaw) % math.pi, 0, atol=1e-5)  # or turned by half a turn
    assert len(decode(answers, GRID, ("car", "walker"), 0.8)) == 1
