"""The robot gets through grass to its goal, and its cost maps are scored against the geometry."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import b_figure10
from resweep import World
from resweep.drive.planners.costmap import CostMap, CostMapConfig
from resweep.scenes import SCENE_LABELS, box, ground_plane
from tests.experiments.conftest import CheckCommand


@pytest.fixture(scope="module")
def result() -> dict:
    return b_figure10.run(fast=True)


def test_both_sensors_lead_to_the_goal_without_a_collision(result: dict) -> None:
    straight = np.hypot(16.0, 16.0) - 2.0  # the goal counts within 2 m
    for row in result["rows"]:
        assert row["reached"]
        assert row["collisions"] == 0
        assert straight - 0.1 < row["path_m"] < 1.3 * straight
        assert row["driven_s"] > row["path_m"] / 2.0  # 2 m/s at most
        assert row["grass_blocked_share"] < 0.01


def test_the_flat_scanner_sees_less_than_the_vlp_16(result: dict) -> None:
    """B: the LMS-291 detects only the trees, and most of the grass is below its plane."""
    flat, many = result["rows"]
    assert flat["cells_seen"] < 0.1 * many["cells_seen"]
    assert flat["tree_cells_found"] < many["tree_cells_found"]
    assert many["cost_error_mean"] < 20.0


def test_the_truth_is_the_height_of_what_stands_in_a_cell() -> None:
    stone = box((2.0, 2.0, 0.75), (10.25, 0.25, 0.0))
    world = World([ground_plane((60.0, 60.0)), stone], labels=SCENE_LABELS)
    grid = CostMap(CostMapConfig(cells=100), (0.0, 0.0))
    costs, solid = b_figure10.cache_truth(world)(grid)
    (edge,), _ = grid.find_cells(np.array([[9.3, 0.2]]))
    assert costs[tuple(edge)] == pytest.approx(50.0)
    assert solid[tuple(edge)]
    (free,), _ = grid.find_cells(np.array([[5.0, 0.2]]))
    assert costs[tuple(free)] == 0.0


def test_the_command(check_command: CheckCommand, result: dict) -> None:
    check_command("b_figure10", result)
    assert {"sensor", "reached", "path_m", "collisions", "grass_blocked_share"} <= set(result["rows"][0])
