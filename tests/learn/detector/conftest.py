"""An empty plane with boxes on it, and settings that learn to find them in seconds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.learn.detector import DetectorConfig
from resweep.log import Log
from resweep.sweep import Sweep

SIZE = np.array([4.0, 1.7, 1.5])
GROUND_M = -1.7


def make_sweep(seed: int, cars: int = 4) -> Sweep:
    """A plane of 25 m with cars in directions apart from each other."""
    rng = np.random.default_rng(seed)
    side = np.arange(-12.5, 12.5, 0.45)
    flat = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    points, centres, yaws = [np.column_stack([flat, np.full(len(flat), GROUND_M)])], [], []
    for number in range(cars):
        angle, away, yaw = (
            2 * math.pi * (number + rng.uniform(0.1, 0.6)) / cars,
            rng.uniform(4.5, 9),
            rng.uniform(0, math.pi),
        )
        centre = np.array([away * math.cos(angle), away * math.sin(angle), GROUND_M + SIZE[2] / 2])
        turn = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
        local = rng.uniform(-0.5, 0.5, (250, 3))
        local[np.arange(250), rng.integers(0, 3, 250)] = rng.choice([-0.5, 0.5], 250)
        points.append(local * SIZE @ turn.T + centre)
        centres.append(centre)
        yaws.append(yaw)
    boxes = Boxes(
        np.reshape(centres, (-1, 3)), np.tile(SIZE, (cars, 1)), np.array(yaws), ["Car"] * cars, np.arange(cars)
    )
    cloud = np.concatenate(points)
    return Sweep.from_points(cloud, intensity=rng.random(len(cloud)), timestamp=0.1 * seed, boxes=boxes)


def make_log(name: str, seeds: range, cars: int = 4) -> Log:
    return Log.from_sweeps([make_sweep(seed, cars) for seed in seeds], name)


@pytest.fixture(scope="session")
def plane() -> Log:
    return make_log("plane", range(6))


@pytest.fixture(scope="session")
def other_plane() -> Log:
    return make_log("other plane", range(20, 23))


@pytest.fixture(scope="session")
def tiny() -> DetectorConfig:
    return DetectorConfig.model_validate(
        {
            "grid": {"reach_x_m": 12.0, "reach_y_m": 12.0, "cell_m": 0.3},
            "network": {"width": 8, "blocks": 1, "features": 16},
            "augment": {"paste": 1},
            "rounds": 2,
            "steps": 60,
            "batch": 3,
            "crop_cells": 80,
            "rate": 0.015,
        }
    )
