"""Plans of datasets: worlds times sensors times scenarios, and traffic drawn at random."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from resweep.config import Spec, parse_yaml, read_text, validate
from resweep.errors import SettingsError
from resweep.scenario import Scenario, load_scenario
from resweep.scenario.scenario import SCENARIOS, validate_scenario
from resweep.scenes.opening import SCENE, check_memory, check_world
from resweep.sensors import Sensor, fire, load_sensor
from resweep.work import count_cores

MAX_RUNS = 10_000  # of one dataset; a million drives are several datasets
PLANS = ("edge-cases", "simkitti32")  # those that come with the package

_BEAM_BYTES = 1000  # that a beam takes while its sweep is made and written


class SensorChoice(Spec):
    """A sensor by name or file, with fields changed (``set``, dotted) and its place in the frame of the ego."""

    name: str
    """Catalog name or YAML file of the sensor."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Fields of the sensor that differ, by dotted name, such as beam.rays."""
    offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Place of the sensor in the frame of the ego, metres."""


class TrafficPlan(Spec):
    """Actors drawn at random for each variant: how many, of which categories, along which lanes, how fast.

    Those that would run into others or the world are drawn again.
    """

    count: tuple[int, int]
    """Least and largest number of actors of a variant."""
    lanes: tuple[tuple[tuple[float, ...], ...], ...] = Field(min_length=1)
    """Lanes that they follow, each a list of points [x, y] or [x, y, z], metres in the world."""
    speed_mps: tuple[float, float] = (4.0, 12.0)
    """Slowest and fastest speed, metres a second."""
    categories: tuple[str, ...] = ("car",)
    """Classes that are drawn from."""

    @model_validator(mode="after")
    def _check(self) -> TrafficPlan:
        for name in ("count", "speed_mps"):
            low, high = getattr(self, name)
            if not 0 <= low <= high or (name == "speed_mps" and low < 0.1):
                raise SettingsError(
                    name, f"expected two numbers above zero, the smaller first, got [{low:g}, {high:g}]"
                )
        return self


class DatasetPlan(Spec):
    """A dataset: every world with every sensor and every scenario, ``variants`` of each.

    ``worlds`` are saved worlds, mesh files or ``scene:NAME``; ``scenarios`` YAML files, names of those in the package,
    or scenarios written out. Variant 0 of a scenario is as written; ``traffic`` is added to all. ``sweeps`` limits
    those of each run. ``seed`` fixes all randomness. ``camera`` is a calibration for the image boxes of KITTI's
    layouts: a file or folder of KITTI's (`read_camera`). Without, it is that of the log which a scenario's ego drives
    along, else KITTI's own. A plan has at most `MAX_RUNS` runs.
    """

    name: str = "dataset"
    """Name of the dataset."""
    layout: Literal["semantickitti", "kitti", "kitti-tracking", "nuscenes"] = "semantickitti"
    """Layout of the files."""
    worlds: tuple[str, ...] = Field(min_length=1)
    """Saved worlds, mesh files or scene:NAME."""
    sensors: tuple[str | SensorChoice, ...] = Field(min_length=1)
    """Sensors by name or file, or with changes and a place of their own."""
    scenarios: tuple[str | dict[str, Any], ...] = Field(min_length=1)
    """Scenarios by name or file, or written out."""
    variants: int = Field(default=1, ge=1, le=MAX_RUNS)
    """Runs of each scenario; the first is as written, the others vary."""
    traffic: TrafficPlan | None = None
    """Actors drawn at random, added to every scenario."""
    bank: str | None = None
    """Folder of the bank with the objects; plain ones if left out."""
    realism: str | None = None
    """Folder of a learned model of the sensor, as 'resweep learn raydrop' writes it."""
    camera: str | None = None
    """Calibration file or folder of the log that a world is from, for the image boxes of KITTI's layouts."""
    sweeps: int | None = Field(default=None, ge=1)
    """Sweeps of each run at most."""
    seed: int = Field(default=0, ge=0)
    """Number that fixes all randomness."""

    @model_validator(mode="after")
    def _check_camera(self) -> DatasetPlan:
        if self.camera is not None and not self.layout.startswith("kitti"):
            raise SettingsError("camera", f"the layout '{self.layout}' has no image boxes; leave it out")
        return self


