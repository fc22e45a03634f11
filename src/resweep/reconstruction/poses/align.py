"""Several drives of one place aligned: each is registered to the map of those before it, as D does (3.1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array, rotation_of, transform
from resweep.progress import track
from resweep.reconstruction.poses.config import AlignConfig
from resweep.reconstruction.poses.drives import Drive, PlaneMap, correct_drift, register_drive
from resweep.registration import find_planes
from resweep.sweep import Sweep
from resweep.voxels import first_in_voxels, voxel_means

Keep = Callable[[Sweep], Array]

_VOXEL_M, _COARSE_VOXEL_M, _SAMPLE_VOXEL_M = 0.1, 0.4, 0.5
_RADIUS_PER_VOXEL = 3.75
_MOST_POINTS = 2000
_MIN_SWEEPS = 4
_BETTER = 1.1
_OWN_PLACE_M = 0.5  # a log that moves less than that stays where its poses are


@dataclass(frozen=True)
class Shift:
    """How one drive was corrected: its mean ``shift_m`` and ``turn_deg``, how the shift varies, and how well it fits.

    ``drift_m`` is the largest distance of the shift along the drive from its mean, ``overlap`` the share of the points
    within a metre of the map, ``misfit_m`` the median distance from the map's planes before and after.
    ``agreement`` is the share of its flat places that lie in planes of the map, in the direction of the least.
    """

    name: str
    shift_m: float
    turn_deg: float
    drift_m: float
    overlap: float
    agreement: float
    misfit_m: tuple[float, float]

    def __str__(self) -> str:
        before, after = (100 * value for value in self.misfit_m)
        return (
            f"{self.name}: moved by {self.shift_m:.2f} m and {self.turn_deg:.2f}°, varying by {self.drift_m:.2f} m; "
            f"{self.overlap:.0%} lies on the map, {before:.1f} cm from its planes before and {after:.1f} cm after"
        )


def align(
    logs: Sequence[Log],
    config: AlignConfig | None = None,
    *,
    keep: Keep | None = None,
    left_out: list[str] | None = None,
    progress: bool = False,
) -> tuple[list[Log], list[Shift]]:
    """The logs with the poses of all but the first corrected onto the map of those before, and the corrections.

    ``keep(sweep)`` (n,) says which returns take part. A log that does not fit the map is an error; with a list in
    ``left_out``, the error is noted there and the log is left out.

    Example: ``logs, shifts = rs.align([first, second])``
    """
    config = config or AlignConfig()
    for log in logs:
        log.require_poses("it cannot be aligned")
    if len(logs) < 2:
        return list(logs), []
    origin = np.round(logs[0].poses[0][:3, 3])
    _, cloud = _sample_drive(logs[0], origin, config, keep, progress)
    clouds, done, shifts = [cloud], [logs[0]], []
    for log in logs[1:]:
        try:
            place = _map_planes(clouds)
            drive = _sample_drive(log, origin, config, keep, progress)[0]
            poses, unique = _register(drive, place, config)
            there = _move_log(log, poses, origin)
            cloud = _sample_drive(there, origin, config, keep, progress)[1]
            shift = _check_fit(drive, poses, cloud, place, unique, config)
        except ResweepError as error:
            if left_out is None:
                raise
            left_out.append(f"skipped {error}")
            continue
        done.append(replace(there, meta={**there.meta, "aligned": asdict(shift)}))
        shifts.append(shift)
        clouds.append(cloud)
    return done, shifts


def _move_log(log: Log, poses: Array, origin: Array) -> Log:
    """The log at ``poses`` (n, 4, 4), which are from ``origin``; the motion within sweeps moves along."""
    there = poses.copy()
    there[:, :3, 3] += origin

    def move(sweep: Sweep, at: int) -> Sweep:
        return sweep.moved_to(there[at], float(log.times[at]))

    return log.map(move, "align", indexed=True, poses=there)


def _sample_drive(
    log: Log, origin: Array, config: AlignConfig, keep: Keep | None, progress: bool
) -> tuple[Drive, Array]:
    """What takes part of a log: a sample of its points, and its map (n, 3) as means of voxels."""
    poses = log.poses.copy()
    poses[:, :3, 3] -= origin
    path_m = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))]
    chosen = np.unique(np.searchsorted(path_m, np.arange(0.0, path_m[-1], config.sweep_gap_m)))
    if len(chosen) < _MIN_SWEEPS:  # the drive is short, or stands
        chosen = np.unique(np.linspace(0, len(log) - 1, min(len(log), _MIN_SWEEPS)).astype(np.int64))
    samples, owners, cloud = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for row, sweep in enumerate(track(log[chosen.tolist()], f"sampling {log.name}", show=progress)):
        near = (sweep.range < config.range_max_m) & np.isfinite(sweep.points).all(axis=1)
        if keep is not None:
            near &= keep(sweep)
        if not near.any():
            continue
        local = sweep.deskewed()[near].astype(np.float64)
        rows = first_in_voxels(local, _SAMPLE_VOXEL_M)
        rows = rows[:: 1 + len(rows) // _MOST_POINTS]
        samples.append(local[rows])
        owners.append(np.full(len(rows), chosen[row]))
        cloud.append(voxel_means(transform(poses[chosen[row]], local), _VOXEL_M))
    name = str(log.meta.get("path", log.name))
    drive = Drive(name, np.concatenate(samples), np.concatenate(owners), poses, path_m)
    if len(drive.points) == 0:
        raise ResweepError(f"{name}: no return is left to align it by; widen range_max_m or keep more returns")
    return drive, voxel_means(np.concatenate(cloud), _VOXEL_M)


def _map_planes(clouds: list[Array]) -> PlaneMap:
    points = voxel_means(np.concatenate(clouds), _VOXEL_M)
    coarse, fine = (find_planes(points, size, _RADIUS_PER_VOXEL * size) for size in (_COARSE_VOXEL_M, _VOXEL_M))
    return PlaneMap(Neighbours(points), coarse, fine)


def _register(drive: Drive, place: PlaneMap, config: AlignConfig) -> tuple[Array, bool]:
    """The drive's poses (n, 4, 4) on the map, and whether it fits in one place only."""
    if place.overlap(drive.world(drive.poses), config.shift_max_m) < config.overlap_min:
        raise ResweepError(
            f"{drive.name}: does not overlap the logs before it; give logs of one place with poses in one world frame"
        )
    start, unique = register_drive(drive, place, config)
    poses = correct_drift(drive, place, start, config)
    if _misfit(drive, place, drive.poses) <= _BETTER * _misfit(drive, place, poses):
        return drive.poses, unique  # hardly better: with few constraints, moving would only add noise
    return poses, unique


