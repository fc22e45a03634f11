"""A Gymnasium environment: drive to a goal in a world, by ranges around the vehicle.

``DriveEnv(loop)`` is an environment, and `make_vector` runs several of them, each in a process of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from resweep import portable
from resweep.config import Positive, Spec
from resweep.drive.episode import Episode
from resweep.drive.loop import Loop
from resweep.drive.sensing.observation import Observation, Scan
from resweep.errors import ResweepError
from resweep.optional import require
from resweep.pose import Array

gymnasium = require("gymnasium", "resweep.drive.gym")
_PIXELS = 200
_FAILURES = ("collision", "left-ground")


class EnvConfig(Spec):
    """What the agent sees of the LiDARs, and what it is paid for.

    The reward of a step is the progress towards the goal, metres, less what a second costs; the end adds its own.
    """

    sectors: int = Field(default=72, ge=4)
    """Directions around the vehicle for which the nearest obstacle is given."""
    range_m: Positive = 50.0
    """Ranges beyond this are given as this, metres."""
    low_m: float = 0.3
    """Returns lower than this above the vehicle's wheels are ground, metres."""
    high_m: float = 2.5
    """Returns higher than this pass above it, metres."""
    goal_reward: float = 100.0
    """Paid at the goal."""
    failure_reward: float = -100.0
    """Paid for a collision, or for leaving the ground."""
    second_reward: float = -0.1
    """Paid for each second."""


class DriveEnv(gymnasium.Env):  # type: ignore[misc,name-defined]
    """A `Loop` as an environment; the loop needs a goal, and at least one LiDAR.

    Actions (2,) from -1 to 1 span the vehicle's commands; what is beyond acts as the nearer end. An action of another
    shape or with NaN or infinity is a `ResweepError`, and the drive stays as it was. Observations are ``ranges``
    (sectors,), metres to the nearest return in each direction counter-clockwise from behind, and ``state``: speed, yaw
    rate, distance and bearing of the goal. Place and heading are as GPS and compass read them. ``reset(seed=...)``
    seeds the sensors.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, loop: Loop, config: EnvConfig | None = None, render_mode: str | None = None) -> None:
        if loop.config.goal is None or not loop.rig.lidars:
            raise ResweepError("environment: the loop needs a goal (LoopConfig.goal) and a LiDAR")
        if render_mode not in (None, "rgb_array"):
            raise ResweepError(f"environment: render_mode is None or 'rgb_array', got {render_mode!r}")
        self.loop, self.config, self.render_mode = loop, config or EnvConfig(), render_mode
        spaces = gymnasium.spaces
        settings = self.config
        low = np.array([-1e3, -1e2, 0.0, -math.pi], np.float32)
        high = np.array([1e3, 1e2, 1e6, math.pi], np.float32)
        self.observation_space = spaces.Dict(
            {
                "ranges": spaces.Box(0.0, settings.range_m, (settings.sectors,), np.float32),
                "state": spaces.Box(low, high, (4,), np.float32),
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._limits = loop.vehicle.command_limits
        self._episode: Episode | None = None
        self._ranges = np.full(settings.sectors, settings.range_m, np.float32)
        self._place, self._yaw, self._speed, self._rate = np.zeros(2), 0.0, 0.0, 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin a drive; a given seed fixes all that is random in it, without one the next of the sequence is drawn."""
        super().reset(seed=seed)
        self._episode = self.loop.with_seed(int(self.np_random.integers(2**31))).episode()
        x, y, self._yaw = self.loop.start
        self._place, self._speed, self._rate = np.array([x, y]), self.loop.speed_mps, 0.0
        self._ranges = np.full(self.config.sectors, self.config.range_m, np.float32)
        self._take(self._episode.begin())
        return self._observe(), {}

    def step(self, action: Array) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Drive on for one period; ResweepError for an action that is no two finite numbers."""
        if self._episode is None or self._episode.outcome:
            raise ResweepError("environment: the drive has ended or not begun; call reset()")
        low, high = self._limits
        share = (np.clip(_check_action(action), -1.0, 1.0) + 1.0) / 2.0
        command = low + share * (high - low)
        before = self._to_goal()
        self._take(self._episode.step((float(command[0]), float(command[1]))))
        outcome = str(self._episode.outcome)
        reward = before - self._to_goal() + self.config.second_reward / self.loop.config.control_hz
        reward += self.config.goal_reward if outcome == "goal" else 0.0
        reward += self.config.failure_reward if outcome in _FAILURES else 0.0
        info: dict[str, Any] = {"outcome": outcome, "time_s": self._episode.time_s} if outcome else {}
        return self._observe(), float(reward), outcome in ("goal", *_FAILURES), outcome == "time", info

    def render(self) -> Array | None:
        """The surroundings from above (200, 200, 3) uint8: obstacles white, the vehicle orange, the goal green."""
        if self.render_mode is None:
            return None
        image = np.full((_PIXELS, _PIXELS, 3), 24, np.uint8)
        scale = _PIXELS / (2.2 * self.config.range_m)
        angle = (np.arange(self.config.sectors) + 0.5) * 2 * math.pi / self.config.sectors - math.pi
        far = [math.cos(value) for value in angle.tolist()], [math.sin(value) for value in angle.tolist()]
        seen = self._ranges < self.config.range_m
        _draw_dot(
            image, self._ranges[seen] * np.array(far[0])[seen], self._ranges[seen] * np.array(far[1])[seen], scale, 235
        )
        distance, bearing = self._goal()
        reach = min(distance, self.config.range_m)
        _draw_dot(image, [reach * math.cos(bearing)], [reach * math.sin(bearing)], scale, (60, 200, 90))
        _draw_dot(image, [0.0], [0.0], scale, (240, 140, 30))
        return image

    def close(self) -> None:
        """Let go of the drive."""
        self._episode = None

    def _take(self, observation: Observation) -> None:
        """Keep the latest readings of the sensors."""
        if (place := observation.gps.last) is not None:
            self._place = place[:2]
        if (yaw := observation.compass.last) is not None:
            self._yaw = float(yaw[0])
        if (wheels := observation.odometry.last) is not None:
            self._speed, self._rate = float(wheels[0]), float(wheels[1])
        scans = [scan for scans in observation.scans.values() for scan in scans]
        if scans:
            settings = self.config
            places = np.concatenate([select_by_height(scan, settings.low_m, settings.high_m) for scan in scans])
            self._ranges = find_nearest_by_sector(places, settings.sectors, settings.range_m)

    def _goal(self) -> tuple[float, float]:
        """Distance and bearing of the goal."""
        assert self.loop.config.goal is not None
        x, y = np.array(self.loop.config.goal) - self._place
        bearing = math.atan2(y, x) - self._yaw
        return math.hypot(x, y), math.atan2(math.sin(bearing), math.cos(bearing))

    def _to_goal(self) -> float:
        """True distance to the goal, for the reward."""
        assert self._episode is not None
        assert self.loop.config.goal is not None
        x, y = self.loop.config.goal
        return math.hypot(x - self._episode.state.x, y - self._episode.state.y)

    def _observe(self) -> dict[str, Array]:
        distance, bearing = self._goal()
        state = np.array([self._speed, self._rate, distance, bearing], np.float32)
        space = self.observation_space["state"]
        return {"ranges": self._ranges.copy(), "state": np.clip(state, space.low, space.high)}


def _check_action(action: Any) -> Array:
    """An action as (2,) float64."""
    try:
        values = np.asarray(action, np.float64)
    except (TypeError, ValueError) as error:
        raise ResweepError(f"action: expected two numbers from -1 to 1, got {str(action)[:100]}") from error
    if values.shape != (2,):
        raise ResweepError(f"action: expected two numbers from -1 to 1, got an array of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ResweepError(f"action: expected two finite numbers from -1 to 1, got {values.tolist()}; check the policy")
    return values


def select_by_height(scan: Scan, low_m: float, high_m: float) -> Array:
    """Where (m, 2) the returns of a scan between two heights are in the vehicle's frame; most are lower or higher."""
    turn, at = scan.T_vehicle_sensor[:3, :3], scan.T_vehicle_sensor[:3, 3]
    x, y, z = scan.points.T
    height = x * turn[2, 0] + y * turn[2, 1] + z * turn[2, 2] + at[2]
    kept = scan.points[(height > low_m) & (height < high_m)]
    return np.asarray(np.einsum("ni,ji->nj", kept, turn[:2]) + at[:2])


