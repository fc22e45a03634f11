"""Many sweeps of one object aligned at once, by coloured ICP between all of them.

If sweeps were registered one by one, groups of them would drift apart: those that saw the left flank and those that saw
the right one share little but the roof. Here all motions are unknowns of one problem, with the boxes as priors. What
the returns do not constrain stays where the boxes are on average.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep import portable
from resweep.neighbours import Neighbours
from resweep.objects.coloured_icp import box_prior, compute_residuals, estimate_surface, have_similar_normals
from resweep.objects.config import IcpConfig
from resweep.pose import Array, transform
from resweep.registration import POSE, motion_matrix, motion_vector, plane_distances
from resweep.voxels import find_first_in_voxels

_MAX_NEIGHBOURS = 24  # nearest points that are searched for one of another sweep; chosen by hand


def align_sweeps(
    clouds: Sequence[Array], colours: Sequence[Array], config: IcpConfig
) -> tuple[Array, tuple[float, float]]:
    """Corrections (k, 4, 4) that align k clouds of one object, and their residual before and after, metres.

    ``clouds`` (n, 3) are placed by their boxes, with ``colours`` (n,). The residual is the median distance of points
    to the surface of the other clouds.
    """
    kept = [_thin(points, config) for points in clouds]
    thin = [points[rows] for points, rows in zip(clouds, kept, strict=True)]
    colour = np.concatenate([shade[rows] for shade, rows in zip(colours, kept, strict=True)])
    owner = np.repeat(np.arange(len(thin)), [len(cloud) for cloud in thin])
    poses = np.tile(np.eye(4), (len(thin), 1, 1))
    residual = []
    for turn in range(config.rounds + 1):
        points = np.concatenate([transform(pose, cloud) for pose, cloud in zip(poses, thin, strict=True)])
        surface = estimate_surface(points, colour, config)
        reach = max(config.reach_m / 2 ** (turn / 2), config.reach_min_m)
        first, second = _find_pairs(points, owner, surface[0], config.reach_m)
        height = np.abs(plane_distances(points[first], points[second], surface[1][second]))
        residual.append(float(np.median(height)) if len(height) else float("nan"))
        near = np.linalg.norm(points[first] - points[second], axis=1) <= reach
        near &= ~surface[0][first] | have_similar_normals(surface[1][first], surface[1][second])
        if turn == config.rounds or not near.any():
            break
        steps = _solve_joint_step(points, colour, owner, surface, first[near], second[near], poses, config)
        poses = np.stack([portable.matmul(motion_matrix(step), pose) for step, pose in zip(steps, poses, strict=True)])
    return poses, (residual[0], residual[-1])


def _thin(points: Array, config: IcpConfig) -> Array:
    """Rows of one cloud that are used: one a voxel, thinned to ``points_per_sweep`` where there are more."""
    rows = find_first_in_voxels(points, config.voxel_m)
    return rows[:: -(-len(rows) // config.points_per_sweep)]


def _find_pairs(points: Array, owner: Array, flat: Array, reach_m: float) -> tuple[Array, Array]:
    """Rows of points, and for each the nearest point on a surface that another cloud saw, within ``reach_m``."""
    index = Neighbours(points).knn(None, min(_MAX_NEIGHBOURS, len(points)), reach_m).index
    other = (index >= 0) & flat[index] & (owner[index] != owner[:, None])
    first = np.flatnonzero(other.any(axis=1))
    return first, index[first, other[first].argmax(axis=1)]


def _solve_joint_step(
    points: Array,
    colour: Array,
    owner: Array,
    surface: tuple[Array, Array, Array],
    first: Array,
    second: Array,
    poses: Array,
    config: IcpConfig,
) -> Array:
    """One Gauss-Newton step (k, 6) of all clouds together.

    The residual of a pair changes by the same amount, with opposite sign, under a motion of either cloud. Each pair of
    clouds therefore adds one block to the normal equations four times, twice with a minus sign.
    """
    _, normal, gradient = surface
    partner = (points[second], normal[second], colour[second], gradient[second])
    rows, residual, weight = compute_residuals(points[first], colour[first], *partner, config)
    count = len(poses)
    mine, theirs = np.tile(owner[first], 2), np.tile(owner[second], 2)
    pair = mine * count + theirs
    H = np.zeros((count, POSE, count, POSE))
    b = np.zeros((count, POSE))
    for i in range(POSE):
        pull = rows[:, i] * weight * residual
        b[:, i] = np.bincount(mine, pull, minlength=count) - np.bincount(theirs, pull, minlength=count)
        for j in range(POSE):
            block = np.bincount(pair, weight * rows[:, i] * rows[:, j], minlength=count**2).reshape(count, count)
            H[:, i, :, j] -= block + block.T
            H[np.arange(count), i, np.arange(count), j] += block.sum(axis=0) + block.sum(axis=1)
    prior = box_prior(config)
    so_far = np.stack([motion_vector(pose) for pose in poses])
    matrix = H.reshape(POSE * count, POSE * count) + np.diag(np.tile(1.0 / prior**2, count))
    return np.asarray(-portable.solve(matrix, (b + so_far / prior**2).ravel()).reshape(count, POSE))
