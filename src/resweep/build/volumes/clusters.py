"""Ways to split a map's points into volumes (A, III-C-2 and III-C-3). Points of another kind never share one.

The regular voxels of A, III-C-1 are those of `resweep.voxels.number_voxels`.
"""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.voxels import find_cells, find_touching_cells, make_cell_keys, number_keys

_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_MARDIA = 15.0, 120.0  # mean and n times variance of the kurtosis of a 3D Gaussian (Mardia 1970)
_LENGTH_SIGMAS = 4  # of an ellipsoid, from end to end: two to either side of its mean
_LLOYD_ROUNDS = 8  # of splitting in two; chosen by hand


def _estimate_moments(points: Array, cluster: Array, count: int) -> tuple[Array, Array, Array]:
    """Number (c,), mean (c, 3) and covariance (c, 3, 3) of the points of each cluster."""
    number = np.bincount(cluster, minlength=count)
    least = np.maximum(number, 1)
    mean = np.stack([np.bincount(cluster, points[:, i], count) for i in range(3)], axis=1) / least[:, None]
    off = points - mean[cluster]
    rows = np.stack([np.bincount(cluster, off[:, i] * off[:, j], count) for i, j in _PAIRS], axis=1) / least[:, None]
    return number, mean, rows[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def top_down(points: Array, kind: Array, leaf_points: int, gaussian_z: float, noise_m: float) -> Array:
    """Recursive two-means (A, III-C-2): clusters (n,), split while both halves keep ``leaf_points``.

    With ``gaussian_z`` above 0, a cluster whose kurtosis (Mardia) is within that many standard errors of a
    Gaussian's is left whole: the paper's variation on the stopping rule. All clusters of a level are split at once.
    """
    points = points.astype(np.float64)
    cluster = number_keys(kind)
    open_ = np.ones(cluster.max() + 1, bool)
    while open_.any():
        number, mean, covariance = _estimate_moments(points, cluster, len(open_))
        covariance = covariance + noise_m**2 * np.eye(3)
        open_ &= number >= 2 * leaf_points
        if gaussian_z > 0:
            open_ &= ~_are_gaussian(points, cluster, mean, covariance, number, gaussian_z)
        if not open_.any():
            break
        half = _split_in_two(points, cluster, open_, mean, covariance)
        sizes = np.stack([np.bincount(cluster[half == side], minlength=len(open_)) for side in (0, 1)])
        splits = open_ & (sizes.min(axis=0) >= leaf_points)
        cluster = cluster + np.where(splits[cluster], half, 0) * len(open_)
        used, cluster = np.unique(cluster, return_inverse=True)
        open_ = splits[used % len(open_)]
    return np.asarray(cluster)


def _are_gaussian(points: Array, cluster: Array, mean: Array, covariance: Array, number: Array, z: float) -> Array:
    """Whether the kurtosis of each cluster is that of a Gaussian."""
    off = points - mean[cluster]
    squared = np.einsum("ni,nij,nj->n", off, portable.inv3(covariance)[cluster], off)
    kurtosis = np.bincount(cluster, squared**2, len(number)) / np.maximum(number, 1)
    return np.asarray(np.abs(kurtosis - _MARDIA[0]) <= z * np.sqrt(_MARDIA[1] / np.maximum(number, 1)))


def _split_in_two(points: Array, cluster: Array, open_: Array, mean: Array, covariance: Array) -> Array:
    """Which of two halves (n,) each point of an open cluster falls in: Lloyd's iterations from its longest axis."""
    rows = np.flatnonzero(open_[cluster])
    own, mine = cluster[rows], points[rows]
    values, vectors = portable.eigh3(covariance)
    step = np.sqrt(values[:, 2])[:, None] * vectors[:, :, 2]
    centres = np.stack([mean - step, mean + step])
    side = np.zeros(len(rows), np.int64)
    for _ in range(_LLOYD_ROUNDS):
        away = [((mine - centre[own]) ** 2).sum(axis=1) for centre in centres]
        moved = (away[1] < away[0]).astype(np.int64)
        if (moved == side).all():
            break
        side = moved
        both = side * len(open_) + own
        number = np.maximum(np.bincount(both, minlength=2 * len(open_)), 1)
        sums = np.stack([np.bincount(both, mine[:, i], 2 * len(open_)) for i in range(3)], axis=1)
        centres = (sums / number[:, None]).reshape(2, -1, 3)
    half = np.zeros(len(points), np.int64)
    half[rows] = side
    return half


def bottom_up(
    points: Array, kind: Array, seed_m: float, density_ratio: float, size_max_m: float, noise_m: float
) -> Array:
    """Region growing (A, III-C-3): clusters (n,) from small cells merged under a constraint on density.

    Cells of ``seed_m`` that touch may merge while the ellipsoid of both is at least ``density_ratio`` times as
    dense as its two parts together, and no longer than ``size_max_m`` (four standard deviations). In each round a
    cluster merges with the partner that keeps it densest, if it is also that one's choice.
    """
    points = points.astype(np.float64)
    cell = find_cells(points, seed_m)
    key = make_cell_keys(cell, kind)
    _, first, cluster = np.unique(key, return_index=True, return_inverse=True)
    edges = find_touching_cells(cell[first], kind[first])
    parent = np.arange(len(first))
    number, mean, covariance = _estimate_moments(points, cluster, len(first))
    while len(edges):
        merged = _merge_moments(number[edges], mean[edges], covariance[edges])
        space = _volume(covariance, noise_m)
        together = _volume(merged[1], noise_m)
        ratio = space[edges].sum(axis=1) / together
        longest = _LENGTH_SIGMAS * np.sqrt(portable.eigh3(merged[1])[0][:, 2])
        ratio[(ratio < density_ratio) | (longest > size_max_m)] = 0
        chosen = _choose_mutual(edges, ratio, len(parent))
        if not chosen.any():
            break
        a, b = edges[chosen].T
        number[a], mean[a], covariance[a] = number[a] + number[b], merged[0][chosen], merged[1][chosen]
        parent[b] = a
        edges = np.sort(parent[edges], axis=1)
        edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    while (parent != parent[parent]).any():
        parent = parent[parent]
    return number_keys(parent[cluster])


def _merge_moments(number: Array, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Mean and covariance of the points of both clusters of each pair."""
    share = number / number.sum(axis=1, keepdims=True)
    centre = (share[..., None] * mean).sum(axis=1)
    off = mean - centre[:, None]
    spread = covariance + off[..., :, None] * off[..., None, :]
    return centre, (share[..., None, None] * spread).sum(axis=1)


def _volume(covariance: Array, noise_m: float) -> Array:
    """The space that an ellipsoid takes up, to a factor."""
    return np.asarray(np.sqrt(portable.det3(covariance + noise_m**2 * np.eye(3))))


def _choose_mutual(edges: Array, score: Array, count: int) -> Array:
    """Edges (e,) bool that are the best of both of their ends; ties go to the first edge."""
    order = np.lexsort((np.arange(len(edges)), -score))
    rank = np.empty(len(edges), np.int64)
    rank[order] = np.arange(len(edges))
    best = np.full(count, len(edges), np.int64)
    for end in (0, 1):
        np.minimum.at(best, edges[:, end], rank)
    return np.asarray((score > 0) & (best[edges[:, 0]] == rank) & (best[edges[:, 1]] == rank))
