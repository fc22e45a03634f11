"""Returns of sweeps against the local planes of their own map: one least-squares step for lasers, poses and motion.

Where the map is locally a plane, each return should lie in it. A step changes the elevation and range of every laser,
the pose of every sweep and its motion within the sweep, so that returns come nearer to their planes. The plane of a
return was fitted to others, which move with the lasers and sweeps that measured them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resweep import _core, portable
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.unknowns import Uncertainty, Unknowns, find_slopes
from resweep.calibrate.views import SweepView
from resweep.calibration import Calibration
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.registration import huber_weight, plane_distances

_GRAZING, _MAX_EXCESS_M = 0.01, 0.3  # as in the native system
_MIN_NOISE_M = 0.002  # ranges are not known better than that
# Residuals near each other are not independent: their planes are not quite planes, and share the noise of neighbours.
# On synthetic streets, errors are up to twice what independent residuals would leave.
SHARED_ERRORS = 2.0


def list_thicknesses(config: CalibrateConfig, steps: int) -> list[float]:
    """How thick planes may be in each of some steps, metres, however well the map agrees already.

    Ground agrees after one step. Were all planes as thin as that from then on, walls that sweeps see apart from each
    other would be none, and stay apart.
    """
    shares = np.minimum(2 * np.arange(steps) / max(steps, 2), 1.0)  # the last half of them with the thinnest
    limits = config.thickness_m * portable.power(config.thickness_min_m / config.thickness_m, shares)
    return [float(limit) for limit in limits]


@dataclass(frozen=True, eq=False)
class GaussNewtonStep:
    """The ``calibration`` after a step, the plane residual (metres) before it, and what its equations say.

    ``precision`` (n, n) is the inverse covariance of the unknowns of ``layout``, from the spread of the residuals.
    """

    calibration: Calibration
    plane_residual_m: float
    layout: Unknowns
    precision: Array

    def find_uncertainty(self) -> Uncertainty:
        """How well the unknowns are known."""
        return Uncertainty.from_precision(self.layout, self.precision)


def step(
    parts: Sequence[Sequence[SweepView]],
    calibration: Calibration,
    config: CalibrateConfig,
    rng: np.random.Generator,
    thickness_m: float,
) -> GaussNewtonStep:
    """One Gauss-Newton step, which moves the views' poses and corrects their motion.

    Planes up to ``thickness_m`` take part, or thicker ones where the map does not agree yet. Each part is a map of its
    own; the lasers are those of all.
    """
    views = [view for part in parts for view in part]
    timed = any(view.timed for view in views)
    layout = Unknowns(
        len(calibration.elevation_rad), len(views), timed, find_slopes(parts) if config.continuous else None
    )
    found = match_parts(parts, calibration, config, rng, thickness_m)
    robust = huber_weight(found.error, config.huber_m)
    matrix, slope = _equations(views, calibration, found, robust, layout)
    prior, so_far = layout.precision(config), layout.join(calibration, views)
    spread = float((robust * found.error**2).sum() / max(float(robust.sum()), 1.0))
    variance = SHARED_ERRORS**2 * max(spread, _MIN_NOISE_M**2)
    trusted = min(variance, config.noise_m**2)  # what disagrees at first is what is to be corrected, no noise
    change = portable.solve(matrix / trusted + prior, -slope / trusted - portable.matmul(prior, so_far))
    lasers, motion = layout.split(change)
    for view, small in zip(views, motion, strict=True):
        view.move(small)
    kinds = zip((calibration.elevation_rad, calibration.range_m, calibration.slope), lasers, strict=True)
    elevation, range_m, range_slope = (old + new for old, new in kinds)
    precision = matrix / variance + prior
    residual = float(np.median(np.abs(found.error))) if len(found.error) else 0.0
    corrected = replace(calibration, elevation_rad=elevation, range_m=range_m, range_slope=range_slope)
    return GaussNewtonStep(corrected, residual, layout, precision)


@dataclass(frozen=True, eq=False)
class PlaneMatches:
    """Returns that have a plane: their number ``row`` (m,) among those of all views, and how they lie.

    ``near`` (m, k) are the returns that the plane was fitted to, ``normal`` (m, 3) is its normal and ``error`` (m,)
    the signed distance from it; ``slant`` (m,) is how that grows with the range. ``place`` (n, 3) is where all returns
    lie.
    """

    row: Array
    near: Array
    normal: Array
    error: Array
    slant: Array
    place: Array


def match_parts(
    parts: Sequence[Sequence[SweepView]],
    calibration: Calibration,
    config: CalibrateConfig,
    rng: np.random.Generator,
    thickness_m: float,
) -> PlaneMatches:
    """The returns of all parts that lie near a plane of their own part, numbered through all parts."""
    samples = config.samples // len(parts)
    matched, first = [], 0
    for part in parts:
        placed = [view.place(calibration) for view in part]
        place, along = (np.concatenate([getattr(each, name) for each in placed]) for name in ("place", "along"))
        del placed
        row, normal, error, near = _find_planes(place, along, samples, config, rng, thickness_m)
        slant = (normal * along[row]).sum(axis=1)
        matched.append((row + first, near + first, normal, error, slant, place))
        first += len(place)
    return PlaneMatches(*(np.concatenate(columns) for columns in zip(*matched, strict=True)))


def _equations(
    views: Sequence[SweepView], calibration: Calibration, found: PlaneMatches, weight: Array, layout: Unknowns
) -> tuple[Array, Array]:
    """JᵀWJ (n, n) and JᵀWe (n,) of the matched returns."""
    used = np.zeros(len(found.place), bool)
    used[found.near.reshape(-1)] = used[found.row] = True
    number = np.cumsum(used) - 1
    begin = np.cumsum([0, *map(len, views)])
    rows = [np.flatnonzero(used[first:last]) for first, last in itertools.pairwise(begin.tolist())]
    moving = [view.place(calibration, of_view) for view, of_view in zip(views, rows, strict=True)]

    def join(columns: Iterable[Array]) -> Array:
        return np.concatenate(list(columns))

    chosen = list(zip(views, rows, strict=True))
    matrix, slope = _core.plane_equations(
        join(each.place for each in moving),
        join(each.raise_ for each in moving),
        join(each.along for each in moving),
        join(each.reach for each in moving),
        join(view.when[of_view] for view, of_view in chosen),
        join(view.ring[of_view] for view, of_view in chosen).astype(np.int32),
        np.repeat(np.arange(len(views), dtype=np.int32), list(map(len, rows))),
        np.stack([view.pose[:3, 3] for view in views]),
        layout.rings,
        number[found.row],
        number[found.near],
        found.normal,
        found.error,
        weight,
        layout.rates,
    )
    upper = np.triu(matrix, 1)
    return upper + upper.T + np.diag(np.diagonal(matrix)), np.asarray(slope)


def _find_planes(
    points: Array, along: Array, samples: int, config: CalibrateConfig, rng: np.random.Generator, thickness_m: float
) -> tuple[Array, Array, Array, Array]:
    """Rows (m,) of ``points`` whose neighbourhood is a plane, its normal (m, 3), and their signed distance from it.

    Last come the rows (m, k) of the neighbourhood. It is that of where the beam, of direction ``along`` (n, 3), meets
    the plane: what lies around the return itself was chosen by its noise, and is not independent of its distance.
    """
    rows = rng.choice(len(points), min(samples, len(points)), replace=False)
    index = Neighbours(points)
    first = _fit_planes(index, points, points[rows], rows, config)
    rows, normal = rows[first.flat], first.normal[first.flat]
    slant = (normal * along[rows]).sum(axis=1)
    steep = np.abs(slant) > _GRAZING
    excess = np.where(steep, first.error[first.flat] / np.where(steep, slant, 1.0), 0.0)
    places = points[rows] - np.clip(excess, -_MAX_EXCESS_M, _MAX_EXCESS_M)[:, None] * along[rows]
    found = _fit_planes(index, points, places, rows, config)
    flat = found.flat
    # The better the map agrees, the flatter its planes must be: curved things would pull their lasers inwards.
    spread_of_errors = 1.48 * float(np.median(np.abs(found.error[flat]))) if flat.any() else 0.0
    flat &= found.thickness2 < max(thickness_m, config.thickness_per_residual * spread_of_errors) ** 2
    return rows[flat], found.normal[flat], found.error[flat], found.near[flat]


@dataclass(frozen=True, eq=False)
class _PlaneFits:
    """Planes of the k returns ``near`` (m, k) to some places: which are ``flat`` (m,), and how returns lie in them."""

    near: Array
    normal: Array
    error: Array
    thickness2: Array
    flat: Array


def _fit_planes(index: Neighbours, points: Array, places: Array, rows: Array, config: CalibrateConfig) -> _PlaneFits:
    found = index.knn(places, config.k)
    flat = (found.index >= 0).all(axis=1) & (found.distance2[:, -1] < config.neighbour_radius_m**2)
    near = found.index.astype(np.int64)
    around = points[near]  # a missing one is the last point, and its row is not flat
    middle = around.mean(axis=1)
    around = around - middle[:, None]
    spread, axes = portable.eigh3(np.einsum("nki,nkj->nij", around, around) / config.k)
    normal = axes[:, :, 0]
    error = plane_distances(points[rows], middle, normal)
    flat &= (spread[:, 0] < config.thickness_m**2) & (spread[:, 0] < config.flatness * spread[:, 1])
    flat &= spread[:, 1] > config.breadth * spread[:, 2]  # points on one scan line span no plane
    flat &= np.abs(error) < 5 * config.huber_m
    return _PlaneFits(near, normal, error, spread[:, 0], flat)
