"""Templates and schemas: what they print loads, runs, and says what every field is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

import resweep as rs
from resweep.config import read_field_docs
from resweep.dataset import DatasetPlan, load_plan
from resweep.scenario import Scenario
from resweep.schema import list_models, make_schema
from resweep.sensors import Sensor, fire

MODELS = [model for top in (Sensor, Scenario, DatasetPlan) for model in list_models(top)]
UNITS = {
    "_m": "metre",
    "_s": "second",
    "_deg": "degree",
    "_rad": "radian",
    "_nm": "nanometre",
    "_mps": "metres a second",
    "_hz": "a second",
}


def test_the_template_of_a_sensor_sweeps_as_it_is(resweep: Any, room: Path) -> None:
    Path("mine.yaml").write_text(resweep("sensors", "--template").out)
    sensor = rs.load_sensor("mine.yaml")
    assert len(fire(sensor)) == 16 * 1800
    result = resweep("simulate", room, "-s", "mine.yaml", "-p", "0,0,0", "-o", "out")
    assert result.status == 0, result.err
    assert len(rs.open_log("out")[0]) > 20_000


def test_the_template_of_a_scenario_is_checked_and_driven(resweep: Any) -> None:
    Path("mine.yaml").write_text(resweep("scenario", "--template").out)
    shown = resweep("scenario", "mine.yaml")
    assert shown.status == 0, shown.err
    assert "scenario 'my-scenario' with 1 actor, 3 s" in shown.out
    assert "oncoming: car, lane of 2 points at 10 m/s" in shown.out
    args = ["simulate", "scene:street", "-s", "velodyne-vlp-16", "--scenario", "mine.yaml", "--sweeps", "1"]
    result = resweep(*args, "--set", "beam.rays=single", "-o", "out")
    assert result.status == 0, result.err
    boxes = rs.open_log("out")[0].boxes
    assert boxes is not None
    assert len(boxes) == 1


def test_the_template_of_a_plan_makes_its_dataset(resweep: Any) -> None:
    Path("plan.yaml").write_text(resweep("dataset", "--template").out)
    plan = load_plan("plan.yaml")
    assert (plan.variants, len(plan.scenarios)) == (2, 2)
    result = resweep("dataset", "plan.yaml", "-o", "data", "--set", "variants=1", "--set", "sweeps=1")
    assert result.status == 0, result.err
    assert "2 sweeps in 2 runs" in result.out


@pytest.mark.parametrize("verb", ["sensors", "scenario", "dataset"])
def test_templates_explain_every_field_and_schemas_too(verb: str, resweep: Any) -> None:
    model: type[BaseModel] = {"sensors": Sensor, "scenario": Scenario, "dataset": DatasetPlan}[verb]
    text = resweep(verb, "--template").out
    for name in model.model_fields:
        assert f"\n{name}:" in text or f"\n# {name}:" in text
        assert read_field_docs(model)[name] in text
    assert yaml.safe_load(text)["name"].startswith("my-")
    schema = json.loads(resweep(verb, "--schema").out)
    assert set(schema["properties"]) == set(model.model_fields)
    assert schema == json.loads(json.dumps(make_schema(model)))
    described = [part for part in (schema, *schema["$defs"].values()) for part in part.get("properties", {}).values()]
    assert all(part.get("description") for part in described)
    for args in ([verb, "--template", "--schema"], [verb, "--template", "x"]):
        result = resweep(*args)
        assert (result.status, result.err.count("\n")) == (1, 1)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_says_what_it_is_with_its_unit(model: type[BaseModel]) -> None:
    docs = read_field_docs(model)
    for name in model.model_fields:
        assert docs.get(name, "").endswith("."), f"{model.__name__}.{name}: no description below it"
        ending = max((suffix for suffix in UNITS if name.endswith(suffix)), key=len, default=None)
        if ending is not None:
            assert UNITS[ending] in docs[name], f"{model.__name__}.{name}: its unit is not in '{docs[name]}'"


def test_a_scenario_needs_a_file(resweep: Any) -> None:
    result = resweep("scenario")
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert "--template" in result.err
    assert "-o OUT" in resweep("dataset", "edge-cases").err


def test_the_wavelength_may_be_left_out(resweep: Any) -> None:
    Path("mine.yaml").write_text(resweep("sensors", "--template").out)
    assert rs.load_sensor("mine.yaml").wavelength_nm is None
    assert rs.Sensor.model_validate(yaml.safe_load(rs.load_sensor("mine.yaml").to_yaml())).name == "my-lidar"


def test_info_knows_settings_by_their_keys(resweep: Any) -> None:
    for verb, kind in (("sensors", "sensor"), ("scenario", "scenario"), ("dataset", "plan of a dataset")):
        Path("mine.yaml").write_text(resweep(verb, "--template").out)
        assert json.loads(resweep("info", "mine.yaml", "--json").out)["kind"] == kind
