"""NumPy references of the native kernels of `neighbours`, `carve`, `resample` and `visibility`; tests compare the two.

They are slow: for small maps only.
"""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.build.settings.splats import CarveConfig
from resweep.map.cloud import Cloud
from resweep.map.config import VisibilityConfig
from resweep.map.visibility import RangeImage, find_cells
from resweep.neighbours import Growth, Pca
from resweep.pose import Array, inverse, transform


def neighbourhoods(points: Array, k: Array, radius: Array) -> list[Array]:
    """Rows of every point's neighbours by distance: the K nearest (itself among them) within ``radius`` (C, 3.1)."""
    found = []
    for row, point in enumerate(points):
        distance = np.linalg.norm(points - point, axis=1)
        nearest = np.argsort(distance, kind="stable")[: k[row]]
        found.append(nearest[distance[nearest] <= radius[row]])
    return found


def pca(points: Array, near: list[Array]) -> Pca:
    """Principal components of the neighbourhoods ``near`` of `neighbourhoods`."""
    n = len(points)
    normal, values, offset = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    radius, mean, std = np.zeros(n), np.zeros(n), np.zeros(n)
    for row, rows in enumerate(near):
        away = points[rows] - points[row]
        offset[row] = away.mean(axis=0)
        ascending, vectors = np.linalg.eigh(np.cov(away.T, bias=True))
        values[row] = ascending[::-1]
        if len(rows) >= 3:
            normal[row] = vectors[:, 0] * (-1 if vectors[2, 0] < 0 else 1)
        distance = np.abs(away @ normal[row])  # C, eq. 4
        mean[row], std[row] = distance.mean(), distance.std()
        radius[row] = np.linalg.norm(away, axis=1).max()
    return Pca(normal, values, offset, radius, mean, std, np.array([len(rows) for rows in near]))


def grow(
    points: Array,
    normal: Array,
    near: list[Array],
    bound: Array,
    label: Array,
    alpha: float,
    beta: float,
    values: Array,
    order: Array,
) -> Growth:
    """Splats from the seeds in ``order`` (C, 3.1 and 3.2)."""
    is_seed = np.ones(len(points), bool)
    splats: list[tuple[int, int, float, float]] = []
    means: list[Array] = []
    for row in order:
        if not is_seed[row] or not normal[row].any():
            continue
        rows = near[row]
        signed = (points[rows] - points[row]) @ normal[row]  # C, eq. 4
        smooth = normal[rows] @ normal[row] > beta
        passes = (np.abs(signed) <= bound[row]) & (label[rows] == label[row]) & smooth
        included = len(rows) if passes.all() else int(passes.argmin())
        if included < 2:
            continue
        along = signed[:included].mean()
        centre = points[row] + along * normal[row]  # C, eq. 5
        last = points[rows[included - 1]] - centre
        reach = float(np.linalg.norm(last - (normal[row] @ last) * normal[row]))  # C, eq. 6
        if reach == 0:
            continue
        is_seed[rows[np.linalg.norm(points[rows] - centre, axis=1) <= alpha * reach]] = False
        splats.append((row, included, along, reach))
        means.append(values[rows[:included]].mean(axis=0))
    seed, count, shift, radius = np.array(splats).reshape(-1, 4).T
    averaged = np.reshape(means, (len(splats), values.shape[1]))
    return Growth(seed.astype(int), count.astype(int), shift, radius, averaged)


def imls(points: Array, normals: Array, corners: Array, sigma: float, reach: float) -> Array:
    """Signed distance (m,) of ``corners`` (m, 3) to the surface (C, eqs. 2 and 3); NaN with none within ``reach``."""
    values = np.full(len(corners), np.nan)
    for row, x in enumerate(corners):
        square = ((x - points) ** 2).sum(axis=1)
        near = square <= reach**2
        theta = np.exp(-square[near] / sigma**2)
        if near.any():
            values[row] = (((x - points[near]) * normals[near]).sum(axis=1) * theta).sum() / theta.sum()
    return values


