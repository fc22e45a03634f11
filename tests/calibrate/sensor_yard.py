"""A yard of walls of many brightnesses, and a sensor with laser errors and noise of its own that drives through it."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sensors import Detection, Sensor
from resweep.simulate import Simulator
from resweep.worlds import Mesh, World

RINGS, STEP_DEG = 16, 0.5
CURVE = Detection(signal=(0.0, 0.03, 0.1, 0.4), probability=(0.0, 0.35, 0.8, 1.0))
_ORDER = np.random.default_rng(8)
BIAS_M = tuple(float(value) for value in np.round(_ORDER.normal(scale=0.02, size=RINGS), 3))
GAIN = tuple(float(value) for value in np.round(np.exp(_ORDER.normal(scale=0.25, size=RINGS)), 3))


def make_sensor(**changes: Any) -> Sensor:
    """A spinning sensor of 16 rings without laser errors and noise, with fields changed by their dotted names."""
    plain = Sensor.model_validate(
        {
            "name": "yard",
            "range_max_m": 80.0,
            "rotation_rate_hz": 10,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": STEP_DEG,
                "channels": {"elevation_min_deg": -20.0, "elevation_max_deg": 10.0, "elevation_resolution_deg": 2.0},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest"},
        }
    )
    return plain.with_(**{key.replace("__", "."): value for key, value in changes.items()})


def make_yard() -> World:
    """Ground, and walls 2 to 45 m away in panels of many reflectances, some of them turned."""
    parts = [_panel((0, 0, -1.8), (60, 0, 0), (0, 60, 0), 0.3)]
    rng = np.random.default_rng(3)
    for distance, turns in ((4.0, 4), (7.5, 5), (14.0, 9), (24.0, 11), (40.0, 13)):
        for at in range(turns):
            angle = 2 * np.pi * (at + 0.5 * (distance > 10)) / turns
            towards = np.array([np.cos(angle), np.sin(angle), 0.0])
            turn = angle + np.pi / 2 + rng.uniform(-0.9, 0.9)
            along = np.array([np.cos(turn), np.sin(turn), 0.0]) * distance * 0.22
            parts.append(_panel(towards * distance, along, (0, 0, 6.0), float(rng.uniform(0.03, 0.9))))
    parts.append(_panel((0.0, 1.1, 0.0), (4.0, 0, 0), (0, 0, 0.35), 0.8))  # near enough to hide in the smallest range
    return World(parts)


def _panel(centre: Any, along: Any, up: Any, reflectance: float) -> Mesh:
    middle, a, b = (np.asarray(vector, float) for vector in (centre, along, up))
    corners = np.array([middle - a - b, middle + a - b, middle + a + b, middle - a + b])
    return Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), reflectance=reflectance)


def drive(sensor: Sensor, sweeps: int = 10, step_m: float = 0.25, seed: int = 4) -> Log:
    """Sweeps from poses ``step_m`` apart along x, in turns."""
    poses = np.stack([from_xyz_rpy(step_m * at, 0.1 * (at % 3), 0.05 * (at % 2), yaw=0.1 * at) for at in range(sweeps)])
    return Simulator(make_yard(), sensor, seed=seed).run(poses)


def make_fence() -> World:
    """Thin posts 8 m away all around, before walls that recede from them: second returns at gaps of all sizes."""
    parts = []
    for at in range(97):
        angle = 2 * np.pi * at / 97
        towards, aside = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])
        parts.append(_panel(towards * 8.0, aside * 0.03, (0, 0, 4.0), 0.5))
    for at in range(8):
        angle = 2 * np.pi * at / 8
        towards, aside = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])
        parts.append(_panel(towards * 10.5, aside * 4.5 + towards * 2.4, (0, 0, 6.0), 0.5))
    return World(parts)
