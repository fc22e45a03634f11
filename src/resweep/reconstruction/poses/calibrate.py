"""Poses and laser calibration refined on the map itself.

A log's lasers miss their nominal elevation by hundredths of a degree and their range by centimetres, and
its poses by millimetres: surfaces of the map come out in several layers. Where the map is locally a
plane, each return should lie in it. One robust least-squares problem over all sweeps finds an elevation
and a range correction for every laser, and a small motion for every sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from resweep import portable
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array, inverse
from resweep.progress import track
from resweep.reconstruction.poses.config import CalibrateConfig
from resweep.registration import huber_weight, motion_jacobian, move_pose, plane_distances, solve_step
from resweep.sweep import Sweep

Keep = Callable[[Sweep], Array]


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A log with corrected sweeps and poses, the lasers' ``calibration``, and how well surfaces agree.

    ``misfit_m`` is the median distance of returns from the local plane, before and after.
    """

    log: Log
    calibration: Calibration
    misfit_m: tuple[float, float]


@dataclass
class _View:
    """The part of one sweep that takes part: its points in the sensor's frame, their lasers and its pose."""

    points: Array
    ring: Array
    pose: Array
    change: Array  # (6,) turn and shift so far
    n_rings: int  # of all its beams: some lasers may meet nothing


def calibrate(
    log: Log, config: CalibrateConfig | None = None, keep: Keep | None = None, progress: bool = False
) -> Calibrated:
    """The log with its lasers and poses corrected; ``keep(sweep)`` (n,) says which returns take part.

    At most ``config.sweeps`` sweeps are used; the poses of a longer log stay as they are.
    """
    config = config or CalibrateConfig()
    used = min(len(log), config.sweeps)
    rng = np.random.default_rng(0)
    views = [_make_view(sweep, config, rng, keep) for sweep in track(log[:used], "calibrating lasers", show=progress)]
    n_rings = max(view.n_rings for view in views)
    calibration = Calibration(np.zeros(n_rings), np.zeros(n_rings))
    origin = views[0].pose[:3, 3].copy()
    for view in views:
        view.pose = view.pose.copy()
        view.pose[:3, 3] -= origin
    if n_rings == 1:  # lasers cannot be distinguished: only the poses are refined
        config = config.model_copy(update={"elevation_prior_rad": 1e-9, "range_prior_m": 1e-9})
    misfits: list[float] = []
    for _ in range(config.iterations):
        calibration, misfit = _step(views, calibration, config, rng)
        misfits.append(misfit)
    poses = log.poses.copy()
    if used == len(log):
        poses = np.stack([view.pose for view in views])
        poses[:, :3, 3] += origin
    return Calibrated(correct_log(log, calibration, poses), calibration, (misfits[0], misfits[-1]))


def correct_log(log: Log, calibration: Calibration, poses: Array) -> Log:
    """The log with its lasers calibrated and its sweeps at ``poses`` (n, 4, 4)."""

    def correct(sweep: Sweep, at: int) -> Sweep:
        sweep = calibration.applied(sweep)
        change = portable.matmul(poses[at], inverse(sweep.pose))
        motion = None if sweep.trajectory is None else sweep.trajectory.moved(change)
        return replace(sweep, pose=poses[at], trajectory=motion)

    return log.map(correct, "calibrate", indexed=True, poses=poses)


def _make_view(sweep: Sweep, config: CalibrateConfig, rng: np.random.Generator, keep: Keep | None) -> _View:
    chosen = sweep.range < config.range_max_m
    if keep is not None:
        chosen &= keep(sweep)
    rows = np.flatnonzero(chosen)
    if len(rows) > config.points_per_sweep:
        rows = np.sort(rng.choice(rows, config.points_per_sweep, replace=False))
    points, ring = sweep.deskewed()[rows].astype(np.float64), sweep.ring[rows].astype(np.int64)
    n_rings = 1 + int(sweep.beam_ring.max()) if sweep.n_beams else 1
    return _View(points, ring, sweep.pose, np.zeros(6), n_rings)


def _step(
    views: list[_View], calibration: Calibration, config: CalibrateConfig, rng: np.random.Generator
) -> tuple[Calibration, float]:
    """One Gauss-Newton step: moves the views' poses; gives the calibration, and the misfit (metres) before it.

    Unknowns are an elevation and a range for each ring, then a turn and a shift for each sweep.
    """
    sweep = np.repeat(np.arange(len(views)), [len(view.ring) for view in views])
    ring = np.concatenate([view.ring for view in views])
    seen = calibration.corrected_points(np.concatenate([view.points for view in views]), ring)
    turns, places = np.stack([v.pose[:3, :3] for v in views]), np.stack([v.pose[:3, 3] for v in views])
    points = np.einsum("nij,nj->ni", turns[sweep], seen.points) + places[sweep]
    rows, normal, error = _find_planes(points, config, rng)
    along, up = (np.einsum("nij,nj->ni", turns[sweep[rows]], axis[rows]) for axis in (seen.along, seen.up))
    n_rings, n_rows = len(calibration.elevation_rad), len(rows)
    motion = 2 * n_rings + 6 * sweep[rows]
    columns = [ring[rows], n_rings + ring[rows], *(motion + axis for axis in range(6))]
    slopes = [
        (normal * up).sum(axis=1) * seen.range[rows],
        (normal * along).sum(axis=1),
        *motion_jacobian(points[rows] - places[sweep[rows]], normal).T,
    ]
    jacobian = sparse.csr_matrix(
        (np.concatenate(slopes), (np.tile(np.arange(n_rows), 8), np.concatenate(columns))),
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


def _find_planes(points: Array, config: CalibrateConfig, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Rows (m,) of ``points`` whose neighbourhood is a plane, its normal (m, 3), and their signed distance from it."""
    rows = rng.choice(len(points), min(config.samples, len(points)), replace=False)
    found = Neighbours(points).knn(points[rows], config.k)
    whole = (found.index >= 0).all(axis=1) & (found.distance2[:, -1] < config.neighbour_radius_m**2)
    rows, near = rows[whole], points[found.index[whole]]
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
    flat &= spread[:, 0] < max(config.thickness_min_m, config.thickness_per_misfit * spread_of_errors) ** 2
    return rows[flat], normal[flat], error[flat]
