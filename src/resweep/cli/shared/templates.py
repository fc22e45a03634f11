"""The examples that commands print as templates: a sensor, a scenario and a plan that work as they are."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from resweep.errors import ResweepError
from resweep.files.strict_json import format_json

SENSOR: dict[str, Any] = {
    "name": "my-lidar",
    "title": "A spinning LiDAR of 16 channels",
    "range_min_m": 0.5,
    "range_max_m": 100.0,
    "rotation_rate_hz": 10.0,
    "pattern": {
        "kind": "spinning",
        "azimuth_resolution_deg": 0.2,
        "direction": "clockwise",
        "channels": {"elevation_min_deg": -15.0, "elevation_max_deg": 15.0, "elevation_resolution_deg": 2.0},
    },
    "beam": {"spot": "circular", "divergence_h_rad": 0.003, "divergence_v_rad": 0.003, "rays": "nine"},
    "receiver": {"mode": "strongest", "range_noise_sigma_m": 0.02, "range_quantisation_m": 0.002},
}

SCENARIO: dict[str, Any] = {
    "name": "my-scenario",
    "ego": {"lane": [[-40, -1.3], [40, -1.3]], "speed_mps": 8.0, "height_m": 1.73},
    "actors": [
        {"name": "oncoming", "category": "car", "lane": [[30, 1.3], [-40, 1.3]], "speed_mps": 10.0, "start_s": 0.5},
    ],
    "duration_s": 3.0,
}

PLAN: dict[str, Any] = {
    "name": "my-dataset",
    "layout": "semantickitti",
    "worlds": ["scene:street"],
    "sensors": [{"name": "velodyne-vlp-16", "set": {"beam.rays": "single"}, "offset_m": [0.0, 0.0, 0.0]}],
    "scenarios": ["hidden-car", SCENARIO],
    "variants": 2,
    "sweeps": 3,
    "seed": 0,
}

SENSOR_TITLE = """A sensor, to be changed. Use it as: resweep simulate scene:street -s my-lidar.yaml -p 0,0,2 -o out
Every field is explained above it; those that begin with # are left out and have the value that is shown.
Other patterns (two-block, rosette, raster): docs/sensor.md, or resweep sensors livox-avia."""
SCENARIO_TITLE = """A scenario, to be changed. Check it with: resweep scenario my-scenario.yaml
Use it as: resweep simulate scene:street -s velodyne-vlp-16 --scenario my-scenario.yaml -o out
Every field is explained above it; those that begin with # are left out and have the value that is shown."""
PLAN_TITLE = """A plan of a dataset, to be changed. Use it as: resweep dataset my-plan.yaml -o out
Every field is explained above it; those that begin with # are left out and have the value that is shown."""


# By what a command reads: the room and the name of its model, an example, and what stands above it.
_MODELS = {
    "sensor": ("resweep.sensors", "Sensor", SENSOR, SENSOR_TITLE),
    "scenario": ("resweep.scenario", "Scenario", SCENARIO, SCENARIO_TITLE),
    "plan": ("resweep.dataset", "DatasetPlan", PLAN, PLAN_TITLE),
}


def print_settings(what: str, template: bool, schema: bool, given: bool) -> bool:
    """Whether a template or a JSON Schema was asked for, which is printed; nothing else may be ``given`` then."""
    from resweep.schema import make_schema, make_template

    if not (template or schema):
        return False
    if given or (template and schema):
        raise ResweepError("--template and --schema stand alone; leave out the other arguments, or these")
    room, name, example, title = _MODELS[what]
    model = getattr(importlib.import_module(room), name)
    text = make_template(model, example, title).rstrip() if template else format_json(make_schema(model), indent=2)
    typer.echo(text)
    return True
