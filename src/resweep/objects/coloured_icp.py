"""Coloured ICP: registration by geometry and intensity together.

J. Park, Q.-Y. Zhou, V. Koltun, "Colored Point Cloud Registration Revisited", ICCV 2017: each point of the target
has a plane and a linear function of colour on it. The transform brings the source's points onto the planes and
their colours onto the functions. D, 3.2 uses recorded intensity as the colour. Here a prior on the transform is
added: a flank alone does not constrain the shift along itself, the box does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.neighbours import Neighbours
from resweep.objects.config import IcpConfig
from resweep.pose import Array, transform
from resweep.registration import motion_jacobian, motion_matrix, motion_vector, plane_distances, solve_step

# Chosen by hand where a line names no source.
_MIN_NEIGHBOURS = 6  # to estimate a plane and a gradient
_MIN_NORMAL_COSINE = 0.8  # between the normals of paired points
_MAX_FLATNESS = 0.3  # ratio of the smallest eigenvalue to the middle one, above which there is no plane
_RIDGE = 1e-2  # share of the scatter of neighbours that is added along all axes: a line of points has a gradient too
_STOP = 1e-5  # radians and metres: smaller steps end a registration, far below the noise of a return
_PLANE_WIDTH = 2.0  # of the robust weights across a plane, in `noise_m`


@dataclass(frozen=True, eq=False)
class Target:
    """Points (n, 3) with unit ``normal``, ``colour`` (n,) and its ``gradient`` (n, 3) along the surface, 1/m."""

    near: Neighbours
    points: Array
    normal: Array
    colour: Array
    gradient: Array


def make_target(points: Array, colour: Array, config: IcpConfig) -> Target | None:
    """A target from points (n, 3) and colours (n,); None where they form no surface."""
    if len(points) < _MIN_NEIGHBOURS:
        return None
    flat, normal, gradient = estimate_surface(points, colour, config)
    if flat.sum() < _MIN_NEIGHBOURS:
        return None
    return Target(Neighbours(points[flat]), points[flat], normal[flat], colour[flat], gradient[flat])


def estimate_surface(points: Array, colour: Array, config: IcpConfig) -> tuple[Array, Array, Array]:
    """Which points (n,) lie on a surface, their normals (n, 3) and the gradients (n, 3) of colour along it."""
    k = min(config.neighbours, len(points))
    near = Neighbours(points)
    shape = near.pca(k, config.normal_radius_m)
    flat = (shape.count >= _MIN_NEIGHBOURS) & (shape.eigenvalues[:, 2] <= _MAX_FLATNESS * shape.eigenvalues[:, 1])
    normal, gradient = shape.normal.astype(np.float64), np.zeros((len(points), 3))
    rows = np.flatnonzero(flat)
    if len(rows):
        found = near.knn(points[rows], k, config.normal_radius_m).index
        gradient[rows] = _estimate_gradients(points, colour, rows, normal[rows], found)
    return flat, normal, gradient


def _estimate_gradients(points: Array, colour: Array, rows: Array, normal: Array, found: Array) -> Array:
    """Least-squares gradients (m, 3) of colour in the tangent planes at ``rows`` (Park et al., eqs. 10 and 11)."""
    there = found >= 0
    offset = np.where(there[..., None], points[found] - points[rows][:, None], 0.0)
    offset -= np.einsum("nki,ni->nk", offset, normal)[..., None] * normal[:, None]
    step = np.where(there, colour[found] - colour[rows][:, None], 0.0)
    matrix = np.einsum("nki,nkj->nij", offset, offset)
    scale = np.maximum(np.trace(matrix, axis1=1, axis2=2), 1e-9)[:, None, None]
    # The term along the normal keeps the gradient in the plane; the ridge keeps it finite on a line of points.
    matrix = matrix + scale * (normal[:, :, None] * normal[:, None] + _RIDGE * np.eye(3))
    return np.asarray(portable.solve(matrix, np.einsum("nki,nk->ni", offset, step)[..., None])[..., 0])


def register(
    source: Array,
    colour: Array,
    normal: Array | None,
    target: Target,
    start: Array,
    prior: Array,
    reach_m: float,
    config: IcpConfig,
) -> Array:
    """``T_target_source`` (4, 4) that brings ``source`` (n, 3) with ``colour`` (n,) onto the target, from ``start``.

    Paired points must have similar normals where those of the source, ``normal`` (n, 3), are given. ``prior`` (6,) is
    the expected deviation from the identity: turn about x, y, z in radians and shift in metres. ``reach_m`` is the
    largest distance between paired points.
    """
    T = start.copy()
    for _ in range(config.iterations):
        moved = transform(T, source)
        partner = target.near.knn(moved, 1, reach_m).index[:, 0]
        paired = np.flatnonzero(partner >= 0)
        if normal is not None:
            paired = paired[
                have_similar_normals(portable.matmul(normal[paired], T[:3, :3].T), target.normal[partner[paired]])
            ]
        step = _step(moved[paired], colour[paired], target, partner[paired], T, prior, config)
        T = portable.matmul(motion_matrix(step), T)
        if np.abs(step).max() < _STOP:
            break
    return np.asarray(T)


def have_similar_normals(first: Array, second: Array) -> Array:
    """Whether the normals (n, 3) of paired points are parallel, up to their sign."""
    return np.asarray(np.abs(np.einsum("ni,ni->n", first, second)) > _MIN_NORMAL_COSINE)


def measure_residuals(points: Array, target: Target, reach_m: float) -> tuple[Array, Array]:
    """Distances (m,) of points (n, 3) to the target's surface, metres, and the rows of the target's nearest points.

    Only of the points that have one within ``reach_m``.
    """
    partner = target.near.knn(points, 1, reach_m).index[:, 0]
    paired = partner >= 0
    at = partner[paired]
    return np.abs(plane_distances(points[paired], target.points[at], target.normal[at])), at


def _step(
    moved: Array, colour: Array, target: Target, partner: Array, T: Array, prior: Array, config: IcpConfig
) -> Array:
    """One Gauss-Newton step (6,) towards the target, with the prior."""
    at = (target.points[partner], target.normal[partner], target.colour[partner], target.gradient[partner])
    rows, residual, weight = compute_residuals(moved, colour, *at, config)
    return solve_step(rows, residual, weight, prior, motion_vector(T))


def compute_residuals(
    moved: Array, colour: Array, points: Array, normal: Array, shade: Array, gradient: Array, config: IcpConfig
) -> tuple[Array, Array, Array]:
    """Rows (2n, 6) by a turn and a shift of ``moved``, residuals (2n,) and weights (2n,) of n pairs of points.

    First come the distances to the target's planes, then the differences to its linear colours (Park et al., eqs.
    14 to 18). The weights combine σ and 1 − σ, the noise, and a robust weight of each pair.
    """
    height = plane_distances(moved, points, normal)
    on_plane = moved - points - height[:, None] * normal
    differs = shade + np.einsum("ni,ni->n", gradient, on_plane) - colour
    fits = 1.0 / (1.0 + (height / (_PLANE_WIDTH * config.noise_m)) ** 2) / config.noise_m**2
    matching = fits / (1.0 + (differs / config.colour_noise) ** 2)  # a specular highlight is seen from one side only
    share = config.geometric_share
    along = np.concatenate([normal, gradient])
    rows = motion_jacobian(np.concatenate([moved, moved]), along)
    return rows, np.concatenate([height, differs]), np.concatenate([share * fits, (1 - share) * matching])


def box_prior(config: IcpConfig) -> Array:
    """The expected error of boxes (6,), as the prior of `register`."""
    tilt, shift = config.tilt_prior_rad, config.shift_prior_m
    return np.array([tilt, tilt, config.turn_prior_rad, shift, shift, config.lift_prior_m])