def _check_fit(drive: Drive, poses: Array, cloud: Array, place: PlaneMap, unique: bool, config: AlignConfig) -> Shift:
    """The correction of a drive at ``poses``; an error if it, or its map ``cloud`` (n, 3), does not fit there."""
    agreement = place.agreement(cloud)
    shift = _summarise(drive, place, poses, agreement.share)
    largest = float(np.linalg.norm(poses[:, :3, 3] - drive.poses[:, :3, 3], axis=1).max())
    what = ""
    if shift.overlap < config.overlap_min:
        what = f"only {shift.overlap:.0%} of it lies on their map"
    elif not shift.misfit_m[1] <= config.misfit_max_m:
        what = f"its surfaces stay {100 * shift.misfit_m[1]:.0f} cm off theirs"
    elif shift.agreement < config.agreement_min:
        what = f"in one direction only {shift.agreement:.0%} of its surfaces lie in theirs"
    elif largest > config.shift_max_m or shift.turn_deg > config.turn_max_deg:
        what = f"it would move by {largest:.1f} m and {shift.turn_deg:.1f}°, more than poses are expected to err"
    elif not unique and shift.shift_m > _OWN_PLACE_M:
        what = "it fits in several places, away from its own poses"
    if what:
        raise ResweepError(f"{drive.name}: does not fit onto the logs before it: {what}; give better poses")
    if agreement.unconstrained or not unique:
        warnings.warn(
            f"{drive.name}: fits onto the logs before it in more than one place; where no surface constrains them, "
            "its poses are kept",
            stacklevel=3,
        )
    return shift


def _summarise(drive: Drive, place: PlaneMap, poses: Array, agreement: float) -> Shift:
    change = poses[:, :3, 3] - drive.poses[:, :3, 3]
    mean = change.mean(axis=0)
    turn = rotation_of(portable.matmul(poses[:, :3, :3], drive.poses[:, :3, :3].transpose(0, 2, 1)).mean(axis=0))
    return Shift(
        drive.name,
        float(portable.norm(mean)),
        float(np.degrees(turn.magnitude())),
        float(np.linalg.norm(change - mean, axis=1).max()),
        place.overlap(drive.world(poses), 1.0),
        agreement,
        (_misfit(drive, place, drive.poses), _misfit(drive, place, poses)),
    )


def _misfit(drive: Drive, place: PlaneMap, poses: Array) -> float:
    """The median distance in metres of the drive's points, at ``poses``, from the map's planes."""
    error = place.fine.match(drive.world(poses), 1.0).error
    return float(np.median(np.abs(error))) if len(error) else float("inf")
