"""The grid of rings and columns that a spinning sensor fires on, estimated from some sweeps of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, inverse
from resweep.sensors.infer.azimuth_steps import estimate_steps, find_fired_columns
from resweep.sensors.infer.channel_motion import Channels, RingMotion, fit_channels
from resweep.sensors.infer.find_rings import (
    Source,
    compute_azimuth_deg,
    compute_beam_points,
    compute_elevation_deg,
    compute_group_medians,
    find_elevation_peaks,
    find_nearest,
    find_ring_source,
    find_stored_turns,
)
from resweep.sweep import Sweep

_ADVICE = "give a log with rings, or points as measured (not deskewed)"
_MIN_STEP_DEG = 0.02  # no spinning sensor fires a laser again before it turned this far
CELLS = 180  # of azimuth, 2° each, in which a ring is known to leave the sensor or not
_CARRIER_M = 1.0  # nearer points are on the vehicle that carries the sensor
_MAX_MIXED = 0.1  # share of rings whose shots are too dense for one laser
_MAX_DRIVE_M = 0.1  # motion in a sweep that still leaves rings found by elevation whole
_MIN_CLOSE = 0.9  # share of points close to their ring, where rings are found by elevation
# A ring or column of this number is damage: memory grows with their product, and no LiDAR has so many.
_MAX_RINGS = 1024
_MAX_COLUMNS = 1 << 17
_MAX_CELLS = 1 << 22  # 128 rings at 0.01° have a tenth
_MAX_TRIES = 10  # sweeps read in vain before a log counts as unreadable
_FIT_POINTS = 12_000  # of a sweep, enough for two numbers a ring
_MIN_TIME_SPAN_S = 1e-3  # firing times that vary less show nothing
_MIN_AGREEMENT_M2 = 0.02  # a motion and a drive that agree less than this do not show the direction of rotation


@dataclass(frozen=True, eq=False)
class BeamGrid:
    """What a log shows of its sensor's firing pattern.

    ``channels`` are the lasers by ring; ``step`` (k,) is the mean distance between two shots of a ring, in
    degrees of azimuth, or in columns where the log numbers them (``columned``). ``n_columns`` are the
    shots of one turn of the densest ring. ``fires`` (k, 180) marks the cells of 2° of azimuth, from 0°
    counter-clockwise, in which a ring is not hidden by what carries the sensor. ``period_s`` is the time
    of one turn, None where points have no times; ``direction`` None where the log does not show it.
    ``fired`` (k, c) marks the columns that a ring fires in, where columns are numbered: lasers may take turns.
    """

    channels: Channels
    step: Array
    n_columns: int
    fires: Array
    source: Source
    columned: bool = False
    direction: Literal["clockwise", "counterclockwise"] | None = None
    period_s: float | None = None
    sweeps: int = 1
    fired: Array | None = None

    @property
    def n_rings(self) -> int:
        """Number of rings."""
        return len(self.step)

    @property
    def elevations_deg(self) -> Array:
        """Elevation (k,) of each ring far away, NaN where no point was seen."""
        return np.asarray(np.degrees(self.channels.elevation_rad))

    @property
    def azimuth_step_deg(self) -> float:
        """Mean azimuth between two shots of the densest ring."""
        return 360.0 / self.n_columns

    @property
    def turn(self) -> float:
        """Length of a turn in the unit of ``step``: 360°, or the number of columns."""
        return float(self.n_columns) if self.columned else 360.0

    @property
    def rotation_sign(self) -> float:
        """+1 where azimuth grows with time, else -1 (also where the log does not show it)."""
        return 1.0 if self.direction == "counterclockwise" else -1.0


def sample_sweeps(log: Log | Sequence[Sweep], sweeps: int) -> list[Sweep]:
    """At most ``sweeps`` sweeps spread evenly over a log, those with points."""
    at = np.unique(np.linspace(0, len(log) - 1, min(sweeps, len(log))).round().astype(int))
    chosen = [log[int(index)] for index in at]
    return [sweep for sweep in chosen if len(sweep)]


def sample_readable(log: Log, sweeps: int) -> list[Sweep]:
    """At most ``sweeps`` readable sweeps with points, spread over a log; an unreadable one makes way for the next."""
    wanted = np.unique(np.linspace(0, len(log) - 1, min(sweeps, len(log))).round().astype(int)).tolist()
    found: list[Sweep] = []
    used: set[int] = set()
    tries = _MAX_TRIES
    for first in wanted:
        for at in range(first, len(log)):
            if at in used or not tries:
                break
            used.add(at)
            try:
                sweep = log.load(at)
            except ResweepError:  # reading that sweep itself raises it
                tries -= 1
                continue
            if len(sweep):
                found.append(sweep)
                break
    return found


def estimate_grid(log: Log | Sequence[Sweep], sweeps: int = 5) -> BeamGrid:
    """The grid that ``sweeps`` sweeps of a log show; raises `ResweepError` where no rings can be found."""
    chosen = sample_sweeps(log, sweeps)
    source = find_ring_source(chosen) if chosen else None
    if source is None:
        raise ResweepError(
            "grid: no rings can be found in this log: its points carry no ring, are not stored ring by ring and do "
            f"not crowd at elevations; {_ADVICE}"
        )
    clouds = [compute_beam_points(sweep) for sweep in chosen]
    far = [bool((np.hypot(points[:, 0], points[:, 1]) > _CARRIER_M).any()) for points in clouds]
    if not all(far):  # such a sweep shows nothing of the grid
        return estimate_grid([sweep for sweep, is_far in zip(chosen, far, strict=True) if is_far], sweeps)
    rings = _find_first_rings(chosen, clouds, source)
    n_rings = max(int(ring.max()) for ring in rings if len(ring)) + 1
    if n_rings > _MAX_RINGS:
        raise ResweepError(
            f"grid: a point of ring {n_rings - 1}, and a LiDAR has {_MAX_RINGS} rings at most; {_ADVICE}"
        )
    phases = [compute_phase(sweep, compute_azimuth_deg(points)) for sweep, points in zip(chosen, clouds, strict=True)]
    away = [np.hypot(points[:, 0], points[:, 1]) > _CARRIER_M for points in clouds]
    scans = [tuple(part[out] for part in scan) for out, *scan in zip(away, clouds, rings, phases, strict=True)]
    timed = [is_timed(sweep) for sweep in chosen]
    channels, motions = fit_channels([thin_points(_FIT_POINTS, *scan) for scan in scans], n_rings, timed)
    scans = [
        (points, ring, phase if by_time else move.measured_phase(points, phase))
        for by_time, move, (points, ring, phase) in zip(timed, motions, scans, strict=True)
    ]
    raw = [
        compute_azimuth_deg(move.undo(points, phase)) for move, (points, _, phase) in zip(motions, scans, strict=True)
    ]
    rings = [ring for _, ring, _ in scans]

    columned = source == "given" and all(_has_columns(sweep) for sweep in chosen)
    n_given = max(int(sweep.beam_column.max()) for sweep in chosen) + 1
    if columned and n_given > _MAX_COLUMNS:
        raise ResweepError(f"grid: a point of column {n_given - 1}, and a turn has {_MAX_COLUMNS} at most; {_ADVICE}")
    if columned and n_given * n_rings > _MAX_CELLS:
        raise ResweepError(
            f"grid: {n_rings} rings x {n_given} columns, and a LiDAR has {_MAX_CELLS} cells at most; {_ADVICE}"
        )
    place = [s.beam_column[out].astype(float) for s, out in zip(chosen, away, strict=True)] if columned else raw
    step = estimate_steps(place, rings, n_rings, float(n_given) if columned else 360.0)
    densest = 360.0 / n_given if columned else float(np.quantile(step, 0.25))
    mixed = np.mean(step < 0.8 * densest) > _MAX_MIXED or not _are_apart(channels, motions, scans)
    if (source == "elevation" and mixed) or densest < _MIN_STEP_DEG:
        raise ResweepError(f"grid: the rings of this log cannot be separated by elevation; {_ADVICE}")
    if not columned:
        step = np.maximum(step, 0.9 * densest)  # two rings taken for one
    fires = _find_free_cells(raw, rings, np.degrees(channels.elevation_rad))
    period_s, rotation_sign = _estimate_turning(
        [s.beam_time[out] for s, out in zip(chosen, away, strict=True)], raw, motions, log
    )
    return BeamGrid(
        channels,
        step,
        n_given if columned else round(360.0 / densest),
        fires,
        source,
        columned,
        None if rotation_sign == 0 else "counterclockwise" if rotation_sign > 0 else "clockwise",
        period_s,
        len(chosen),
        find_fired_columns(place, rings, n_rings, n_given) if columned else None,
    )


def _are_apart(channels: Channels, motions: list[RingMotion], scans: list[tuple[Array, ...]]) -> bool:
    """Whether points lie close to the elevation of their ring, for the distance of the rings.

    Where motion was taken out of the points, a ring may have been taken for two: then they do not.
    """
    if max(float(portable.norm(move.terms[:3])) for move in motions) > _MAX_DRIVE_M:
        return False
    level_deg = np.sort(np.degrees(channels.elevation_rad))
    room = np.minimum(np.diff(level_deg, append=np.inf), np.diff(level_deg, prepend=-np.inf))
    close = []
    for move, scan in zip(motions, scans, strict=True):
        points, ring, phase = thin_points(_FIT_POINTS, *scan)
        raw = move.undo(points, phase)
        level = np.maximum(np.hypot(raw[:, 0], raw[:, 1]), 0.1)
        error = portable.arctan(raw[:, 2] / level) - portable.arctan(channels.slope(ring, level))
        close.append(np.mean(np.abs(np.degrees(error)) < 0.15 * room[ring]))
    return float(np.mean(close)) > _MIN_CLOSE


def _find_first_rings(sweeps: list[Sweep], clouds: list[Array], source: Source) -> list[Array]:
    """Ring of each beam, before anything is known of the lasers."""
    if source == "given":
        return [sweep.beam_ring.astype(np.int64) for sweep in sweeps]
    if source == "elevation":
        found = find_elevation_peaks(clouds)
        assert found is not None
        peaks, height = found
        return [find_nearest(peaks, compute_elevation_deg(points - [0.0, 0.0, height])) for points in clouds]
    turns = [turn for points in clouds if (turn := find_stored_turns(points)) is not None]
    counts = [int(turn[-1]) + 1 for turn in turns]
    # A sweep in which two sparse rings ran together has too few turns; its rings are then found by elevation.
    whole = int(np.argmax(counts))
    level = np.sort(compute_group_medians(compute_elevation_deg(clouds[whole]), turns[whole], counts[whole]))
    return [_turn_rings(turn, points, level) for turn, points in zip(turns, clouds, strict=True)]


def _turn_rings(turn: Array, points: Array, level_deg: Array, height_m: float = 0.0) -> Array:
    """Rings (n,) of points stored in whole turns, of a sensor whose rings are at ``level_deg`` (k,)."""
    count = int(turn[-1]) + 1
    if count == len(level_deg):
        medians = compute_group_medians(compute_elevation_deg(points[::4]), turn[::4], count)
        rank = np.empty(count, np.int64)
        rank[np.argsort(medians, kind="stable")] = np.arange(count)
        return rank[turn]
    elevation = compute_elevation_deg(points - [0.0, 0.0, height_m])
    ring = find_nearest(level_deg, compute_group_medians(elevation, turn, count))[turn]
    by_point = find_nearest(level_deg, elevation)
    missing = np.setdiff1d(np.arange(len(level_deg)), ring)
    stray = np.isin(by_point, missing) & (np.abs(by_point - ring) == 1)
    return np.where(stray, by_point, ring)


def assign_rings(sweep: Sweep, points: Array, azimuth: Array, grid: BeamGrid) -> Array:
    """Ring (b,) int64 of each beam of a sweep from the log that ``grid`` was estimated from."""
    if grid.source == "given":
        return sweep.beam_ring.astype(np.int64)
    height_m, level_deg = grid.channels.height_m, grid.elevations_deg
    typical = float(np.median(height_m))
    turn = find_stored_turns(points, azimuth) if grid.source == "order" else None
    if turn is not None:
        return _turn_rings(turn, points, level_deg, typical)
    level = np.maximum(np.hypot(points[:, 0], points[:, 1]), 0.1)
    slope = points[:, 2] / level
    ring = find_nearest(level_deg, np.degrees(portable.arctan(slope - typical / level)))
    return find_nearest(level_deg, np.degrees(portable.arctan(slope - height_m[ring] / level)))


def thin_points(count: int, points: Array, ring: Array, phase: Array) -> tuple[Array, Array, Array]:
    """About ``count`` of points, rings and phases, drawn at random: every n-th could be all of one ring."""
    if len(points) > count:
        drawn = np.sort(np.random.default_rng(0).integers(0, len(points), count))
        points, ring, phase = points[drawn], ring[drawn], phase[drawn]
    return points, ring, phase


def is_timed(sweep: Sweep) -> bool:
    """Whether the beams of a sweep have times of their own."""
    return bool(len(sweep.beam_time) and np.ptp(sweep.beam_time) > _MIN_TIME_SPAN_S)


def compute_phase(sweep: Sweep, azimuth: Array) -> Array:
    """Where in the turn each beam fired, -½ to ½: by its time, else by azimuth with the seam behind.

    The azimuth of points whose motion was taken out is not that they were measured at: `RingMotion.measured_phase`.
    """
    if is_timed(sweep):
        return np.asarray((sweep.beam_time - sweep.beam_time.min()) / np.ptp(sweep.beam_time) - 0.5)
    return np.asarray(((azimuth + 180.0) % 360.0 - 180.0) / 360.0)


def _has_columns(sweep: Sweep) -> bool:
    """Whether columns are numbered, and not merely the points one after the other."""
    return len(np.unique(sweep.beam_column)) <= 0.5 * sweep.n_beams


def find_cells(azimuth: Array) -> Array:
    """Cell of azimuth (n,) that each angle falls into."""
    return np.asarray((azimuth * (CELLS / 360.0)).astype(np.int64) % CELLS)


def _find_free_cells(azimuths: list[Array], rings: list[Array], elevation: Array) -> Array:
    """Cells (k, 180) where a ring leaves the sensor.

    What carries a sensor hides its lower rings: where a lower one was seen, a higher one is free too, and
    returned nothing only because it hit nothing.
    """
    seen = np.zeros((len(elevation), CELLS), bool)
    for azimuth, ring in zip(azimuths, rings, strict=True):
        seen[ring, find_cells(azimuth)] = True
    seen |= np.roll(seen, 1, axis=1) & np.roll(seen, -1, axis=1)
    upwards = np.argsort(elevation, kind="stable")  # NaN last
    seen[upwards] = np.maximum.accumulate(seen[upwards], axis=0)
    return seen & np.isfinite(elevation)[:, None]


def _estimate_turning(
    times: list[Array], azimuths: list[Array], motions: list[RingMotion], log: Log | Sequence[Sweep]
) -> tuple[float | None, float]:
    """Seconds of a turn, if points have times, and its sense: +1 counter-clockwise, -1 clockwise, 0 unknown."""
    rates = []
    for time, azimuth in zip(times, azimuths, strict=True):
        if np.ptp(time) > _MIN_TIME_SPAN_S:
            order = np.argsort(time, kind="stable")
            few = order[:: max(1, len(order) // 200)]  # beams fired together differ by their lasers' offsets
            turned = np.unwrap(azimuth[few], period=360.0)
            since, ahead = time[few] - time[few].mean(), turned - turned.mean()
            rates.append(float((since * ahead).sum() / (since * since).sum()))
    if rates:
        rate = float(np.median(rates))
        return (360.0 / abs(rate) if rate else None), float(np.sign(rate))
    # Points of a drive were moved forward the more the later they were fired.
    poses = log.poses if isinstance(log, Log) else np.stack([sweep.pose for sweep in log])
    if len(poses) < 2:
        return None, 0.0
    ahead = portable.matmul(inverse(poses[0]), poses[-1])
    forward = sum(float(portable.matmul(move.terms[:3], ahead[:3, 3])) for move in motions if not move.is_still)
    return None, float(np.sign(forward)) if abs(forward) > _MIN_AGREEMENT_M2 else 0.0
