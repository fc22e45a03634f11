"""Surfels over one object: discs as large as the gaps between its scan lines."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.build.settings.splats import SurfelConfig
from resweep.build.surfels import cover_cloud
from resweep.errors import ResweepError
from resweep.map.cloud import Cloud
from resweep.neighbours import Neighbours
from resweep.objects.config import ObjectConfig
from resweep.pose import Array
from resweep.worlds import Splats

# Chosen by hand where a line names no source.
_SECTORS = 6  # around a point on a surface; also the neighbours that surround it
_GAP_SECTOR = 3  # in the order of distance: its point lies on the next scan line, the nearest ones on the same line
_MAX_NEIGHBOURS = 32  # among which those of the sectors are looked for
_NORMAL_SPACINGS = 2.5  # least radius of normals, in mean distances of the nearest points
_MIN_FLAT2 = 0.75  # cos² 30°: neighbours within 30 degrees of the plane lie on it
_MAX_UPRIGHT = 0.9  # |z| of a normal, above which z gives it no axis aside: any value well below 1 does


def cover_object(cloud: Cloud, config: ObjectConfig) -> Splats | None:
    """Discs as of a map (D, 3.1) with radii of their own; None where the returns form no surface."""
    spacing = np.sqrt(Neighbours(cloud.points).knn(None, min(_SECTORS + 1, len(cloud))).distance2[:, 1:]).mean(axis=1)
    settings = SurfelConfig(
        voxel_m=config.voxel_m,
        normal_radius_m=max(config.normal_radius_m, _NORMAL_SPACINGS * float(np.median(spacing))),
        max_neighbours=config.max_neighbours,
        radius_m=config.radius_max_m,
        reflectance=config.reflectance,
    )
    try:
        splats = cover_cloud(cloud, settings)
    except ResweepError:  # no point has neighbours: the returns are scattered
        return None
    if len(splats) <= _SECTORS:
        return None
    gap = measure_gaps(splats.centre.astype(np.float64), splats.normal.astype(np.float64), 2 * config.radius_max_m)
    radius = np.clip(config.radius_factor * gap, config.radius_min_m, config.radius_max_m)
    columns = (splats.label, splats.reflectance, 0, splats.extra)
    incidence_exponent = splats.incidence_exponent
    return Splats(splats.centre, splats.normal, radius, *columns, name="surfels", incidence_exponent=incidence_exponent)


def measure_gaps(points: Array, normal: Array, reach_m: float) -> Array:
    """How far points (n, 3) lie apart on their surface, metres (n,): across scan lines, not only along them.

    Each of six sectors around the normal gives its nearest neighbour within ``reach_m``. Two of them hold the next
    points of the same scan line; the fourth nearest lies on the next line. At an edge with fewer than four, the
    farthest counts. Zero for a point without neighbours.
    """
    found = Neighbours(points).knn(None, min(_MAX_NEIGHBOURS, len(points)), reach_m)
    offset = points[found.index] - points[:, None]
    side = np.where(np.abs(normal[:, 2:]) < _MAX_UPRIGHT, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    u = np.cross(side, normal)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(normal, u)
    x, y = np.einsum("nki,ni->nk", offset, u), np.einsum("nki,ni->nk", offset, v)
    flat = np.hypot(x, y)
    beside = (found.index >= 0) & (flat > 1e-6) & (flat**2 > _MIN_FLAT2 * found.distance2)
    sector = np.floor((portable.arctan2(y, x) / (2 * np.pi) % 1.0) * _SECTORS).astype(np.int64) % _SECTORS
    nearest = np.full((len(points), _SECTORS), np.inf)
    row, column = np.nonzero(beside)
    np.minimum.at(nearest, (row, sector[row, column]), flat[row, column])
    nearest.sort(axis=1)
    sectors = np.isfinite(nearest).sum(axis=1)
    at = np.clip(sectors - 1, 0, _GAP_SECTOR)
    return np.where(sectors > 0, nearest[np.arange(len(points)), at], 0.0)
