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
from resweep.work import run_threads

_GRAZING, _MAX_EXCESS_M = 0.01, 0.3  # as in the native system (cpp/map/plane_system.cpp): bounds chosen by hand
_MIN_NOISE_M = 0.002  # ranges are not known better than that: the step of KITTI's HDL-64E
_MAX_ERROR_WIDTHS = 5  # of the robust weight: farther off, a return is not of its plane; a bound chosen by hand
_MAD_TO_SIGMA = 1.48  # 1 / Φ⁻¹(3/4), rounded: standard deviations of a Gaussian in its median absolute deviation
_BLOCK = 4096  # returns whose planes one thread fits at a time; changes no byte
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
    """The ``calibration`` after a step, the plane residual (metres) before it, and the information in its equations.

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
        place, along = _place_views(part, calibration)
        row, normal, error, near = _find_planes(place, along, samples, config, rng, thickness_m)
        slant = (normal * along[row]).sum(axis=1)
        matched.append((row + first, near + first, normal, error, slant, place))
        first += len(place)
    return PlaneMatches(*(np.concatenate(columns) for columns in zip(*matched, strict=True)))


def match_again(
    views: Sequence[SweepView],
    calibration: Calibration,
    config: CalibrateConfig,
    known: PlaneMatches,
    thickness_m: float,
) -> PlaneMatches:
    """Matches ``known`` with another calibration: the same neighbours, and the planes as they lie now.

    For calibrations that differ by millimetres, which hardly change what a return's neighbours are.
    """
    place, along = _place_views(views, calibration)
    found = _fit_planes(place, known.near, known.row, config)
    flat = _keep_thin(found, config, thickness_m)
    row, normal = known.row[flat], found.normal[flat]
    slant = (normal * along[row]).sum(axis=1)
    return PlaneMatches(row, known.near[flat], normal, found.error[flat], slant, place)


def _place_views(views: Sequence[SweepView], calibration: Calibration) -> tuple[Array, Array]:
    """Where the returns of views lie and the directions of their beams, both (n, 3) in the world."""
    placed = run_threads(lambda view: _place_view(view, calibration), views)
    place, along = (np.concatenate(columns) for columns in zip(*placed, strict=True))
    return place, along


def _place_view(view: SweepView, calibration: Calibration) -> tuple[Array, Array]:
    placed = view.place(calibration)
    return placed.place, placed.along


def _equations(
    views: Sequence[SweepView], calibration: Calibration, found: PlaneMatches, weight: Array, layout: Unknowns
) -> tuple[Array, Array]:
    """JᵀWJ (n, n) and JᵀWe (n,) of the matched returns."""
    used = np.zeros(len(found.place), bool)
    used[found.near.reshape(-1)] = used[found.row] = True
    number = np.cumsum(used) - 1
    begin = np.cumsum([0, *map(len, views)])
    rows = [np.flatnonzero(used[first:last]) for first, last in itertools.pairwise(begin.tolist())]
    moving = run_threads(lambda pair: pair[0].place(calibration, pair[1]), list(zip(views, rows, strict=True)))

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
    rows = np.sort(rng.choice(len(points), min(samples, len(points)), replace=False))  # in order: memory near by
    index = Neighbours(points)
    first = _search_planes(index, points, points[rows], rows, config)
    rows, normal = rows[first.flat], first.normal[first.flat]
    slant = (normal * along[rows]).sum(axis=1)
    steep = np.abs(slant) > _GRAZING
    excess = np.where(steep, first.error[first.flat] / np.where(steep, slant, 1.0), 0.0)
    places = points[rows] - np.clip(excess, -_MAX_EXCESS_M, _MAX_EXCESS_M)[:, None] * along[rows]
    found = _search_planes(index, points, places, rows, config)
    flat = _keep_thin(found, config, thickness_m)
    return rows[flat], found.normal[flat], found.error[flat], found.near[flat]


@dataclass(eq=False)
class _PlaneFits:
    """Planes of the k returns ``near`` (m, k) to some places: which are ``flat`` (m,), and how returns lie in them."""

    near: Array
    normal: Array
    error: Array
    thickness2: Array
    flat: Array


def _keep_thin(found: _PlaneFits, config: CalibrateConfig, thickness_m: float) -> Array:
    """Which planes (m,) are thin enough to take part."""
    # The better the map agrees, the flatter its planes must be: curved things would pull their lasers inwards.
    spread = _MAD_TO_SIGMA * float(np.median(np.abs(found.error[found.flat]))) if found.flat.any() else 0.0
    return found.flat & (found.thickness2 < max(thickness_m, config.thickness_per_residual * spread) ** 2)


def _search_planes(index: Neighbours, points: Array, places: Array, rows: Array, config: CalibrateConfig) -> _PlaneFits:
    """The planes of the returns around ``places`` (m, 3), and how the returns ``rows`` (m,) lie in them."""
    found = index.knn(places, config.k, config.neighbour_radius_m)
    whole = found.index[:, -1] >= 0
    fits = _fit_planes(points, np.where(whole[:, None], found.index, 0).astype(np.int64), rows, config)
    fits.flat &= whole
    return fits


def _fit_planes(points: Array, near: Array, rows: Array, config: CalibrateConfig) -> _PlaneFits:
    """The planes of the returns ``near`` (m, k), and how the returns ``rows`` (m,) lie in them."""
    columns = [np.ascontiguousarray(points[:, axis]) for axis in range(3)]
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(rows), _BLOCK)] or [slice(0, 0)]
    done = run_threads(lambda block: _fit_block(columns, near[block], rows[block], config), blocks)
    return _PlaneFits(near, *(np.concatenate(values) for values in zip(*done, strict=True)))


def _fit_block(columns: Sequence[Array], near: Array, rows: Array, config: CalibrateConfig) -> tuple[Array, ...]:
    """The rest of `_PlaneFits` besides ``near``; points are given by their coordinates ``columns`` (3 of (n,))."""
    around = [column[near] for column in columns]
    middle = [values.mean(axis=1) for values in around]
    around = [values - mean[:, None] for values, mean in zip(around, middle, strict=True)]
    moments = np.empty((len(rows), 3, 3))
    for i in range(3):
        for j in range(i, 3):
            moments[:, i, j] = moments[:, j, i] = np.einsum("nk,nk->n", around[i], around[j]) / config.k
    spread, axes = portable.eigh3(moments)
    normal = axes[:, :, 0]
    own = np.stack([column[rows] for column in columns], axis=1)
    error = plane_distances(own, np.stack(middle, axis=1), normal)
    flat = (spread[:, 0] < config.thickness_m**2) & (spread[:, 0] < config.flatness * spread[:, 1])
    flat &= spread[:, 1] > config.breadth * spread[:, 2]  # points on one scan line span no plane
    flat &= np.abs(error) < _MAX_ERROR_WIDTHS * config.huber_m
    return normal, error, spread[:, 0], flat
