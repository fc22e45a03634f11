"""The cases of a safety test: a scenario with its parameters, in a world.

``hidden-car`` is D's safety test (5.5, Figure 11): a car that a bus hides turns into the ego's lane. Its cases are a
grid over the ego's speed and the time at which the car turns, in several streets, at several places along them, with
other traffic in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.scenario import Scenario, load_scenario
from resweep.scenario.scenario import SCENARIOS
from resweep.scenes.opening import open_world
from resweep.scenes.street import StreetConfig, street
from resweep.worlds import World

SPEEDS_MPS = (6.0, 16.0)
TRIGGERS_S = (0.0, 3.6)
STREETS = 5
PLACE = "hidden-car:street"  # its streets, by the seed: 11 m wide, so that lanes of 3.4 m are left between parked cars
_ROAD_M, _LENGTH_M = 11.0, 220.0
_LANE_Y = -1.7
_ONCOMING_Y = 1.7
_DURATION_S = 12.0
_HIDDEN = "turning car"


@dataclass(frozen=True)
class Case:
    """One case: its number, the world's name and seed, the scenario as plain data, and what makes it this one.

    ``watched`` is the actor that it is about: distances to it are reported beside those to any.
    """

    number: int
    world: str
    world_seed: int
    scenario: dict[str, Any]
    parameters: dict[str, float]
    watched: str = ""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.number:04d}"


def list_cases(scenario: str, count: int, world: str = "", seed: int = 0) -> list[Case]:
    """The cases of a scenario: D's grid for ``hidden-car``, else variants by the scenario's own ``vary_`` ranges."""
    if count < 1:
        raise ResweepError(f"variants: expected one or more, got {count}")
    if scenario == "hidden-car" and not world:
        return [make_hidden_car(at, speed, trigger, seed) for at, (speed, trigger) in enumerate(spread_cases(count))]
    base = find_scenario(scenario)
    if not world:
        raise ResweepError(f"world: scenario '{scenario}' needs one to drive in; give a path, or such as scene:street")
    return [
        Case(at, world, seed, base.variant(at).model_dump(mode="json", exclude_unset=True), {"variant": float(at)})
        for at in range(count)
    ]


def find_scenario(name: str) -> Scenario:
    """The scenario of a file, or of a name."""
    if name not in SCENARIOS and not Path(name).exists():
        raise ResweepError(f"scenario '{name}': no such file, and no scenario; {nearest_names(name, SCENARIOS)}")
    return load_scenario(name)


def open_place(name: str, seed: int) -> World:
    """The world of a case: one of the hidden car's streets, or the one that `open_world` opens."""
    return street(seed, StreetConfig(road_m=_ROAD_M, length_m=_LENGTH_M)) if name == PLACE else open_world(name, seed)


def spread_cases(count: int) -> list[tuple[float, float]]:
    """Speeds and trigger times of ``count`` cases, spread evenly: 110 of them are 11 speeds times 10 times."""
    triggers = max(1, math.isqrt(count))
    speeds = math.ceil(count / triggers)
    rows = [
        (float(speed), float(trigger))
        for speed in np.linspace(*SPEEDS_MPS, speeds)
        for trigger in np.linspace(*TRIGGERS_S, triggers)
    ]
    return rows[:count]


def make_hidden_car(number: int, speed_mps: float, trigger_s: float, seed: int = 0) -> Case:
    """A case of D's safety test; places and traffic are drawn by its number."""
    rng = np.random.default_rng([seed, number, 0x68696464])
    place, shift = int(rng.integers(STREETS)), float(rng.uniform(-4.0, 4.0))
    begin, bus_mps = -54.0 + max(shift, 0.0), float(rng.uniform(6.0, 8.0))
    size = float(rng.uniform(3.9, 4.7))
    actors: list[dict[str, Any]] = [
        {
            "name": "bus",
            "asset": "bus",
            "lane": [[34.0 + shift, _ONCOMING_Y], [-52.0, _ONCOMING_Y]],
            "speed_mps": bus_mps,
            "start_s": max(0.0, trigger_s - 0.4),
            "after": "leave",
            "allow_overlap": True,
        },
        {
            "name": _HIDDEN,
            "category": "car",
            "size_m": [size, 1.8, 1.5],
            "spline": [
                [46.0 + shift, _ONCOMING_Y],
                [38.0 + shift, _ONCOMING_Y],
                [31.0 + shift, 0.9],
                [25.0 + shift, -0.9],
                [20.0 + shift, _LANE_Y],
            ],
            "speed_mps": [6.0, 6.0, 4.5, 3.5, 1.5],
            "start_s": trigger_s,
            "allow_overlap": True,
        },
    ]
    if rng.random() < 0.5:  # a car that follows in the oncoming lane, and stays there
        lane = [[55.0, _ONCOMING_Y], [48.0 + shift, _ONCOMING_Y]]
        actors.append(
            {"name": "follower", "asset": "hatchback", "lane": lane, "speed_mps": 3.0, "allow_overlap": True,
             "start_s": trigger_s + 2.5}
        )  # fmt: skip
    if rng.random() < 0.5:  # someone on the pavement
        x = float(rng.uniform(-20.0, 20.0))
        walk = [[x, -7.2], [x + 15.0, -7.2]]
        actors.append({"name": "walker", "asset": "pedestrian", "lane": walk, "speed_mps": 1.4, "allow_overlap": True})
    scenario: dict[str, Any] = {
        "name": "hidden-car",
        "duration_s": _DURATION_S,
        "ego": {"lane": [[begin, _LANE_Y], [104.0, _LANE_Y]], "speed_mps": speed_mps},
        "actors": actors,
        "seed": number,
    }
    Scenario(**scenario)  # wrong parameters are found now
    parameters = {"speed_mps": speed_mps, "trigger_s": trigger_s, "street": float(place), "shift_m": shift}
    return Case(number, PLACE, place, scenario, parameters, _HIDDEN)