def find_nearest_by_sector(places: Array, sectors: int, range_m: float) -> Array:
    """Distance (sectors,) float32 of the nearest place (n, 2) in each direction, counter-clockwise from behind."""
    angle = portable.arctan2(places[:, 1], places[:, 0]) + math.pi
    sector = np.minimum((angle * (sectors / (2 * math.pi))).astype(int), sectors - 1)
    nearest = np.full(sectors, range_m)
    np.minimum.at(nearest, sector, portable.norm(places))
    return nearest.astype(np.float32)


def make_vector(make: Callable[[], DriveEnv], count: int) -> Any:
    """Several environments at once, each in a process of its own: ``make`` is a function of a module.

    A vector of a single one runs here. Environments start afresh by themselves when a drive has ended.
    """
    if count < 1:
        raise ResweepError(f"environments: expected one or more, got {count}")
    return gymnasium.vector.AsyncVectorEnv([partial(make) for _ in range(count)], context="spawn")


def _draw_dot(image: Array, x: Any, y: Any, scale: float, colour: Any) -> None:
    """Draw squares of three pixels at places in the vehicle's frame; x forward is up."""
    half = len(image) // 2
    row = np.rint(half - np.asarray(x) * scale).astype(int)
    column = np.rint(half - np.asarray(y) * scale).astype(int)
    for down in (-1, 0, 1):
        for across in (-1, 0, 1):
            rows, columns = np.clip(row + down, 0, len(image) - 1), np.clip(column + across, 0, len(image) - 1)
            image[rows, columns] = colour
