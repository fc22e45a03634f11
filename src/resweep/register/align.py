"""Several drives of one place aligned: each is registered to the map of those before it, as D does (3.1)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, rotation_of
from resweep.register.config import AlignConfig
from resweep.register.drives import Agreement
from resweep.register.register import RegistrationResult, register_sections
from resweep.register.sections import (
    Keep,
    MapPieces,
    Route,
    SavedSection,
    divide_route,
    map_section,
    sample_section,
)
from resweep.sweep import Sweep

# Chosen by hand.
_AGREE_MARGIN_M = 2.0  # around a section's map, for the planes at its edge
_OWN_PLACE_M = 0.5  # a log that moves less than that stays where its poses are


@dataclass(frozen=True)
class Shift:
    """How one drive was corrected: its mean ``shift_m`` and ``turn_deg``, how the shift varies, and how well it fits.

    ``drift_m`` is the largest distance of the shift along the drive from its mean, ``overlap`` the share of the points
    within a metre of the map, ``plane_residual_m`` the median distance from the map's planes before and after.
    ``agreement`` is the share of its flat places that lie in planes of the map, in the direction of the least.
    """

    name: str
    shift_m: float
    turn_deg: float
    drift_m: float
    overlap: float
    agreement: float
    plane_residual_m: tuple[float, float]

    def __str__(self) -> str:
        before, after = (100 * value for value in self.plane_residual_m)
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

    ``keep(sweep)`` (n,) selects the returns that take part. A log that does not fit the map is an error; with a list in
    ``left_out``, the error is noted there and the log is left out.

    Example: ``logs, shifts = rs.align([first, second])``
    """
    config = config or AlignConfig()
    for log in logs:
        log.require_poses("it cannot be aligned")
    if len(logs) < 2:
        return list(logs), []
    origin = np.round(logs[0].poses[0][:3, 3])
    with TemporaryDirectory(prefix="resweep-align-") as folder:
        how = _AlignTask(config, keep, progress, origin, Path(folder))
        place = MapPieces(how.folder / "0")
        for cloud, whole in _map_sections(logs[0], how):
            place.add(cloud, whole)
        if len(place) == 0:
            raise _make_empty_error(str(logs[0].meta.get("path", logs[0].name)))
        done, shifts = [logs[0]], []
        for number, log in enumerate(logs[1:], 1):
            try:
                there, shift, pieces = _align_log(log, place, how, number)
            except ResweepError as error:
                if left_out is None:
                    raise
                left_out.append(f"skipped {error}")
                continue
            done.append(replace(there, meta={**there.meta, "aligned": asdict(shift)}))
            shifts.append(shift)
            place.extend(pieces)
    return done, shifts


@dataclass(frozen=True, eq=False)
class _AlignTask:
    """What all logs share: the settings, which returns take part, the map's origin (3,), a folder."""

    config: AlignConfig
    keep: Keep | None
    progress: bool
    origin: Array
    folder: Path


def _align_log(log: Log, place: MapPieces, how: _AlignTask, number: int) -> tuple[Log, Shift, MapPieces]:
    """A log on the map ``place``, how it was corrected, and its own map."""
    route = Route.of(log, how.origin, how.config)
    found = register_sections(_sample_sections(log, route, how, number), route, place, how.config)
    there = _move_log(log, found.poses, how.origin)
    pieces = MapPieces(how.folder / str(number))
    agreements = []
    for cloud, whole in _map_sections(there, how):
        pieces.add(cloud, whole)
        if len(cloud):
            near = place.near(cloud.min(axis=0) - _AGREE_MARGIN_M, cloud.max(axis=0) + _AGREE_MARGIN_M)
            agreements.append(near.agreement(cloud))
    return there, _check_fit(route, found, _join_agreements(agreements), how.config), pieces


