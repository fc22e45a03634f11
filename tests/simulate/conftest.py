"""Plain sensors and walls, whose measurements can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from resweep.sensors import Sensor
from resweep.worlds import Mesh

MakeSensor = Callable[..., Sensor]
MakeWall = Callable[..., Mesh]


@pytest.fixture(scope="session")
def make_sensor() -> MakeSensor:
    """Make a sensor of one ray a pulse and no noise, with fields changed by their dotted names."""

    def make(elevation_deg: tuple[float, ...] = (-10.0, 0.0, 10.0), step_deg: float = 1.0, **changes: Any) -> Sensor:
        spec = {
            "name": "plain",
            "range_max_m": 100.0,
            "wavelength_nm": 905,
            "rotation_rate_hz": 10,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": step_deg,
                "direction": "counterclockwise",
                "channels": {"elevation_deg": elevation_deg},
            },
            "beam": {"divergence_h_rad": 0.003, "divergence_v_rad": 0.003, "rays": "single"},
            "receiver": {"mode": "strongest"},
        }
        plain = Sensor.model_validate(spec)
        return plain.with_(**{key.replace("__", "."): value for key, value in changes.items()})

    return make


@pytest.fixture(scope="session")
def make_wall() -> MakeWall:
    """Make a wall across x, of two triangles, from y and z to y and z."""

    def make(
        x: float = 10.0,
        y: tuple[float, float] = (-500.0, 500.0),
        z: tuple[float, float] = (-500.0, 500.0),
        **attributes: Any,
    ) -> Mesh:
        vertices = np.array([[x, y[0], z[0]], [x, y[1], z[0]], [x, y[1], z[1]], [x, y[0], z[1]]])
        return Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), **attributes)

    return make
