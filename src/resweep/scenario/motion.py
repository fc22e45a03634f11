"""How something moves: at rest, on waypoints with times, smooth curves and lanes at a speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator
from scipy.interpolate import CubicSpline

from resweep import portable
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.pose import Array
from resweep.quantities import MAX_ROWS, Angle, Coordinate, NotNegative

STEP_S = 0.1  # between the knots of a motion that is sampled
_SAMPLE_STEP_M = 0.05  # between the samples of a curve
_SECANT_M = 1.0  # half of the length over which the heading is taken: a car does not turn on the spot
_MIN_SPEED_MPS, _MAX_SPEED_MPS = 0.05, 340.0  # slower motions last without end, faster ones break the sound barrier
_MIN_STEP_M = 1e-3  # between points of a curve
_MAX_MOTION_S = 7200.0  # of waypoints or a curve, whose every 0.1 s is set on the ground
_MAX_PATH_M = 100_000.0  # of a curve, which has a sample each 5 cm; worlds are smaller

Row = Annotated[tuple[Coordinate, ...], Field(max_length=4)]
Rows = Annotated[tuple[Row, ...], Field(max_length=MAX_ROWS)]


@dataclass(frozen=True, eq=False)
class TimedPath:
    """Places over time, seconds from the start of the motion.

    ``times`` (n,) from 0; ``places`` (n, 3) metres in the world, z NaN where the ground decides; ``yaw`` (n,) radians.
    """

    times: Array
    places: Array
    yaw: Array

    @property
    def end(self) -> float:
        """Seconds that the motion lasts; 0 if it is stationary."""
        return float(self.times[-1])


class MotionSpec(Spec):
    """One of: ``at`` a place, ``waypoints`` with times, a ``spline`` through points, or a ``lane`` to follow.

    Points are ``[x, y]`` or ``[x, y, z]``, metres in the world; without z the ground decides. Rows of waypoints begin
    with their time, seconds. ``speed_mps`` is one speed or, for a spline, one at each point. ``yaw_deg`` replaces the
    heading, which otherwise is the direction of travel. ``begin_m`` is where along the lane to begin.
    """

    at: Row | None = None
    """A place to stand at, [x, y] or [x, y, z], metres in the world; without z the ground decides."""
    waypoints: Rows | None = None
    """Rows [t, x, y] or [t, x, y, z]: seconds, and metres in the world; straight between them."""
    spline: Rows | None = None
    """Points [x, y] or [x, y, z] of a smooth curve, metres; needs speed_mps."""
    lane: Rows | None = None
    """Points [x, y] or [x, y, z] of a line to follow, metres; needs speed_mps."""
    speed_mps: float | tuple[float, ...] | None = None
    """Speed along a spline or lane, metres a second: one, or one at each point."""
    begin_m: NotNegative = 0.0
    """Where along the spline or lane to begin, metres."""
    yaw_deg: Angle | None = None
    """Heading in place of the direction of travel, degrees counter-clockwise from x."""

    def kinds(self) -> list[str]:
        """The fields that give its motion, of which one is set."""
        return [name for name in ("at", "waypoints", "spline", "lane") if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _check_motion(self) -> MotionSpec:
        for name in ("waypoints", "spline", "lane"):
            rows = getattr(self, name)
            if rows is not None:
                self._check_rows(name, rows, 3 if name == "waypoints" else 2)
        if self.at is not None and len(self.at) not in (2, 3):
            self.refuse("at", f"expected [x, y] or [x, y, z], got {len(self.at)} numbers")
        if self.waypoints is not None:
            times = [row[0] for row in self.waypoints]
            for at, (before, after) in enumerate(pairwise(times), 1):
                if after <= before:
                    self.refuse(
                        f"waypoints[{at}]", f"time {after:g} s does not come after {before:g} s; times increase"
                    )
            self._check_duration("waypoints", times[-1] - times[0])
        self._check_speed()
        return self

    def _check_rows(self, name: str, rows: Sequence[Sequence[float]], length: int) -> None:
        what = "[t, x, y] or [t, x, y, z]" if length == 3 else "[x, y] or [x, y, z]"
        if len(rows) < 2:
            self.refuse(name, f"expected at least two points {what}, got {len(rows)}")
        for at, row in enumerate(rows):
            if len(row) not in (length, length + 1) or len(row) != len(rows[0]):
                self.refuse(f"{name}[{at}]", f"expected {what}, as the first row has it, got {len(row)} numbers")

    def _check_speed(self) -> None:
        curve = self.spline or self.lane
        if curve is None:
            if self.speed_mps is not None:
                self.refuse("speed_mps", "only a spline or a lane has a speed; waypoints have times")
            return
        if self.speed_mps is None:
            self.refuse("speed_mps", "missing; a spline or a lane needs it, metres a second")
        speeds = np.atleast_1d(np.asarray(self.speed_mps, float))
        if len(speeds) not in (1, len(curve)):
            self.refuse("speed_mps", f"expected one speed or {len(curve)}, one at each point, got {len(speeds)}")
        if (speeds < _MIN_SPEED_MPS).any():
            self.refuse("speed_mps", f"speeds must be at least {_MIN_SPEED_MPS} m/s, got {speeds.min():g}")
        if (speeds > _MAX_SPEED_MPS).any():
            self.refuse(
                "speed_mps", f"nothing on the ground is faster than {_MAX_SPEED_MPS:g} m/s, got {speeds.max():g}"
            )
        field = "lane" if self.spline is None else "spline"
        self._check_length(field, float(_measure_lengths(_to_points(curve))[-1]))

    def _check_length(self, field: str, length_m: float) -> None:
        if length_m > _MAX_PATH_M:
            self.refuse(field, f"is {length_m:,.0f} m long, {_MAX_PATH_M:,.0f} m at most; check the unit, or divide it")

    def _check_duration(self, field: str, duration_s: float) -> None:
        if duration_s > _MAX_MOTION_S:
            self.refuse(
                field, f"a motion of {duration_s:,.0f} s, {_MAX_MOTION_S:,.0f} s at most; give poses of a longer one"
            )

    def refuse(self, field: str, problem: str) -> None:
        """Raise an error that names the field, and the actor where there is one."""
        name = getattr(self, "name", "")
        raise SettingsError(field, f"actor '{name}': {problem}" if name else problem)

    def path(self) -> TimedPath:
        """The motion as places over time."""
        if self.at is not None:
            return TimedPath(np.zeros(1), _to_points([self.at]), np.array([np.radians(self.yaw_deg or 0.0)]))
        if self.waypoints is not None:
            rows = np.array(self.waypoints, float)
            times, points = rows[:, 0] - rows[0, 0], _to_points(rows[:, 1:])
            steps = np.union1d(np.arange(0, times[-1], STEP_S), times)
            return self._turned(steps, _interpolate(steps, times, points))
        curve = _to_points(self.spline or self.lane or ())
        if self.spline is not None:
            curve, share = _smooth(curve)
        else:
            share = np.arange(len(curve), dtype=float)
        length = _measure_lengths(curve)
        field = "lane" if self.spline is None else "spline"
        self._check_length(field, float(length[-1]))
        if length[-1] == 0.0:
            self.refuse(field, "all of its points are one place; give two that differ, or 'at' for what stands")
        if self.begin_m >= length[-1]:
            self.refuse("begin_m", f"{self.begin_m:g} m is beyond the end of the path, {length[-1]:.1f} m")
        speeds = np.atleast_1d(np.asarray(self.speed_mps, float))
        s = np.union1d(np.arange(self.begin_m, length[-1], _SAMPLE_STEP_M), length[-1])
        at_knot = np.interp(s, length, share)
        speed = np.interp(at_knot, np.linspace(0, share[-1], len(speeds)), speeds)
        pace = 2 * np.diff(s) / (speed[1:] + speed[:-1])
        when = np.concatenate([[0.0], np.cumsum(pace)])
        self._check_duration("speed_mps", float(when[-1]))
        steps = np.union1d(np.arange(0, when[-1], STEP_S), when[-1])
        return self._turned(steps, _interpolate(np.interp(steps, when, s), length, curve), curve)

    def _turned(self, times: Array, places: Array, line: Array | None = None) -> TimedPath:
        """The path with headings: along the line that it follows, or as given."""
        if self.yaw_deg is not None:
            return TimedPath(times, places, np.full(len(times), np.radians(self.yaw_deg)))
        if line is None:
            line, where = places, _measure_lengths(places)
        else:
            where = _measure_lengths(line)
            where = where[-1] - _measure_lengths(places)[-1] + _measure_lengths(places)
        length = _measure_lengths(line)
        ahead, behind = (_interpolate(np.clip(where + d, 0, length[-1]), length, line) for d in (_SECANT_M, -_SECANT_M))
        yaw = portable.arctan2(ahead[:, 1] - behind[:, 1], ahead[:, 0] - behind[:, 0])
        return TimedPath(times, places, np.unwrap(yaw))


def _to_points(rows: object) -> Array:
    """Points (n, 3) of rows with or without z, which is NaN then."""
    points = np.array(rows, float)
    return points if points.shape[1] == 3 else np.column_stack([points, np.full(len(points), np.nan)])


def _measure_lengths(line: Array) -> Array:
    """Metres along a line (n, 3) at its points, seen from above."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line[:, :2], axis=0), axis=1))])


def _interpolate(where: Array, knots: Array, values: Array) -> Array:
    """Rows (m, 3) between the rows ``values`` at ``knots``."""
    return np.stack([np.interp(where, knots, column) for column in values.T], axis=1)


def _smooth(points: Array) -> tuple[Array, Array]:
    """A cubic curve through points (n, 3), in samples, and how many points each of them is along."""
    chord = _measure_lengths(points)
    if (np.diff(chord) < _MIN_STEP_M).any():
        at = int(np.flatnonzero(np.diff(chord) < _MIN_STEP_M)[0]) + 1
        raise SettingsError(f"spline[{at}]", "is the same place as the point before; points must differ")
    fine = np.union1d(np.arange(0, chord[-1], _SAMPLE_STEP_M), chord)
    curve = np.full((len(fine), 3), np.nan)
    curve[:, :2] = CubicSpline(chord, points[:, :2], bc_type="natural" if len(points) > 2 else "not-a-knot")(fine)
    if np.isfinite(points[:, 2]).all():
        curve[:, 2] = CubicSpline(chord, points[:, 2], bc_type="natural" if len(points) > 2 else "not-a-knot")(fine)
    return curve, np.interp(fine, chord, np.arange(len(points), dtype=float))
