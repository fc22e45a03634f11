"""What other sweeps show of a return at all: near one of their points, or in a plane of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from experiments.reachable import find_again, find_again_f1, find_reachable, find_share_f1
from resweep.pose import Array


def _rows_of_a_wall() -> Array:
    """Points 5 cm apart along rows 60 cm apart on the plane x = 10."""
    y, z = (each.reshape(-1) for each in np.meshgrid(np.arange(-3, 3, 0.05), np.arange(-3.0, 3.1, 0.6)))
    return np.column_stack([np.full(len(y), 10.0), y, z])


def test_a_return_between_two_rows_is_in_their_plane_and_near_none_of_their_points() -> None:
    place = np.array([[10.0, 0.0, 0.3], [10.0, 0.0, 0.05], [10.3, 0.0, 0.3]])
    near, bound = find_reachable(_rows_of_a_wall(), place, np.zeros((3, 3)))
    assert near.tolist() == [False, True, False]
    assert bound.tolist() == [True, True, False]  # the last lies 30 cm behind the wall


def test_what_lies_far_beyond_all_points_is_not_reached_by_extending_their_plane() -> None:
    near, bound = find_reachable(_rows_of_a_wall(), np.array([[10.0, 20.0, 0.0]]), np.zeros((1, 3)))
    assert not near.any()
    assert not bound.any()


def test_a_sweep_repeats_itself_and_not_one_with_other_returns() -> None:
    turn = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    points = np.column_stack([10 * np.cos(turn), 10 * np.sin(turn), np.zeros(100)])
    sweep = rs.Sweep.from_points(points.astype(np.float32))
    assert find_again_f1(sweep, sweep) == 1.0
    some = replace(sweep.select(np.arange(100) < 50))
    assert find_again_f1(some, sweep) == 2 * 50 / 150


def test_a_replay_is_right_where_nothing_changed() -> None:
    """Half of a ring around the sensor moved away by 20 cm; the sensor itself moved by 3 m, which changes ranges."""
    turn = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    points = np.column_stack([10 * np.cos(turn), 10 * np.sin(turn), np.zeros(400)])
    first = rs.Sweep.from_points(points.astype(np.float32))
    assert find_again(first, first) == 1.0
    farther = points * np.where(np.arange(400) < 200, 1.02, 1.0)[:, None]
    assert find_again(first, rs.Sweep.from_points(farther.astype(np.float32))) == 0.5
    pose = np.eye(4)
    pose[0, 3] = 3.0
    moved = rs.Sweep.from_points((points - pose[:3, 3]).astype(np.float32), pose=pose)
    assert find_again(first, moved) == 1.0
    assert find_again(first.select(np.arange(400) < 200), moved) == pytest.approx(0.5, abs=0.01)


def test_drops_by_chance_are_not_predicted_and_a_gap_is() -> None:
    """Every tenth beam drops, others in each sweep, and a sixth of the turn is open, where no return is expected."""
    turn = np.linspace(0, 2 * np.pi, 600, endpoint=False)
    points = np.column_stack([10 * np.cos(turn), 10 * np.sin(turn), np.zeros(600)])
    sweep = rs.Sweep.from_points(points.astype(np.float32))
    number = np.arange(600)
    first, second = (sweep.select((number % 10 != drop) & (number < 500)) for drop in (0, 5))
    assert find_again_f1(first, second) == pytest.approx(2 * 400 / 900)
    assert find_share_f1(first, second) == pytest.approx(2 * 450 / 950, abs=0.01)
