"""A reference stack for roads: it detects and tracks obstacles, predicts them, and samples motions that avoid them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from resweep.config import NotNegative, Positive, Spec
from resweep.drive.lane import Lane
from resweep.drive.planners.detect import DetectConfig, Obstacle, find_above_ground, find_obstacles
from resweep.drive.planners.follow import pursue
from resweep.drive.planners.localize import Localizer
from resweep.drive.planners.track import TrackConfig, Tracker
from resweep.drive.sensing.observation import Mission, Observation, Scan
from resweep.drive.vehicles import Vehicle
from resweep.errors import ResweepError
from resweep.pose import Array


class AvoiderConfig(Spec):
    """The reference stack's parts."""

    detect: DetectConfig = DetectConfig()
    """How obstacles are found."""
    track: TrackConfig = TrackConfig()
    """How obstacles are followed."""
    seen_ahead_m: Positive = 70.0
    """Obstacles are looked for so far ahead along the lane, metres."""
    seen_behind_m: Positive = 12.0
    """And so far behind the vehicle's origin, metres: what passes is not cut short."""
    seen_aside_m: Positive = 4.7
    """And so far to either side, metres."""
    horizon_s: Positive = 4.0
    """Motions are judged so far into the future, seconds."""
    step_s: Positive = 0.2
    """Between two moments that are judged, seconds."""
    offsets_m: tuple[float, ...] = (0.0, -0.2, 0.2, -0.5, 0.5)
    """Places beside the middle of the lane that motions may lead to, metres to the left; the first is home."""
    accelerations_mps2: tuple[float, ...] = (1.5, 0.5, 0.0, -1.0, -2.0, -3.5, -5.0)
    """Accelerations that are tried, m/s²."""
    margin_m: NotNegative = 1.5
    """Kept free before the vehicle, metres."""
    side_margin_m: NotNegative = 0.1
    """Kept free beside the vehicle, metres; lanes beside parked cars leave little."""
    slow_mps: NotNegative = 0.5
    """Obstacles that seem to move slower than this across the lane are predicted as if they did not."""
    gap_s: NotNegative = 0.4
    """Seconds of driving that are kept free ahead of the vehicle."""
    ahead_s: Positive = 1.0
    """The wheel is turned towards where the motion is after this time, seconds."""
    comfort_weight: NotNegative = 0.15
    """Price of the square of an acceleration."""
    aside_weight: NotNegative = 0.6
    """Price of the square of a metre beside the middle of the lane."""
    drift_mps2: NotNegative = 1.5
    """Acceleration across the lane that others may take without warning, m/s²; what they can reach is passed slowly."""
    moving_mps: Positive = 1.0
    """Obstacles faster than this along the lane may do so."""
    passing_mps: NotNegative = 4.0
    """Once the vehicle is as slow as this, m/s, it need not be slower to pass others: it stops within its length."""
    caution_weight: NotNegative = 1.5
    """Price of each m/s at which something is passed that may drift into the way."""
    speed_min_mps: NotNegative = Field(default=0.0)
    """Lower desired speeds are taken as this."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Motions to choose from: (c, t) along and across the lane at moments (t,), and what each costs (c,)."""

    times: Array
    s: Array
    d: Array
    speed: Array
    acceleration: Array
    offset: Array
    cost: Array