def rimls(points: Array, normals: Array, corners: Array, kernel: float, sigma_normal: float, refits: int) -> Array:
    """Signed distance (m,) by RIMLS (Öztireli 2009), with the kernel (1 − d²/h²)⁴ and robust weights of normals."""
    values = np.full(len(corners), np.nan)
    for row, x in enumerate(corners):
        near = ((x - points) ** 2).sum(axis=1) < kernel**2
        offset, normal = x - points[near], normals[near]
        left = 1 - (offset**2).sum(axis=1) / kernel**2
        f = (offset * normal).sum(axis=1)
        alpha = np.ones(len(f))
        for _ in range(refits + 1 if near.any() else 0):
            w, weight_gradient = alpha * left**4, (-8 / kernel**2 * alpha * left**3)[:, None] * offset
            values[row] = (w * f).sum() / w.sum()
            gradient = (w[:, None] * normal + weight_gradient * f[:, None] - weight_gradient * values[row]).sum(
                axis=0
            ) / w.sum()
            alpha = np.exp(-((normal - gradient) ** 2).sum(axis=1) / sigma_normal**2)
    return values


def find_first_disc(centre: Array, normal: Array, radius: Array, origin: Array, direction: Array) -> tuple[int, float]:
    """The first disc, and its range, that a ray with unit ``direction`` meets; −1 and infinity for none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.einsum("ni,ni->n", normal, centre - origin) / (normal @ direction)
    at = origin + along[:, None] * direction
    inside = (along > 0) & (np.linalg.norm(at - centre, axis=1) <= radius)
    ranges = np.where(inside, along, np.inf)
    first = int(ranges.argmin())
    return (first, float(ranges[first])) if inside.any() else (-1, np.inf)


def carve(centre: Array, normal: Array, radius: Array, ratio: Array, cloud: Cloud, config: CarveConfig) -> Array:
    """Radii (m,) of discs after the rounds of `splats.carve`, 0 for removed ones. Every round traces every beam."""
    radius = radius.astype(np.float64)
    for _ in range(config.rounds):
        passed, stopped, crossing = np.zeros(len(radius)), np.zeros(len(radius)), np.full(len(radius), np.inf)
        for origin, point in zip(cloud.sensor[cloud.seen], cloud.points[cloud.seen], strict=True):
            distance = np.linalg.norm(point - origin)
            direction = (point - origin) / distance
            disc, hit = find_first_disc(centre, normal, radius, origin, direction)
            margin = config.margin_m + config.margin_per_m * distance
            if disc >= 0 and distance - hit > margin:
                passed[disc] += 1
                crossing[disc] = min(crossing[disc], np.linalg.norm(origin + hit * direction - centre[disc]))
            elif disc >= 0 and hit - distance <= margin:
                stopped[disc] += 1
        cut = np.where(passed > ratio * stopped, np.minimum(radius, 0.98 * crossing), radius)
        cut = np.where(cut > config.radius_min_m, cut, 0.0)
        if not passed.any() or not cut.any():
            break
        radius = cut
    return radius


def in_free_cells(taken: Array, points: Array, size_m: float) -> Array:
    """Rows of ``points``, the first of each cell of side ``size_m`` that holds none of ``taken``."""
    both = np.concatenate([taken, points]).astype(np.float64)
    cell = np.floor((both - both.min(axis=0)) / size_m).astype(np.int64)
    first = np.unique(cell, axis=0, return_index=True)[1]
    return np.sort(first[first >= len(taken)] - len(taken))


def count_seen_through(
    cloud: Cloud, images: list[tuple[int, RangeImage]], config: VisibilityConfig
) -> tuple[Array, Array]:
    """How many range images see through each point of a map, and how many confirm it: (n,) each."""
    passed, confirmed = np.zeros(len(cloud), np.int64), np.zeros(len(cloud), np.int64)
    for number, image in images:
        T_sensor_map = inverse(image.pose)
        T_sensor_map[:3, 3] = portable.matmul(T_sensor_map[:3, :3], cloud.origin) + T_sensor_map[:3, 3]
        local = transform(T_sensor_map, cloud.points.astype(np.float64))
        (row, column), distance = find_cells(local, config.cell_deg)
        margin = config.margin_m + config.margin_per_m * distance
        inside = (row >= image.row) & (row < image.row + len(image.near))
        near, far = np.full(len(cloud), np.inf), np.full(len(cloud), -np.inf)
        at = (row[inside] - image.row, column[inside])
        near[inside], far[inside] = image.near[at], image.far[at]
        other = cloud.sweep != number
        passed += other & np.isfinite(near) & (near > distance + margin)
        confirmed += other & (near <= distance + margin) & (far >= distance - margin)
    return passed, confirmed
