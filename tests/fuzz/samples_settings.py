"""Samples of what users write, and how it is used: a scenario is placed, traffic drawn, a vehicle driven."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.reader import Reader

_SCENARIO = """
name: crossing
duration_s: 6
seed: 3
ego: {lane: [[-30, 0], [0, 0], [30, 2]], speed_mps: [5, 6, 7], begin_m: 2, size_m: [4.3, 1.8, 1.5], height_m: 1.7}
actors:
  - {name: stands, category: car, size_m: [4.2, 1.8, 1.5], at: [10, 12], yaw_deg: 30}
  - {name: bends, category: pedestrian, spline: [[20, -20], [10, -18], [0, -20]], speed_mps: 1.5, start_s: 1,
     vary_speed: [0.5, 1.5], vary_start_s: [0, 1]}
  - {name: walks, category: pedestrian, waypoints: [[0, 30, 20], [2, 30, 24], [4, 31, 28]],
     after: leave, vary_speed: [1, 2]}
  - {name: comes, category: car, lane: [[40, 16], [-40, 16]], speed_mps: 8, start_within_m: 60, allow_overlap: true}
"""
_PLAN = """
name: drawn
worlds: ["scene:street"]
sensors:
  - velodyne-vlp-16
  - {name: velodyne-vlp-16, set: {beam.rays: single, rotation_rate_hz: 20}, offset_m: [0, 0, 0.3]}
scenarios:
  - {name: still, ego: {at: [0, 0]}, duration_s: 2}
  - {name: goes, ego: {waypoints: [[0, -20, 0], [3, 5, 0]]}}
  - hidden-car
variants: 2
sweeps: 5
seed: 4
traffic: {count: [1, 2], lanes: [[[-60, 12], [60, 12]], [[60, -16], [-60, -16]]], speed_mps: [3, 9], categories: [car]}
"""
_RIG = """
lidars:
  - {name: top, sensor: velodyne-vlp-16, position_m: [1.3, 0, 1.8], roll_deg: 1, pitch_deg: 2,
     yaw_deg: 3, start_s: 0.05}
