"""The point-to-plane step: its Jacobian, its weights, and points brought onto planes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from resweep.pose import Array, transform
from resweep.registration import (
    find_planes,
    geman_mcclure_weight,
    huber_weight,
    motion_jacobian,
    motion_matrix,
    motion_vector,
    move_pose,
    plane_distances,
    rigid_step,
    solve_step,
)

RNG = np.random.default_rng(0)


def unit(rows: Array) -> Array:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_rows_of_the_jacobian_are_the_slopes_of_the_distances() -> None:
    points, places, normal = RNG.normal(0, 5, (20, 3)), RNG.normal(0, 5, (20, 3)), unit(RNG.normal(size=(20, 3)))
    centre = np.array([1.0, -2.0, 0.5])
    rows = motion_jacobian(points - centre, normal)
    for axis in range(6):
        change = np.zeros(6)
        change[axis] = 1e-6
        there = transform(move_pose(np.eye(4), change, centre), points)
        slope = (plane_distances(there, places, normal) - plane_distances(points, places, normal)) / 1e-6
        np.testing.assert_allclose(rows[:, axis], slope, atol=1e-4)


def test_weights_fall_with_the_error() -> None:
    np.testing.assert_allclose(huber_weight(np.array([-0.01, 0.03, 0.06, -0.3]), 0.03), [1, 1, 0.5, 0.1])
    weight = geman_mcclure_weight(np.array([0.0, 0.01, -0.01, 5.0]), 0.05)
    assert weight[0] == 1
    assert weight[1] == weight[2] > 0.9
    assert weight[3] < 1e-6


def test_a_sparse_system_has_the_solution_of_the_dense_one_and_priors_hold_it_back() -> None:
    jacobian, error, weight = RNG.normal(size=(50, 4)), RNG.normal(size=50), RNG.uniform(0.5, 1, 50)
    prior, so_far = np.array([1.0, 2.0, 0.5, 1e-9]), RNG.normal(size=4)
    so_far[3] = 0.0
    dense = solve_step(jacobian, error, weight, prior, so_far)
    np.testing.assert_allclose(solve_step(sparse.csr_matrix(jacobian), error, weight, prior, so_far), dense)
    assert dense[3] == pytest.approx(0, abs=1e-12)

    def cost(x: Array) -> float:
        return float((weight * (error + jacobian @ x) ** 2).sum() + (((so_far + x) / prior) ** 2)[:3].sum())

    assert all(cost(dense) <= cost(dense + step) for step in 1e-3 * np.eye(4)[:3])


def test_motions_and_vectors_are_inverse() -> None:
    change = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(motion_vector(motion_matrix(change)), change)
    np.testing.assert_allclose(move_pose(np.eye(4), change, np.zeros(3)), motion_matrix(change))


def test_steps_bring_points_onto_planes() -> None:
    axis = np.arange(-4, 4, 0.1)
    flat = np.stack(np.meshgrid(axis, axis, [0.0]), axis=-1).reshape(-1, 3) + RNG.uniform(0, 0.1, (6400, 3)) * [1, 1, 0]
    points = np.concatenate([flat, flat[:, [0, 2, 1]] + [0, 3, 0], flat[:, [2, 0, 1]] + [3, 0, 0]])
    planes = find_planes(points, 0.2, 0.75)
    assert len(planes) > 1000
    motion = motion_matrix(np.r_[np.radians([0.5, -0.3, 1.0]), 0.05, -0.08, 0.06])
    for _ in range(8):
        there = transform(motion, points)
        found = planes.match(there, 0.5)
        weight = geman_mcclure_weight(found.error, 0.05)
        change = rigid_step(there[found.row], np.zeros(3), found.normal, found.error, weight)
        motion = move_pose(motion, change, np.zeros(3))
    np.testing.assert_allclose(motion, np.eye(4), atol=2e-3)


def test_too_few_points_have_no_planes() -> None:
    planes = find_planes(np.zeros((3, 3)), 0.1, 0.5)
    assert len(planes) == 0
    assert len(planes.match(np.zeros((5, 3)), 1.0).row) == 0
