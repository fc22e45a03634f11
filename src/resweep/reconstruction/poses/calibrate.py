"""Poses and laser calibration refined on the map itself.

A log's lasers miss their nominal elevation by hundredths of a degree and their range by centimetres, and
its poses by millimetres: surfaces of the map come out in several layers. Where the map is locally a
plane, each return should lie in it. One robust least-squares problem over all sweeps finds an elevation
and a range correction for every laser, and a small motion for every sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.transform import Rotation

from resweep.calibration import Calibration
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.config import CalibrateConfig
from resweep.reconstruction.map.accumulate import tracked
from resweep.sweep import Sweep


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


def calibrate(log: Log, config: CalibrateConfig | None = None, keep: Any = None, progress: bool = False) -> Calibrated:
    """Corrections found on a log; ``keep(sweep)`` (n,) tells the returns that take part.

    At most ``config.sweeps`` sweeps are used; the poses of a longer log stay as they are.
    """
    config = config or CalibrateConfig()
    used = min(len(log), config.sweeps)
    rng = np.random.default_rng(0)
    views = [_view(sweep, config, rng, keep) for _, sweep in tracked(log[:used], "calibrating lasers", progress)]
    n_rings = 1 + max((int(view.ring.max()) for view in views if len(view.ring)), default=0)
    calibration = Calibration(np.zeros(n_rings), np.zeros(n_rings))
    origin = views[0].pose[:3, 3].copy()
    for view in views:
        view.pose = view.pose.copy()
        view.pose[:3, 3] -= origin
    if n_rings == 1:  # the lasers are not told apart: there is nothing to calibrate but the poses
        config = config.model_copy(update={"elevation_prior_rad": 1e-9, "range_prior_m": 1e-9})
    misfits: list[float] = []
    for _ in range(config.iterations):
        calibration, misfit = _step(views, calibration, config, rng)
        misfits.append(misfit)
    poses = log.poses.copy()
    if used == len(log):
        poses = np.stack([view.pose for view in views])
        poses[:, :3, 3] += origin
    return Calibrated(corrected(log, calibration, poses), calibration, (misfits[0], misfits[-1]))


def corrected(log: Log, calibration: Calibration, poses: Array) -> Log:
    """The log with its lasers calibrated and its sweeps at ``poses`` (n, 4, 4)."""
    load = log.load

    def corrected_sweep(at: int) -> Sweep:
        sweep = calibration.applied(load(at))
        change = poses[at] @ np.linalg.inv(sweep.pose)
        motion = None if sweep.trajectory is None else sweep.trajectory.moved(change)
        return replace(sweep, pose=poses[at], trajectory=motion)

    return replace(log, load=corrected_sweep, poses=poses)


def _view(sweep: Sweep, config: CalibrateConfig, rng: np.random.Generator, keep: Any) -> _View:
    chosen = sweep.range < config.range_max_m
    if keep is not None:
        chosen &= keep(sweep)
    rows = np.flatnonzero(chosen)
    if len(rows) > config.points_per_sweep:
        rows = np.sort(rng.choice(rows, config.points_per_sweep, replace=False))
    return _View(sweep.deskewed()[rows].astype(np.float64), sweep.ring[rows].astype(np.int64), sweep.pose, np.zeros(6))


def _step(
    views: list[_View], calibration: Calibration, config: CalibrateConfig, rng: np.random.Generator
) -> tuple[Calibration, float]:
    """One Gauss-Newton step: moves the views' poses and returns the calibration and the misfit before it."""
    sweep = np.repeat(np.arange(len(views)), [len(view.ring) for view in views])
    ring = np.concatenate([view.ring for view in views])
    seen = calibration.corrected_points(np.concatenate([view.points for view in views]), ring)
    turns, places = np.stack([v.pose[:3, :3] for v in views]), np.stack([v.pose[:3, 3] for v in views])
    points = np.einsum("nij,nj->ni", turns[sweep], seen.points) + places[sweep]
    rows, normal, error = _planes(points, config, rng)
    along, up = (np.einsum("nij,nj->ni", turns[sweep[rows]], axis[rows]) for axis in (seen.along, seen.up))
    reach = seen.range[rows]
    n_rings, n_rows = len(calibration.elevation_rad), len(rows)
    at = np.arange(n_rows)
    motion = 2 * n_rings + 6 * sweep[rows]
    turn = np.cross(points[rows] - places[sweep[rows]], normal)
    columns = [ring[rows], n_rings + ring[rows], *(motion + axis for axis in range(6))]
    slopes = [(normal * up).sum(axis=1) * reach, (normal * along).sum(axis=1), *turn.T, *normal.T]
    n_unknowns = 2 * n_rings + 6 * len(views)
    jacobian = sparse.csr_matrix(
        (np.concatenate(slopes), (np.tile(at, 8), np.concatenate(columns))), shape=(n_rows, n_unknowns)
    )
    weight = 1.0 / np.maximum(1.0, np.abs(error) / config.huber_m) / config.noise_m**2
    prior = np.concatenate(
        [
            np.full(n_rings, config.elevation_prior_rad),
            np.full(n_rings, config.range_prior_m),
            np.tile([config.turn_prior_rad] * 3 + [config.shift_prior_m] * 3, len(views)),
        ]
    )
    normal_matrix = (jacobian.T @ jacobian.multiply(weight[:, None])).toarray() + np.diag(1.0 / prior**2)
    so_far = np.concatenate([calibration.elevation_rad, calibration.range_m, *(view.change for view in views)])
    change = np.linalg.solve(normal_matrix, -(jacobian.T @ (weight * error)) - so_far / prior**2)
    for index, view in enumerate(views):
        small = change[2 * n_rings + 6 * index : 2 * n_rings + 6 * (index + 1)]
        view.pose[:3, :3] = Rotation.from_rotvec(small[:3]).as_matrix() @ view.pose[:3, :3]
        view.pose[:3, 3] += small[3:]
        view.change = view.change + small
    better = Calibration(
        calibration.elevation_rad + change[:n_rings], calibration.range_m + change[n_rings : 2 * n_rings]
    )
    return better, float(np.median(np.abs(error))) if n_rows else 0.0


def _planes(points: Array, config: CalibrateConfig, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Rows of ``points`` whose neighbourhood is a plane, its normal, and their signed distance from it."""
    rows = rng.choice(len(points), min(config.samples, len(points)), replace=False)
    found = Neighbours(points).knn(points[rows], config.k)
    whole = (found.index >= 0).all(axis=1) & (found.distance2[:, -1] < config.neighbour_radius_m**2)
    rows, near = rows[whole], points[found.index[whole]]
    middle = near.mean(axis=1)
    near = near - middle[:, None]
    spread, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", near, near) / config.k)
    normal = axes[:, :, 0]
    error = ((points[rows] - middle) * normal).sum(axis=1)
    flat = (spread[:, 0] < config.thickness_m**2) & (spread[:, 0] < config.flatness * spread[:, 1])
    flat &= spread[:, 1] > config.breadth * spread[:, 2]  # points on one scan line span no plane
    flat &= np.abs(error) < 5 * config.huber_m
    # The better the map agrees, the flatter its planes must be: curved things would pull their lasers inwards.
    spread_of_errors = 1.48 * float(np.median(np.abs(error[flat]))) if flat.any() else 0.0
    flat &= spread[:, 0] < max(config.thickness_min_m, config.thickness_per_misfit * spread_of_errors) ** 2
    return rows[flat], normal[flat], error[flat]
