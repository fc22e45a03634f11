"""Returns of sweeps against the local planes of their own map: one least-squares step for lasers and poses.

Where the map is locally a plane, each return should lie in it. A step changes the elevation and range of every laser,
and the pose of every sweep, so that returns come nearer to their planes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse

from resweep import portable
from resweep.calibration import Calibration
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.poses.config import CalibrateConfig
from resweep.registration import huber_weight, motion_jacobian, move_pose, plane_distances, solve_step
from resweep.sweep import Sweep

Keep = Callable[[Sweep], Array]


@dataclass
class View:
    """The part of one sweep that takes part: its points in the sensor's frame, their lasers, light and its pose."""

    points: Array
    ring: Array
    pose: Array
    change: Array  # (6,) turn and shift so far
    n_rings: int  # of all its beams: some lasers may meet nothing
    intensity: Array


def make_view(sweep: Sweep, config: CalibrateConfig, rng: np.random.Generator, keep: Keep | None) -> View:
    """The view of a sweep: at most ``config.points_per_sweep`` of its returns that ``keep`` allows, by chance."""
    chosen = sweep.range < config.range_max_m
    if keep is not None:
        chosen &= keep(sweep)
    rows = np.flatnonzero(chosen)
    if len(rows) > config.points_per_sweep:
        rows = np.sort(rng.choice(rows, config.points_per_sweep, replace=False))
    points, ring = sweep.deskewed()[rows].astype(np.float64), sweep.ring[rows].astype(np.int64)
    n_rings = 1 + int(sweep.beam_ring.max()) if sweep.n_beams else 1
    return View(points, ring, sweep.pose, np.zeros(6), n_rings, sweep.intensity[rows].astype(np.float64))


def fix_lasers(config: CalibrateConfig) -> CalibrateConfig:
    """The settings with which a step leaves the lasers as they are."""
    return config.model_copy(update={"elevation_prior_rad": 1e-9, "range_prior_m": 1e-9})


def move_to_origin(views: Sequence[View]) -> Array:
    """Count the poses of views from the position (3,) of the first, which is given: sums are more exact near zero."""
    origin: Array = views[0].pose[:3, 3].copy()
    for view in views:
        view.pose = view.pose.copy()
        view.pose[:3, 3] -= origin
    return origin


def list_thicknesses(config: CalibrateConfig, steps: int) -> list[float]:
    """How thick planes may be in each of some steps, metres, however well the map agrees already.

    Ground agrees after one step. Were all planes as thin as that from then on, walls that sweeps see apart from each
    other would be none, and stay apart.
    """
    shares = np.minimum(2 * np.arange(steps) / max(steps, 2), 1.0)  # the last half of them with the thinnest
    limits = config.thickness_m * portable.power(config.thickness_min_m / config.thickness_m, shares)
    return [float(limit) for limit in limits]


def step(
    parts: Sequence[Sequence[View]],
    calibration: Calibration,
    config: CalibrateConfig,
    rng: np.random.Generator,
    thickness_m: float,
) -> tuple[Calibration, float]:
    """One Gauss-Newton step: moves the views' poses; gives the calibration, and the misfit (metres) before it.

    Planes up to ``thickness_m`` take part, or thicker ones where the map does not agree yet.

    Each part is a map of its own; the lasers are those of all. Unknowns are an elevation and a range for each ring,
    then a turn and a shift for each sweep.
    """
    views = [view for part in parts for view in part]
    found = _match_parts(parts, calibration, config, rng, thickness_m)
    sweep, rows, normal, error = found.view, found.row, found.normal, found.error
    ring = _pick(views, found, "ring")
    seen = calibration.corrected_points(_pick(views, found, "points"), ring)
    turns, places = np.stack([v.pose[:3, :3] for v in views]), np.stack([v.pose[:3, 3] for v in views])
    points, along, up = (np.einsum("nij,nj->ni", turns[sweep], axis) for axis in (seen.points, seen.along, seen.up))
    points += places[sweep]
    n_rings, n_rows = len(calibration.elevation_rad), len(rows)
    # A return moves with its own sweep, and its plane with the sweeps of all returns that it was fitted to.
    every = np.arange(n_rows)
    row, mover = np.concatenate([every, found.pair_row]), np.concatenate([sweep, found.pair_view])
    share = np.concatenate([np.ones(n_rows), -found.pair_share])
    moved = motion_jacobian(points[row] - places[mover], normal[row]) * share[:, None]
    slopes = [(normal * up).sum(axis=1) * seen.range, (normal * along).sum(axis=1), *moved.T]
    columns = [ring, n_rings + ring, *(2 * n_rings + 6 * mover + axis for axis in range(6))]
    jacobian = sparse.csr_matrix(
        (np.concatenate(slopes), (np.concatenate([every, every, *[row] * 6]), np.concatenate(columns))),
        shape=(n_rows, 2 * n_rings + 6 * len(views)),
    )
    weight = huber_weight(error, config.huber_m) / config.noise_m**2
    so_far = np.concatenate([calibration.elevation_rad, calibration.range_m, *(view.change for view in views)])
    change = solve_step(jacobian, error, weight, _priors(n_rings, len(views), config), so_far)
    for view, small in zip(views, change[2 * n_rings :].reshape(-1, 6), strict=True):
        view.pose = move_pose(view.pose, small)
        view.change = view.change + small
    better = Calibration(
        calibration.elevation_rad + change[:n_rings], calibration.range_m + change[n_rings : 2 * n_rings]
    )
    return better, float(np.median(np.abs(error))) if n_rows else 0.0