@dataclass(frozen=True)
class RunPlan:
    """One drive of the dataset: a world, a sensor, a scenario; ``folder`` is where it lies in the output."""

    number: int
    folder: str
    world: str
    sensor: Sensor
    offset_m: tuple[float, float, float]
    scenario: Scenario
    variant: int
    seed: int

    def facts(self) -> dict[str, Any]:
        """Its entry in `runs.json`."""
        names = {"world": self.world, "sensor": self.sensor.name, "scenario": self.scenario.name}
        return {"folder": self.folder, **names, "variant": self.variant, "seed": self.seed}


def load_plan(path: str | Path, changes: dict[str, Any] | None = None) -> DatasetPlan:
    """The plan in a YAML file, or one of `PLANS` by name, with fields replaced by ``changes``.

    Paths in a file are relative to it where they exist there, else to the working folder.
    """
    folder: Path | None = None
    if str(path) in PLANS:
        text = resources.files("resweep.dataset").joinpath("plans").joinpath(f"{path}.yaml").read_text("utf-8")
    else:
        folder = Path(path).parent
        text = read_text(path, f"a plan in YAML, or one of {', '.join(PLANS)}")
    data = parse_yaml(text, str(path), "a plan with keys such as worlds, sensors and scenarios")
    plan = validate({**data, **(changes or {})}, DatasetPlan, str(path))
    return plan if folder is None else _resolve_paths(plan, folder)


def _resolve_paths(plan: DatasetPlan, folder: Path) -> DatasetPlan:
    def beside(text: str) -> str:
        return str(folder / text) if not text.startswith(SCENE) and os.path.exists(folder / text) else text

    scenarios = [beside(text) if isinstance(text, str) and text not in SCENARIOS else text for text in plan.scenarios]
    changes = {"worlds": tuple(map(beside, plan.worlds)), "scenarios": tuple(scenarios)}
    single = {name: beside(text) for name in ("bank", "camera", "realism") if (text := getattr(plan, name)) is not None}
    return plan.model_copy(update={**changes, **single})


def list_runs(plan: DatasetPlan) -> list[RunPlan]:
    """Every run of a plan; raises for worlds, sensors and scenarios that do not exist, before any work."""
    for text in plan.worlds:
        check_world(text)
    sensors = [choose_sensor(choice) for choice in plan.sensors]
    scenarios = [
        load_scenario(item) if isinstance(item, str) else validate_scenario(item, f"scenarios[{at}]")
        for at, item in enumerate(plan.scenarios)
    ]
    count = len(plan.worlds) * len(sensors) * len(scenarios) * plan.variants
    if count > MAX_RUNS:
        raise SettingsError(
            "variants",
            f"{count} runs (worlds x sensors x scenarios x variants), {MAX_RUNS} at most; split the plan into several",
        )
    wide = 2 if plan.layout == "semantickitti" else 4
    runs: list[RunPlan] = []
    for world in plan.worlds:
        for sensor, offset in sensors:
            for scenario in scenarios:
                for variant in range(plan.variants):
                    number = len(runs)
                    folder = f"{'sequences/' if wide == 2 else ''}{number:0{wide}d}"
                    varied = scenario.variant(variant)
                    runs.append(RunPlan(number, folder, world, sensor, offset, varied, variant, plan.seed + number))
    return runs


def choose_sensor(choice: str | SensorChoice) -> tuple[Sensor, tuple[float, float, float]]:
    """The sensor that a plan names, and its place in the frame of the ego, metres."""
    if isinstance(choice, str):
        return load_sensor(choice), (0.0, 0.0, 0.0)
    return load_sensor(choice.name).with_(**choice.set), choice.offset_m


def limit_workers(plan: DatasetPlan, workers: int, memory_bytes: int) -> int:
    """How many sweeps of ``workers`` may be made at once beside the largest world; 0 if as many as there are cores."""
    spare = check_memory(plan.worlds, memory_bytes)
    beams = max(len(fire(choose_sensor(choice)[0])) for choice in plan.sensors)
    max_workers = max(1, spare // (_BEAM_BYTES * beams))
    return min(workers, max_workers) if workers else (0 if max_workers > count_cores() else max_workers)
