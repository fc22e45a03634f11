"""Paper B's navigator (3.5.3): scans registered by GPS and compass into a cost map, A* over it, and a path follower."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from resweep.config import NotNegative, Positive, Spec
from resweep.drive.command import GiveUp
from resweep.drive.planners.astar import find_path, inflate
from resweep.drive.planners.costmap import LETHAL, CostMap, CostMapConfig
from resweep.drive.planners.follow import find_ahead, pursue
from resweep.drive.planners.localize import Localizer
from resweep.drive.sensing.observation import Mission, Observation
from resweep.errors import ResweepError
from resweep.pose import Array


class NavigatorConfig(Spec):
    """The navigator's map, planner and follower; B gives the map, the rest is chosen here."""

    map: CostMapConfig = CostMapConfig()
    """The cost map."""
    weight: NotNegative = 4.0
    """How much a cell of nearly lethal cost costs more than a free one: the price of a step is 1 + weight c / 100."""
    margin_m: NotNegative = 0.5
    """Kept free around obstacles beyond half of the vehicle's width, metres."""
    replan_s: Positive = 1.0
    """Seconds between two plans."""
    ahead_m: Positive = 3.0
    """How far ahead along the path the follower aims, metres."""
    points_min: int = Field(default=1, ge=1)
    """Returns that a cell needs before it may block."""
    patience: int = Field(default=5, ge=1)
    """Plans in a row without a path before it gives up."""


class Navigator:
    """An autonomy that drives a skid-steer vehicle to the mission's goal, over what its LiDARs have shown so far."""

    def __init__(self, config: NavigatorConfig | None = None) -> None:
        self.config = config or NavigatorConfig()

    def reset(self, mission: Mission) -> None:
        """Begin a mission."""
        if mission.goal is None:
            raise ResweepError("navigator: the mission has no goal; give LoopConfig.goal")
        if mission.vehicle.model != "skid-steer":
            raise ResweepError(f"navigator: drives skid-steer vehicles, '{mission.vehicle.name}' is none")
        self.mission, self.goal = mission, mission.goal
        self.localizer = Localizer(mission)
        middle = (0.5 * (mission.start[0] + self.goal[0]), 0.5 * (mission.start[1] + self.goal[1]))
        self.map = CostMap(self.config.map, middle)
        self.path: Array | None = None
        self._planned_s, self._failures = -math.inf, 0

    def step(self, observation: Observation) -> tuple[float, float]:
        """Take in the scans, plan if a plan is due, and follow the path."""
        self.localizer.update(observation)
        for scans in observation.scans.values():
            for scan in scans:
                self.map.add(self.localizer.register(scan))
        if observation.time_s - self._planned_s >= self.config.replan_s - 1e-9:
            self._plan(observation.time_s)
        if self.path is None:
            return (0.0, 0.0)
        return self._follow(self.path)

    def compute_costs(self) -> Array:
        """What a step in each cell costs; infinity where the vehicle does not pass."""
        settings = self.config
        solid = (self.map.cost >= LETHAL) & (self.map.seen >= settings.points_min)
        radius = (0.5 * self.mission.vehicle.width_m + settings.margin_m) / settings.map.cell_m
        costs = 1.0 + settings.weight * self.map.cost / LETHAL
        costs[inflate(solid, radius)] = np.inf
        return costs

    def _plan(self, time_s: float) -> None:
        self._planned_s = time_s
        cells, inside = self.map.find_cells(np.array([self.localizer.pose[:2], self.goal]))
        if len(inside) < 2:
            raise GiveUp("the goal or the vehicle lies outside of the cost map")
        start, goal = (tuple(map(int, cell)) for cell in cells)
        costs = self.compute_costs()
        # The vehicle stands where it stands, whatever a noisy return shows.
        around = np.ix_(*(range(max(0, at - 2), min(len(costs), at + 3)) for at in start))
        costs[around] = np.minimum(costs[around], 1.0 + self.config.weight)
        found = find_path(costs, (start[0], start[1]), (goal[0], goal[1]))
        if found is None:
            self._failures += 1
            self.path = None
            if self._failures >= self.config.patience:
                raise GiveUp(f"no path to the goal in {self._failures} plans")
            return
        self._failures = 0
        places = self.map.centre_of(np.array(found[0]))
        places[-1] = self.goal
        self.path = places if len(places) > 1 else np.stack([np.array(self.localizer.pose[:2]), places[0]])

    def _follow(self, path: Array) -> tuple[float, float]:
        target = find_ahead(path, self.localizer.pose[:2], self.config.ahead_m)
        curvature, bearing = pursue(self.localizer.pose, target)
        vehicle = self.mission.vehicle
        limit = float(vehicle.yaw_rate_max_radps or 0.0)
        if abs(bearing) > 1.0:  # it turns on the spot first
            return (0.0, math.copysign(0.8 * limit, bearing))
        speed = vehicle.speed_max_mps
        if abs(curvature) * speed > limit:
            speed = limit / abs(curvature)
        return (speed, curvature * speed)