@dataclass(frozen=True, eq=False)
class _Matched:
    """Returns that have a plane: the number (m,) of their ``view``, their ``row`` in it, and how they lie.

    ``normal`` (m, 3) is that of the plane, ``error`` (m,) their signed distance from it. A plane is fitted to returns
    of several views: for each pair of a plane and a view, ``pair_row`` is the number of the plane, ``pair_view`` that
    of the view, and ``pair_share`` the share of the returns that are the view's.
    """

    view: Array
    row: Array
    normal: Array
    error: Array
    pair_row: Array
    pair_view: Array
    pair_share: Array


def _match_parts(
    parts: Sequence[Sequence[View]],
    calibration: Calibration,
    config: CalibrateConfig,
    rng: np.random.Generator,
    thickness_m: float,
) -> _Matched:
    """The returns of all parts that lie near a plane of their own part; views are numbered through all parts."""
    samples = config.samples // len(parts)
    matched, first, planes = [], 0, 0
    for part in parts:
        # View by view, so that only their points are held for all of them.
        points = np.concatenate([_place(view, calibration) for view in part])
        rows, normal, error, near = _find_planes(points, samples, config, rng, thickness_m)
        begin = np.concatenate([[0], np.cumsum([len(view.ring) for view in part])])
        view = np.searchsorted(begin, rows, side="right") - 1
        around = np.searchsorted(begin, near, side="right") - 1
        pair, count = np.unique(np.arange(len(rows))[:, None] * len(part) + around, return_counts=True)
        matched.append(
            _Matched(
                first + view,
                rows - begin[view],
                normal,
                error,
                planes + pair // len(part),
                first + pair % len(part),
                count / config.k,
            )
        )
        first, planes = first + len(part), planes + len(rows)
    return _Matched(*(np.concatenate([getattr(each, item.name) for each in matched]) for item in fields(_Matched)))


def _place(view: View, calibration: Calibration) -> Array:
    """The points (n, 3) of a view in the world."""
    points = calibration.corrected_points(view.points, view.ring).points
    turns = np.broadcast_to(view.pose[:3, :3], (len(points), 3, 3))
    return np.asarray(np.einsum("nij,nj->ni", turns, points) + view.pose[:3, 3])


def _pick(views: Sequence[View], matched: _Matched, name: str) -> Array:
    """The rows of a column of the views that have a plane, in the order of ``matched``."""
    column = [getattr(view, name) for view in views]
    picked = np.zeros((len(matched.row), *column[0].shape[1:]), column[0].dtype)
    for at, values in enumerate(column):
        rows = np.flatnonzero(matched.view == at)
        picked[rows] = values[matched.row[rows]]
    return picked


def _priors(n_rings: int, n_sweeps: int, config: CalibrateConfig) -> Array:
    """How large each unknown is expected to be."""
    motion = [config.turn_prior_rad] * 3 + [config.shift_prior_m] * 3
    return np.concatenate(
        [
            np.full(n_rings, config.elevation_prior_rad),
            np.full(n_rings, config.range_prior_m),
            np.tile(motion, n_sweeps),
        ]
    )


def _find_planes(
    points: Array, samples: int, config: CalibrateConfig, rng: np.random.Generator, thickness_m: float
) -> tuple[Array, Array, Array, Array]:
    """Rows (m,) of ``points`` whose neighbourhood is a plane, its normal (m, 3), and their signed distance from it.

    Last come the rows (m, k) of the neighbourhood.
    """
    rows = rng.choice(len(points), min(samples, len(points)), replace=False)
    found = Neighbours(points).knn(points[rows], config.k)
    whole = (found.index >= 0).all(axis=1) & (found.distance2[:, -1] < config.neighbour_radius_m**2)
    rows, around = rows[whole], found.index[whole]
    near = points[around]
    middle = near.mean(axis=1)
    near = near - middle[:, None]
    spread, axes = portable.eigh3(np.einsum("nki,nkj->nij", near, near) / config.k)
    normal = axes[:, :, 0]
    error = plane_distances(points[rows], middle, normal)
    flat = (spread[:, 0] < config.thickness_m**2) & (spread[:, 0] < config.flatness * spread[:, 1])
    flat &= spread[:, 1] > config.breadth * spread[:, 2]  # points on one scan line span no plane
    flat &= np.abs(error) < 5 * config.huber_m
    # The better the map agrees, the flatter its planes must be: curved things would pull their lasers inwards.
    spread_of_errors = 1.48 * float(np.median(np.abs(error[flat]))) if flat.any() else 0.0
    flat &= spread[:, 0] < max(thickness_m, config.thickness_per_misfit * spread_of_errors) ** 2
    return rows[flat], normal[flat], error[flat], around[flat]