def _sample_sections(log: Log, route: Route, how: _AlignTask, number: int) -> list[SavedSection]:
    """The sections of a log, each with a sample of its returns in a file."""
    saved, count = [], 0
    for at, section in enumerate(divide_route(route.path_m, how.config)):
        drive = sample_section(log, route, section, how.config, how.keep, how.progress)
        saved.append(SavedSection(section, route, how.folder / f"{number}-{at:06d}.npz"))
        saved[-1].save(drive)
        count += len(drive.points)
    if count == 0:
        raise _make_empty_error(route.name)
    return saved


def _map_sections(log: Log, how: _AlignTask) -> Iterator[tuple[Array, bool]]:
    """The map (n, 3) of each section of a log, and whether it is that of the whole log."""
    route = Route.of(log, how.origin, how.config)
    sections = divide_route(route.path_m, how.config)
    for section in sections:
        yield map_section(log, route, section, how.config, how.keep, how.progress), len(sections) == 1


def _make_empty_error(name: str) -> ResweepError:
    return ResweepError(f"{name}: no return is left to align it by; widen range_max_m or keep more returns")


def _move_log(log: Log, poses: Array, origin: Array) -> Log:
    """The log at ``poses`` (n, 4, 4), which are from ``origin``; the motion within sweeps moves along."""
    there = poses.copy()
    there[:, :3, 3] += origin

    def move(sweep: Sweep, at: int) -> Sweep:
        return sweep.moved_to(there[at], float(log.times[at]))

    return log.map(move, "align", indexed=True, poses=there)


def _join_agreements(found: Sequence[Agreement]) -> Agreement:
    """How well the sections of a drive agree with the map: the mean of their least shares, by their flat places."""
    if len(found) == 1:
        return found[0]
    count = sum(each.count for each in found)
    share = sum(each.share * each.count for each in found) / max(count, 1)
    constrained = any(each.count and not each.unconstrained for each in found)
    return Agreement(share, [] if constrained else [at for each in found for at in each.unconstrained], count)


def _check_fit(route: Route, found: RegistrationResult, agreement: Agreement, config: AlignConfig) -> Shift:
    """The correction of a drive; an error if it, or its map, does not fit where it was moved to."""
    shift = _summarise(route, found, agreement.share)
    largest = float(np.linalg.norm(found.poses[:, :3, 3] - route.poses[:, :3, 3], axis=1).max())
    what = ""
    if shift.overlap < config.overlap_min:
        what = f"only {shift.overlap:.0%} of it lies on their map"
    elif not shift.plane_residual_m[1] <= config.plane_residual_max_m:
        what = f"its surfaces stay {100 * shift.plane_residual_m[1]:.0f} cm off theirs"
    elif shift.agreement < config.agreement_min:
        what = f"in one direction only {shift.agreement:.0%} of its surfaces lie in theirs"
    elif largest > config.shift_max_m or shift.turn_deg > config.turn_max_deg:
        what = f"it would move by {largest:.1f} m and {shift.turn_deg:.1f}°, more than poses are expected to err"
    elif not found.unique and shift.shift_m > _OWN_PLACE_M:
        what = "it fits in several places, away from its own poses"
    if what:
        raise ResweepError(f"{route.name}: does not fit onto the logs before it: {what}; give better poses")
    if agreement.unconstrained or not found.unique:
        warnings.warn(
            f"{route.name}: fits onto the logs before it in more than one place; where no surface constrains them, "
            "its poses are kept",
            stacklevel=3,
        )
    return shift


def _summarise(route: Route, found: RegistrationResult, agreement: float) -> Shift:
    change = found.poses[:, :3, 3] - route.poses[:, :3, 3]
    mean = change.mean(axis=0)
    turn = rotation_of(portable.matmul(found.poses[:, :3, :3], route.poses[:, :3, :3].transpose(0, 2, 1)).mean(axis=0))
    return Shift(
        route.name,
        float(portable.norm(mean)),
        float(np.degrees(turn.magnitude())),
        float(np.linalg.norm(change - mean, axis=1).max()),
        found.overlap,
        agreement,
        found.plane_residual_m,
    )