class Avoider:
    """An autonomy for bicycles that follows the mission's route to its end, and brakes or evades for what it detects.

    At each step it samples motions (an acceleration, and a place across the lane), predicts all tracks at constant
    velocity, and takes the cheapest motion without a collision. Where every motion collides it brakes as hard
    as it can: ``emergencies`` counts such steps.
    """

    def __init__(self, config: AvoiderConfig | None = None) -> None:
        self.config = config or AvoiderConfig()

    def reset(self, mission: Mission) -> None:
        """Begin a mission."""
        if mission.vehicle.model == "skid-steer":
            raise ResweepError(f"avoider: drives bicycles, '{mission.vehicle.name}' is none")
        self.vehicle: Vehicle = mission.vehicle
        self.desired_mps = max(mission.speed_mps, self.config.speed_min_mps)
        self.lane = Lane(mission.route)
        self.localizer = Localizer(mission)
        self.tracker = Tracker(self.config.track)
        self.emergencies = 0

    def step(self, observation: Observation) -> tuple[float, float]:
        """Perceive, predict and plan."""
        self.localizer.update(observation)
        for scans in observation.scans.values():
            for scan in scans:
                self.tracker.update(self._detect(scan), scan.end_s)
        s, d = (float(value[0]) for value in self.lane.project(np.array([self.localizer.pose[:2]])))
        motions = self._sample(s, d)
        free, passing = self._check_clearance(motions, observation.time_s)
        if not free.any():
            self.emergencies += 1
            home = int(np.flatnonzero(motions.acceleration == motions.acceleration.min())[0])
            return (-self.vehicle.braking_max_mps2, self._steer(motions, home))
        cost = motions.cost + self.config.caution_weight * passing
        best = int(np.where(free, cost, np.inf).argmin())
        return (float(motions.acceleration[best]), self._steer(motions, best))

    def _detect(self, scan: Scan) -> list[Obstacle]:
        """Obstacles on and beside the lane ahead."""
        settings, here = self.config, self.localizer.pose[:2]
        points = self.localizer.register(scan)
        s, d = self.lane.project(points[:, :2])
        along = s - float(self.lane.project(np.array([here]))[0][0])
        # The ground is looked for a little beyond, so that the cells at the border have neighbours.
        beyond = 2.0 * settings.detect.ground_cell_m
        wide = (along > -settings.seen_behind_m - beyond) & (along < settings.seen_ahead_m + beyond)
        rows = np.flatnonzero(wide & (np.abs(d) < settings.seen_aside_m + beyond))
        rows = rows[find_above_ground(points[rows], here, settings.detect)]
        s, d, along = s[rows], d[rows], along[rows]
        kept = (along > -settings.seen_behind_m) & (along < settings.seen_ahead_m) & (np.abs(d) < settings.seen_aside_m)
        return find_obstacles(s[kept], d[kept], settings.detect)

    def _sample(self, s: float, d: float) -> Candidates:
        settings, speed = self.config, max(self.localizer.speed, 0.0)
        times = np.arange(1, round(settings.horizon_s / settings.step_s) + 1) * settings.step_s
        grid = [(a, o) for o in settings.offsets_m for a in settings.accelerations_mps2]
        a, offset = (np.array(column)[:, None] for column in zip(*grid, strict=True))
        a = np.clip(a, -self.vehicle.braking_max_mps2, self.vehicle.acceleration_max_mps2)
        # Speeds end at zero, or at the desired speed.
        target = np.where(a > 0, max(self.desired_mps, speed), 0.0)
        until = np.where(a != 0, np.abs(target - speed) / np.maximum(np.abs(a), 1e-9), np.inf)
        ramp = np.minimum(times, until)
        along = s + speed * ramp + 0.5 * a * ramp**2 + np.where(times > until, target, 0.0) * (times - ramp)
        final = np.where(times > until, target, speed + a * ramp)
        blend = np.clip((along - s) / np.maximum(2.0 * speed, 4.0), 0.0, 1.0)
        across = d + (offset - d) * blend * blend * (3.0 - 2.0 * blend)
        slow = np.maximum(0.0, self.desired_mps - final).mean(axis=1)
        cost = slow + settings.comfort_weight * a[:, 0] ** 2
        cost = cost + settings.aside_weight * offset[:, 0] ** 2 + np.maximum(0.0, final[:, -1] - self.desired_mps)
        return Candidates(times, along, across, final, a[:, 0], offset[:, 0], cost)

    def _check_clearance(self, motions: Candidates, now_s: float) -> tuple[Array, Array]:
        """Whether each motion (c,) stays clear of every predicted obstacle, and how fast it passes what may drift, m/s.

        That is 0 where the vehicle is slow already, and stays so.
        """
        settings, here = self.config, float(motions.s[0, 0])
        # The route's end is where it stops, unless it is too late for that: beyond it may be no road.
        last = max(self.lane.length_m, float(motions.s[:, -1].min()))
        free: Array = np.asarray((motions.s <= last).all(axis=1))
        passing = np.zeros(len(free))
        for track in self.tracker.tracks:
            along, across = self.tracker.velocity(track)
            if track.obstacle.s[1] < here - 2.0 and along <= 0:
                continue
            across = across if abs(across) > settings.slow_mps else 0.0
            later = motions.times + (now_s - track.time_s)
            low, high = (track.obstacle.s[side] + along * later for side in (0, 1))
            right, left = (track.obstacle.d[side] + across * later for side in (0, 1))
            beside = self._overlap_along(motions, low, high)
            free &= ~(beside & self._overlap_across(motions, right, left)).any(axis=1)
            if abs(along) > settings.moving_mps:
                drift = 0.5 * settings.drift_mps2 * later**2
                near = beside & self._overlap_across(motions, right - drift, left + drift)
                passing = np.maximum(passing, np.where(near, motions.speed, 0.0).max(axis=1))
        if self.localizer.speed <= settings.passing_mps:
            passing = np.where(passing <= settings.passing_mps, 0.0, passing)
        return free, passing

    def _overlap_along(self, motions: Candidates, low: Array, high: Array) -> Array:
        box, settings = self.vehicle.box, self.config
        front = motions.s + box[1, 0] + settings.margin_m + settings.gap_s * motions.speed
        return np.asarray((motions.s + box[0, 0] < high) & (front > low))

    def _overlap_across(self, motions: Candidates, right: Array, left: Array) -> Array:
        half = 0.5 * self.vehicle.width_m + self.config.side_margin_m
        return np.asarray((motions.d - half < left) & (motions.d + half > right))

    def _steer(self, motions: Candidates, chosen: int) -> float:
        """The steering angle towards where a motion is soon."""
        at = int(np.searchsorted(motions.times, self.config.ahead_s))
        s = max(float(motions.s[chosen, at]), float(motions.s[chosen, 0]) + 3.0)
        curvature, _ = pursue(self.localizer.pose, self.lane.place(s, float(motions.d[chosen, at])))
        return math.atan(self.vehicle.wheelbase_m * curvature)
