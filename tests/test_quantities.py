"""Every number that a user can set has bounds, and an error beyond them says why."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import resweep
from resweep.config import Spec, parse_spec, validate
from resweep.drive import Vehicle, load_vehicle
from resweep.drive.config import LoopConfig
from resweep.errors import MissingExtraError, ResweepError, SettingsError
from resweep.scenario import Scenario
from resweep.sensors import load_sensor

ROOT = Path(resweep.__file__).parent
# Bounded by a validator, whose message says more, or read as another model.
CHECKED = {"MotionSpec.speed_mps", "Sensor.wavelength_nm", "DatasetPlan.scenarios"}
# Lists of cards and calibrations that Resweep writes; the length of each is checked against the others.
CARDS = ("resweep.simulate.", "resweep.segmentation.", "resweep.sensor_scatter")


def list_specs() -> list[type[BaseModel]]:
    for path in ROOT.rglob("*.py"):
        if "(Spec)" in path.read_text(encoding="utf-8"):
            module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
            try:
                importlib.import_module(module)
            except (MissingExtraError, ImportError):
                continue  # an optional package
    found: list[type[BaseModel]] = []
    waiting: list[type[BaseModel]] = [Spec]
    while waiting:
        inner = waiting.pop().__subclasses__()
        found += inner
        waiting += inner
    return [kind for kind in found if kind.__module__.startswith("resweep.")]


def unbounded(annotation: Any, metadata: list[Any]) -> Iterator[str]:
    """What of a type has no bounds: its numbers, and how many items its lists have."""
    origin, parts = get_origin(annotation), get_args(annotation)
    rules = [rule for item in metadata for rule in (item.metadata if isinstance(item, FieldInfo) else [item])]
    if origin is Annotated:
        yield from unbounded(parts[0], [*parts[1:], *metadata])
    elif origin in (Union, types.UnionType):
        for part in parts:
            yield from unbounded(part, metadata)
    elif annotation in (int, float):
        for one, other in (("ge", "gt"), ("le", "lt")):
            if not any(hasattr(rule, one) or hasattr(rule, other) for rule in rules):
                yield f"{annotation.__name__} without {one}"
    elif parts and origin is not Literal:
        if (origin is not tuple or Ellipsis in parts) and not any(hasattr(rule, "max_length") for rule in rules):
            yield "list of any length"
        for part in parts:
            yield from unbounded(part, [])


def test_every_field_has_bounds() -> None:
    specs = list_specs()
    assert len(specs) > 50
    found = {}
    for kind in specs:
        for name, field in kind.model_fields.items():
            holder = next(base for base in kind.__mro__ if name in inspect.get_annotations(base))
            if f"{holder.__name__}.{name}" in CHECKED:
                continue
            problems = set(unbounded(field.annotation, field.metadata))
            if kind.__module__.startswith(CARDS):
                problems.discard("list of any length")
            if problems:
                found[f"{kind.__module__}.{kind.__name__}.{name}"] = problems
    assert found == {}


def test_the_walk_sees_what_has_no_bounds() -> None:
    class Loose(Spec):
        size: tuple[float, ...] | None = None
        count: Annotated[int, 5] = 1

    fields = Loose.model_fields
    assert set(unbounded(fields["size"].annotation, fields["size"].metadata)) == {
        *("list of any length", "float without ge", "float without le")
    }
    assert len(set(unbounded(fields["count"].annotation, fields["count"].metadata))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{at: [1.0e+300, 0]}", r"ego.at\[0\]: .* got 1e\+300 \(national grids .*check the unit\)"),
        ("{lane: [[0, 0], [-4.5e+10, 0]], speed_mps: 5}", r"ego.lane\[1\]\[1\]|ego.lane\[1\]\[0\]: .*national grids"),
        ("{lane: [[0, 0], [9.0e+6, 0]], speed_mps: 5}", "ego.lane: is 9,000,000 m long, 100,000 at most|m at most"),
        ("{spline: [[0, 0], [9.0e+6, 0], [1, 1]], speed_mps: 5}", "ego.spline: is 1[78],.* m long"),
        ("{lane: [[0, 0], [90000, 0]], speed_mps: 0.1}", None),
        ("{lane: [[0, 0], [9, 0]], speed_mps: 1.0e+300}", "ego.speed_mps: nothing on the ground is faster"),
        ("{waypoints: [[0, 0, 0], [1.0e+6, 5, 5]]}", "ego.waypoints: a motion of 1,000,000 s, 7,200 s at most"),
        ("{lane: [[0, 0], [9, 0]], speed_mps: 1, yaw_deg: 1.0e+9}", "ego.yaw_deg: .*two turns are 720"),
        (
            "{lane: [[0, 0], [9, 0]], speed_mps: 1, size_m: [9223372036854775808, 1, 1]}",
            r"ego.size_m\[0\]: .*100 m long",
        ),
    ],
)
def test_a_scenario_beyond_all_bounds(text: str, message: str | None) -> None:
    def make() -> Scenario:
        return parse_spec(f"ego: {text}\nduration_s: 5\n", Scenario, "drive.yaml")

    if message is None:
        with pytest.raises(SettingsError, match="speed_mps: a motion of 900,000 s, 7,200 s at most"):
            make().ego.path()
        return
    with pytest.raises(SettingsError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("duration", [1e7, 3.5e38, 2.0**63])
def test_a_duration_of_more_than_a_day(duration: float) -> None:
    data = {"ego": {"at": [0, 0]}, "duration_s": duration}
    with pytest.raises(SettingsError, match=r"duration_s: .*a drive lasts a day at most, 86 400 s; give seconds\)"):
        validate(data, Scenario, "drive.yaml")
    with pytest.raises(SettingsError, match=r"duration_s: .*a drive lasts a day at most"):
        LoopConfig(duration_s=duration)


@pytest.mark.parametrize(
    "changes", [{"length_m": 2**63}, {"speed_max_mps": 3.5e38}, {"wheelbase_m": 1e-300}, {"braking_max_mps2": 1e300}]
)
def test_a_vehicle_that_is_none(changes: dict[str, float]) -> None:
    given = load_vehicle("passenger-car").model_dump()
    with pytest.raises(SettingsError, match=rf"{next(iter(changes))}: .*\(.*\)"):
        Vehicle(**{**given, **changes})


@pytest.mark.parametrize("changes", [{"control_hz": 1e-300}, {"physics_step_s": 1e-300}, {"control_hz": 1e300}])
def test_a_loop_of_endless_steps(changes: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(changes))):
        LoopConfig(**changes)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("velodyne-vlp-16", {"rotation_rate_hz": 1e300}, "rotation_rate_hz: .*10 000 a second"),
        ("velodyne-vlp-16", {"pattern.firing_period_s": 1e-9}, "more than 1000000 of a turn"),
        ("velodyne-hdl-64e", {"pattern.lower_packets": 1, "pattern.upper_packets": 64, "pattern.laser_rate_hz": 500},
         "fewer than"),
        ("riegl-vz-400", {"pattern.line_rate_max_hz": 1e-300}, "line_rate_max_hz: .*give hertz"),
        ("livox-mid-360", {"pattern.head_rate_hz": 1e300}, "pattern.head_rate_hz: .*nothing turns"),
        ("livox-mid-360", {"pattern.frame_s": 1e-9}, "frame_s"),
        ("velodyne-vlp-16", {"pattern.channels.firing_time_s": [0.9] * 16}, "0.9 s is longer than a turn"),
        ("velodyne-vlp-16", {"pattern.firing_period_s": 2e-7}, "pattern: gives 8,000,000 pulses a sweep, 4,000,000"),
        ("velodyne-hdl-64e", {"pattern.laser_rate_hz": 5e7}, "pattern: gives .* pulses a sweep, 4,000,000 at most"),
    ],
)  # fmt: skip
def test_a_sensor_that_is_none(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_sensor(name).with_(**{"rotation_rate_max_hz": None, "rotation_rate_min_hz": None, **changes})


def test_a_label_far_beyond_all_others() -> None:
    from resweep.labels import LabelSet

    with pytest.raises(ResweepError, match="label ids have 24 bits"):
        validate({"name": "x", "classes": {2**31: {"name": "y"}}}, LabelSet, "labels.yaml")


def test_a_sweep_that_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from resweep.sensors import fire

    sensor = load_sensor("riegl-vz-400").with_(**{"pattern.azimuth_resolution_deg": 0.05})
    monkeypatch.setattr("resweep.memory.measure_room", lambda: 10**9)
    with pytest.raises(
        ResweepError, match=r"a sweep of 7,207,200 pulses would take 1\.2 GB of memory, and 1\.0 GB are"
    ):
        fire(sensor)


def test_a_process_has_room_up_to_its_own_limit() -> None:
    resource = pytest.importorskip("resource")
    from resweep.memory import measure_room

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    try:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 10**8, before[1]))
        assert 0 < measure_room() <= 10**8
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_a_drive_of_too_many_sweeps() -> None:
    from resweep.pose import Trajectory
    from resweep.scenes import ground_plane
    from resweep.simulate import Simulator
    from resweep.worlds import World

    path = Trajectory(np.array([0.0, 1.7e9]), np.stack([np.eye(4)] * 2))
    with pytest.raises(ResweepError, match=r"covers 1\.7e\+10 sweeps of .*, 2,000,000 at most; cut it"):
        Simulator(World([ground_plane((9.0, 9.0))]), "velodyne-vlp-16").run(path)
