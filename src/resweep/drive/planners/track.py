"""Tracks of obstacles: which is which from scan to scan, and how fast each moves.

Each of the four edges of a track is a Kalman filter of constant velocity; obstacles are assigned to tracks by the least
sum of distances (Kuhn's Hungarian method). The near edge is seen best: it shows how fast an obstacle moves along the
lane. What stands, and is hidden in part, seems to grow to a side as more of it is seen: one side moves, the other does
not. So what does not move along the lane moves across it only as the slower of its sides does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from pydantic import Field
from scipy.optimize import linear_sum_assignment

from resweep.config import Positive, Spec
from resweep.drive.planners.detect import Obstacle
from resweep.pose import Array


class TrackConfig(Spec):
    """How obstacles are followed."""

    gate_m: Positive = 3.0
    """An obstacle farther than this from where a track expects it is another, metres."""
    along_sigma_m: Positive = 0.35
    """Standard deviation of where the near and the far edge of an obstacle are found, metres."""
    across_sigma_m: Positive = 0.15
    """Standard deviation of where its right and its left edge are found, metres."""
    acceleration_sigma_mps2: Positive = 3.0
    """Standard deviation of what obstacles do, m/s²."""
    moving_mps: Positive = 1.5
    """What is faster than this along the lane, m/s, may turn: its side towards the lane shows how it moves across."""
    hits_min: int = Field(default=3, ge=2, le=1000)
    """Scans in which a track must be found before its velocity is believed; before it stands."""
    misses_max: int = Field(default=4, ge=1, le=1000)
    """Scans in a row without it after which a track ends."""


@dataclass
class ObstacleTrack:
    """An obstacle over time: its rectangle when last seen, and filters of its edges: near, far, right and left.

    ``mean`` (4, 2) has place and velocity of each edge, ``covariance`` (4, 2, 2).
    """

    obstacle: Obstacle
    time_s: float
    mean: Array
    covariance: Array = field(default_factory=lambda: np.stack([np.diag([0.25, 25.0])] * 4))
    hits: int = 1
    misses: int = 0

    def predict(self, time_s: float, acceleration: float) -> None:
        """Move on to a time."""
        step = time_s - self.time_s
        if step <= 0:
            return
        self.mean = np.stack([self.mean[:, 0] + step * self.mean[:, 1], self.mean[:, 1]], axis=1)
        p = self.covariance
        grown = p.copy()
        grown[:, 0, 0] = (
            p[:, 0, 0] + 2 * step * p[:, 0, 1] + step * step * p[:, 1, 1] + 0.25 * (acceleration * step**2) ** 2
        )
        grown[:, 0, 1] = grown[:, 1, 0] = p[:, 0, 1] + step * p[:, 1, 1] + 0.5 * acceleration**2 * step * step**2
        grown[:, 1, 1] = p[:, 1, 1] + (acceleration * step) ** 2
        self.covariance, self.time_s = grown, time_s

    def update(self, obstacle: Obstacle, sigma: Array) -> None:
        """Take in where it was found; ``sigma`` (4,) metres is how sure that is."""
        p = self.covariance
        gain = p[:, :, 0] / (p[:, 0, 0] + sigma**2)[:, None]
        self.mean = self.mean + gain * (_list_edges(obstacle) - self.mean[:, 0])[:, None]
        self.covariance = p - gain[:, :, None] * p[:, 0, None, :]
        self.obstacle, self.hits, self.misses = obstacle, self.hits + 1, 0

    @property
    def corner(self) -> tuple[float, float]:
        """Where its near corner is expected."""
        near, _, right, left = self.mean[:, 0].tolist()
        return near, right if abs(right) < abs(left) else left


class Tracker:
    """All tracks of a drive."""

    def __init__(self, config: TrackConfig) -> None:
        self.config = config
        self.tracks: list[ObstacleTrack] = []

    def update(self, obstacles: list[Obstacle], time_s: float) -> None:
        """Take in the obstacles of a scan."""
        settings = self.config
        for track in self.tracks:
            track.predict(time_s, settings.acceleration_sigma_mps2)
        corners = np.array([find_near_corner(obstacle) for obstacle in obstacles]).reshape(-1, 2)
        taken: set[int] = set()
        sigma = np.repeat([settings.along_sigma_m, settings.across_sigma_m], 2)
        if self.tracks and obstacles:
            expected = np.array([track.corner for track in self.tracks])
            apart = np.sqrt(((expected[:, None] - corners[None]) ** 2).sum(axis=-1))
            for row, column in zip(*linear_sum_assignment(np.minimum(apart, 10 * settings.gate_m)), strict=True):
                if apart[row, column] <= settings.gate_m:
                    self.tracks[row].update(obstacles[column], sigma)
                    taken.add(int(column))
        for track in self.tracks:
            if track.time_s == time_s and track.hits and track.obstacle not in obstacles:
                track.misses += 1
        self.tracks = [track for track in self.tracks if track.misses <= settings.misses_max]
        for at, obstacle in enumerate(obstacles):
            if at not in taken:
                self.tracks.append(
                    ObstacleTrack(obstacle, time_s, np.column_stack([_list_edges(obstacle), np.zeros(4)]))
                )

    def velocity(self, track: ObstacleTrack) -> tuple[float, float]:
        """Velocity of a track along and across the lane, m/s; zero until it is believed."""
        if track.hits < self.config.hits_min:
            return 0.0, 0.0
        near, _, right, left = track.mean[:, 1].tolist()
        if abs(near) < self.config.moving_mps:
            return near, 0.0 if right * left <= 0 else min(right, left, key=abs)
        low, high = track.obstacle.d
        return near, right if abs(low) < abs(high) else left


def _list_edges(obstacle: Obstacle) -> Array:
    return np.array([*obstacle.s, *obstacle.d])


def find_near_corner(obstacle: Obstacle) -> tuple[float, float]:
    """The corner of an obstacle that the vehicle sees best: its near end, and the side towards the lane's middle."""
    low, high = obstacle.d
    return obstacle.s[0], low if abs(low) < abs(high) else high
