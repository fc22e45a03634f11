"""The facts in a scene's record for our reader, for which nuScenes has no fields (`NuScenesScene.facts`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep.config import validate
from resweep.errors import InputError
from resweep.pose import Array
from resweep.sensors import Sensor, load_sensor

SENSOR = "velodyne-hdl-32e"  # of nuScenes' own scans


@dataclass(frozen=True, eq=False)
class SceneFacts:
    """``T_world_global`` puts the scene where its log was; stored intensities are ``intensity_scale`` times its own."""

    sensor: Sensor | None
    sensor_name: str
    T_world_global: Array = field(default_factory=lambda: np.eye(4))
    intensity_scale: float = 1.0


def read_facts(data: Any, where: str) -> SceneFacts:
    """The facts in a scene's record; those of nuScenes itself where ``data`` is None. ``where`` names it in errors."""
    if data is None:
        return SceneFacts(load_sensor(SENSOR), SENSOR)
    try:
        T_world_global = np.eye(4)
        T_world_global[:2, 3] = np.array(data["origin_m"], float).reshape(2)
        scale, name, sensor = float(data["intensity_scale"]), str(data["sensor_name"]), data["sensor"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: damaged ({error}); write the log again") from error
    if not (1e-6 < scale < 1e6 and (np.abs(T_world_global) < 1e9).all()):
        raise InputError(f"{where}: damaged (origin_m or intensity_scale); write the log again")
    spec = None if sensor is None else validate(sensor, Sensor, f"{where}, sensor")
    return SceneFacts(spec, name, T_world_global, scale)
