"""Resweep: record a place once with any LiDAR, sweep it again with any other."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Each public name and the module it lives in. Modules load on first use, so that the command line
# starts at once and a part of the package works without the libraries of another.
_PUBLIC = {
    "Actor": "resweep.scenario",
    "Asset": "resweep.scenario",
    "Bank": "resweep.scenario",
    "BeamStatus": "resweep.sweep",
    "HybridConfig": "resweep.build",
    "Instances": "resweep.worlds",
    "Log": "resweep.log",
    "Material": "resweep.worlds",
    "Mesh": "resweep.worlds",
    "MeshConfig": "resweep.build",
    "ResweepError": "resweep.errors",
    "Scenario": "resweep.scenario",
    "Sensor": "resweep.sensors",
    "Simulator": "resweep.simulate",
    "SplatConfig": "resweep.build",
    "Splats": "resweep.worlds",
    "SurfelConfig": "resweep.build",
    "Sweep": "resweep.sweep",
    "Trajectory": "resweep.pose",
    "VolumeConfig": "resweep.build",
    "Volumes": "resweep.worlds",
    "World": "resweep.worlds",
    "load_bank": "resweep.scenario",
    "load_scenario": "resweep.scenario",
    "load_sensor": "resweep.sensors",
    "load_world": "resweep.worlds",
    "open_log": "resweep.io",
    "read_poses": "resweep.io",
    "read_sweep": "resweep.io",
    "sensor_names": "resweep.sensors",
    "write_log": "resweep.io",
    "write_sweep": "resweep.io",
}
_SUBMODULES = ("build", "evaluate", "io", "pose", "scenario", "scenes", "sensors", "simulate", "viewer", "worlds")

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"resweep.{name}")
    raise AttributeError(f"module 'resweep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