gps: {rate_hz: 10, outage_share: 0.1, outage_s: 2, drift_sigma_m: 0.1, drift_time_s: 30, position_m: [0, 0, 1]}
compass: {rate_hz: 20, sigma_rad: 0.01, bias_walk_radpsqrts: 0.001}
imu: {rate_hz: 100, gyro_walk_radps: 0.0001}
odometry: {rate_hz: 50, scale_sigma: 0.02}
"""
_SETTINGS = """
loop: {control_hz: 10, physics_step_s: 0.01, duration_s: 5, goal: [10, 2], goal_radius_m: 2, answers: {timeout_s: 9}}
idm: {headway_s: 1.5, gap_min_m: 2, acceleration_mps2: 0.7, braking_mps2: 1.6, exponent: 4, yield_s: 2}
avoider: {horizon_s: 4, step_s: 0.2, offsets_m: [0, 0.5], accelerations_mps2: [1, 0, -3], detect: {ground_cell_m: 1}}
navigator: {map: {cell_m: 0.5, cells: 100}, replan_s: 1}
objects: {min_points: 200, voxel_m: 0.04, icp: {rounds: 3, reach_m: 0.4}}
semantics: {epochs: 3, network: {cell_m: 0.2, extent: 1.2}, rate: 0.003, seed: 2}
segmenter: {epochs: 3, network: {width: 8}, classes: {road: [road], wall: [building]}, rate: 0.003, seed: 2}
camera: {projection: above, width: 64, height: 48, span_m: 60}
align: {shift_max_m: 3, section_m: 100}
odometry: {voxel_m: 0.2, keyframes: 20}
"""


def _text(name: str, content: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return make


@cache
def _field() -> Any:
    from resweep.scenes import SCENE_LABELS, Label, ground_plane
    from resweep.worlds import World

    return World([ground_plane((400.0, 400.0), label=Label.ROAD)], labels=SCENE_LABELS)


def _place(path: Path) -> None:
    from resweep.scenario import load_scenario
    from resweep.simulate import Simulator

    scenario = load_scenario(path)
    for number in (0, 1):
        trajectory, _ = scenario.variant(number).place(_field())
    assert len(Simulator(_field(), "velodyne-vlp-16").run(trajectory))


def _draw(path: Path) -> None:
    from resweep.dataset.dataset_plan import limit_workers, list_runs, load_plan
    from resweep.dataset.random_traffic import add_traffic
    from resweep.scenario import builtin_bank

    plan = load_plan(path)
    runs = list_runs(plan)
    limit_workers(plan, 0, 8 * 10**9)
    for run in runs[:1]:
        add_traffic(plan, run, _field(), builtin_bank())


def _make_vehicle(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from resweep.drive.vehicles import catalog

        source = Path(catalog.__file__).with_name(f"{name}.yaml")
        (folder / "vehicle.yaml").write_bytes(source.read_bytes())
        return folder / "vehicle.yaml"

    return make


def _drive(vehicle: Any, rig: Any) -> None:
    from resweep.drive import Loop, LoopConfig

    loop = Loop(_field(), vehicle, rig, start=(0.0, 0.0, 0.3), config=LoopConfig(duration_s=0.4))
    episode = loop.episode()
    episode.begin()
    low, high = loop.vehicle.command_limits
    for command in (high, low, high):
        if not episode.outcome:
            episode.step((float(command[0]), float(command[1])))


def _drive_vehicle(path: Path) -> None:
    from resweep.drive import Rig, load_vehicle

    _drive(load_vehicle(path), Rig())


def _drive_rig(path: Path) -> None:
    from resweep.drive.sensing.rig import load_rig

    rig = load_rig(path)
    for lidar in rig.lidars:
        lidar.load()
    _drive("passenger-car", rig.model_copy(update={"lidars": ()}))


def _use_settings(path: Path) -> None:
    from resweep.config import parse_yaml, read_text, validate
    from resweep.drive.config import LoopConfig
    from resweep.drive.idm import Idm, accelerate
    from resweep.drive.planners.avoider import AvoiderConfig
    from resweep.drive.planners.costmap import CostMap
    from resweep.drive.planners.navigator import NavigatorConfig
    from resweep.objects.config import ObjectConfig
    from resweep.register.config import AlignConfig, OdometryConfig
    from resweep.viewer.camera.cameras import Camera

    kinds: dict[str, Any] = {"loop": LoopConfig, "idm": Idm, "avoider": AvoiderConfig, "navigator": NavigatorConfig}
    kinds |= {"objects": ObjectConfig, "align": AlignConfig, "odometry": OdometryConfig, "camera": Camera}
    data = parse_yaml(read_text(path, "settings"), str(path))
    read = {name: validate(data[name], kind, name) for name, kind in kinds.items() if name in data}
    for item in read.values():
        if isinstance(item, LoopConfig):
            _ = item.steps_per_command
        if isinstance(item, Idm):
            for state in ((0.0, 10.0, 5.0, 0.0), (30.0, 0.05, 0.0, 30.0)):
                accelerate(item, *state)
        if isinstance(item, NavigatorConfig):
            CostMap(item.map, (0.0, 0.0))
        if isinstance(item, Camera):
            item.check()
            _ = item.half
    _read_learned(data)


def _read_learned(data: dict[str, Any]) -> None:
    from resweep.config import validate
    from resweep.learn.segmenter.config import SegmenterConfig
    from resweep.learn.semantics.config import SemanticsConfig

    kinds: dict[str, Any] = {"semantics": SemanticsConfig, "segmenter": SegmenterConfig}
    for name, kind in kinds.items():
        if name in data:
            validate(data[name], kind, name)


READERS = [
    Reader("scenario-placed", _text("drive.yaml", _SCENARIO), _place, 2.0),
    Reader("plan-drawn", _text("plan.yaml", _PLAN), _draw),
    *(
        Reader(f"vehicle-{name}", _make_vehicle(name), _drive_vehicle)
        for name in ("passenger-car", "passenger-car-tyres", "skid-robot")
    ),
    Reader("rig", _text("rig.yaml", _RIG), _drive_rig),
    Reader("settings", _text("settings.yaml", _SETTINGS), _use_settings),
]
