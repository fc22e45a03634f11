"""A drive registered to the map of others, section by section, so that only the map around one is in memory.

The section that overlaps the map most comes first, tried from several starts. The others follow outwards, each from
where its neighbour was moved to. Where two sections overlap, the correction of one fades into that of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array, inverse, rotation_of
from resweep.register.config import AlignConfig
from resweep.register.drives import COARSE_REACH_M, FIT_REACH_M, Drive, PlaneMap, correct_drift, register_drive
from resweep.register.sections import MapPieces, Route, SavedSection, fade_weights
from resweep.registration import POSE, move_pose

_MIN_IMPROVEMENT = 1.1  # times the errors after moving; chosen by hand
_ERROR_STRIDE = 16  # of the sorted errors of a section of many: bounds memory


@dataclass(frozen=True, eq=False)
class RegistrationResult:
    """Where a drive was moved to: its ``poses`` (n, 4, 4), and whether it fits in one place only (``unique``).

    ``overlap`` is the share of its points within a metre of the map, ``plane_residual_m`` their median distance from
    the map's planes before and after.
    """

    poses: Array
    unique: bool
    overlap: float
    plane_residual_m: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Fit:
    """How the points of a section fit the map: how many there are, how many lie near it, and their errors (m,)."""

    count: int
    near: float
    errors: Array


def register_sections(
    saved: Sequence[SavedSection], route: Route, place: MapPieces, config: AlignConfig
) -> RegistrationResult:
    """The drive of these sections on the map; an error if it does not overlap it."""
    best = _find_best(saved, route, place, config)
    every = 1 if len(saved) == 1 else _ERROR_STRIDE
    found: dict[int, Array] = {}
    fits: list[tuple[_Fit, _Fit]] = []
    unique = True
    for at in sorted(range(len(saved)), key=lambda other: abs(other - best)):
        drive = saved[at].load()
        near = place.near(*_find_bounds(drive, config))
        start = held = None
        if at != best:
            start, held = _continue_beside(saved, found, at, at + 1 if at < best else at - 1)
        poses, fits_once = register_drive(drive, near, config, start)
        unique = unique and fits_once
        found[at] = correct_drift(drive, near, poses, config, held)
        fits.append((_fit(drive, near, drive.poses, every), _fit(drive, near, found[at], every)))
    before, after = (_join_fits([pair[when] for pair in fits]) for when in (0, 1))
    if before[1] <= _MIN_IMPROVEMENT * after[1]:  # hardly better: with few constraints, moving would only add noise
        return RegistrationResult(route.poses, unique, before[0], (before[1], before[1]))
    return RegistrationResult(_blend(saved, route, found), unique, after[0], (before[1], after[1]))


def _find_best(saved: Sequence[SavedSection], route: Route, place: MapPieces, config: AlignConfig) -> int:
    """The section that overlaps the map most; an error if all of them together hardly do."""
    counts, on_map = [], []
    for section in saved:
        drive = section.load()
        share = place.near(*_find_bounds(drive, config)).overlap(drive.world(drive.poses), config.shift_max_m)
        counts.append(len(drive.points))
        on_map.append(share * len(drive.points))
    if sum(on_map) < config.overlap_min * sum(counts):
        raise ResweepError(
            f"{route.name}: does not overlap the logs before it; give logs of one place with poses in one world frame"
        )
    return int(np.argmax(on_map))


def _find_bounds(drive: Drive, config: AlignConfig) -> tuple[Array, Array]:
    """The corners (3,) of a box that holds all planes that the points of a drive can match while it is moved."""
    points = np.concatenate([drive.world(drive.poses), drive.poses[:, :3, 3]])
    low, high = points.min(axis=0), points.max(axis=0)
    turned_m = np.radians(config.turn_max_deg) * float(portable.norm(high - low)) / 2
    margin_m = config.shift_max_m + COARSE_REACH_M + turned_m
    return low - margin_m, high + margin_m


def _continue_beside(
    saved: Sequence[SavedSection], found: dict[int, Array], at: int, beside: int
) -> tuple[tuple[int, Array], tuple[slice, Array] | None]:
    """How section ``at`` continues the section ``beside`` it, which was corrected before.

    First the sweep where that one ends and the motion (4, 4) that it had there, then the sweeps that both share and
    their poses (h, 4, 4).
    """
    here, there = saved[at].section, saved[beside].section
    last = there.end - 1 if beside < at else there.begin
    motion = portable.matmul(found[beside][last - there.begin], inverse(saved[at].route.poses[last]))
    start = min(max(last, here.begin), here.end - 1) - here.begin, motion
    first, end = max(here.begin, there.begin), min(here.end, there.end)
    if first >= end:  # the log has a gap between them
        return start, None
    return start, (slice(first - here.begin, end - here.begin), found[beside][first - there.begin : end - there.begin])


def _fit(drive: Drive, place: PlaneMap, poses: Array, every: int) -> _Fit:
    world = drive.world(poses)
    errors = np.abs(place.fine.match(world, FIT_REACH_M).error)
    if every > 1:
        errors = np.sort(errors)[::every]
    return _Fit(len(world), place.overlap(world, FIT_REACH_M) * len(world), errors)


def _join_fits(fits: Sequence[_Fit]) -> tuple[float, float]:
    """The share of points near the map, and the median of the errors, infinite where there are none."""
    errors = np.concatenate([fit.errors for fit in fits])
    near, count = sum(fit.near for fit in fits), sum(fit.count for fit in fits)
    return near / max(count, 1), float(np.median(errors)) if len(errors) else float("inf")


def _blend(saved: Sequence[SavedSection], route: Route, found: dict[int, Array]) -> Array:
    """The poses (n, 4, 4) of all sweeps, those of two sections blended."""
    if len(saved) == 1:
        return found[0]
    total, shared = np.zeros((len(route.poses), POSE)), np.zeros(len(route.poses))
    poses = route.poses.copy()
    weights = fade_weights([each.section for each in saved], route.path_m)
    for at, weight in enumerate(weights):
        rows = saved[at].section.sweeps
        turn = portable.matmul(found[at][:, :3, :3], route.poses[rows, :3, :3].transpose(0, 2, 1))
        shift = found[at][:, :3, 3] - route.poses[rows, :3, 3]
        total[rows] += weight[:, None] * np.concatenate([rotation_of(turn).as_rotvec(), shift], axis=1)
        shared[rows] += 1
        poses[rows] = found[at]
    for sweep in np.flatnonzero(shared > 1):
        poses[sweep] = move_pose(route.poses[sweep], total[sweep])
    return poses
