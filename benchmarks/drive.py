"""How fast closed loops run: an HDL-64E and a VLP-16, one ray a pulse, among two million splats and twenty actors.

The world knows how it was recorded, as built ones do, so that sweeps also have confidences and unknown beams.
``realtime_factor_*`` are seconds of the drive for each second of the wall clock: the vehicle's motion, its wheels on
the ground, contacts, instruments and sweeps, with an autonomy that costs nothing. ``cpu_s_*`` is the processor time
of a second of the drive. Both are the best of nine drives, as others may use the machine too. ``gym_steps_per_s`` are
steps of the Gymnasium environment in a small yard with a VLP-16.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.table import Table

from benchmarks.actors import crowd
from benchmarks.places import as_recorded, hdl64, terrain_with_boxes
from benchmarks.report import Result, machine, main, table
from benchmarks.splat_trace import closed_splats_on, splats_on
from resweep import World
from resweep.drive import LidarMount, Loop, LoopConfig, Rig
from resweep.drive.gym import DriveEnv
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenes import SCENE_LABELS, Label, ground_plane, wall
from resweep.scenes.cars import car
from resweep.sensors import load_sensor

ACTORS = 20
TARGETS = {"hdl64": 2.0, "vlp16": 10.0}
SENSORS = {"hdl64": "velodyne-hdl-64e", "vlp16": "velodyne-vlp-16"}


def run(fast: bool = False, threads: int = 0) -> Result:
    """Real-time factors of both LiDARs, and steps a second of the environment."""
    n_splats, n_surfels, seconds = (250_000, 500, 0.5) if fast else (2_000_000, 20_000, 3.0)
    mesh, poses = terrain_with_boxes(fast)
    start = poses[1]  # nothing stands in the way for the next 25 m
    seen_from = [start @ from_xyz_rpy(along) for along in (-5.0, 5.0, 15.0, 25.0)]
    world = as_recorded(closed_splats_on(mesh, n_splats, 1), hdl64(1), seen_from)
    ground = float(start[2, 3]) - 1.8
    shift = np.eye(4)
    shift[:2, 3] = start[:2, 3]
    layers = [splats_on(car(), n_surfels, 1) for _ in range(ACTORS)]
    actors = []
    for actor in crowd(layers, ACTORS, lambda x, y: ground):
        path = Trajectory(actor.trajectory.times - actor.trajectory.start, actor.trajectory.poses)
        actors.append(Actor(actor.layers, path.moved(shift), actor.instance, actor.label, f"actor {actor.instance}"))
    result: Result = {"benchmark": "drive", "fast": fast, **machine(), "splats": n_splats, "actors": ACTORS}
    result["targets"] = dict(TARGETS)
    for name, sensor in SENSORS.items():
        result.update(_time_loop(name, sensor, world, actors, start, seconds, threads, 1 if fast else 9))
    result["gym_steps_per_s"] = _time_gym(10 if fast else 100, threads)
    return result


def _time_loop(
    name: str,
    sensor: str,
    world: World,
    actors: list[Actor],
    start: np.ndarray,
    seconds: float,
    threads: int,
    rounds: int,
) -> Result:
    spec = load_sensor(sensor).with_(**{"beam.rays": "single", "rotation_rate_hz": 10})
    rig = Rig(lidars=(LidarMount(sensor=spec, position_m=(1.3, 0.0, 1.8)),))
    yaw = float(np.arctan2(start[1, 0], start[0, 0]))
    config = LoopConfig(duration_s=seconds, stop_on_collision=False)
    place = (float(start[0, 3]), float(start[1, 3]), yaw)
    near = [actor for actor in actors if np.hypot(*(actor.trajectory.poses[0, :2, 3] - start[:2, 3])) > 6.0]
    loop = Loop(
        world, "passenger-car", rig, lambda observation: (0.0, 0.0), start=place, speed_mps=8.0, actors=near,
        config=config, threads=threads,
    )  # fmt: skip
    loop.episode().step((0.0, 0.0))  # builds what is built once
    wall, cpu = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        run = loop.run(keep_sweeps=False)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    wall_s, cpu_s = min(wall), min(cpu)
    return {
        f"realtime_factor_{name}": run.duration_s / wall_s,
        f"cpu_s_{name}": cpu_s / run.duration_s,
        f"outcome_{name}": run.outcome,
        f"driven_s_{name}": run.duration_s,
    }


def _time_gym(steps: int, threads: int) -> float:
    yard = World(
        [ground_plane((200.0, 200.0), label=Label.ROAD), wall((40.0, -20.0), (40.0, 20.0), 3.0, 0.3)],
        labels=SCENE_LABELS,
    )
    spec = load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "single"})
    rig = Rig(lidars=(LidarMount(sensor=spec, position_m=(1.3, 0.0, 1.8)),))
    config = LoopConfig(duration_s=1000.0, goal=(30.0, 0.0))
    env = DriveEnv(Loop(yard, "passenger-car", rig, start=(0.0, 0.0, 0.0), config=config, threads=threads))
    env.reset(seed=1)
    env.step(np.zeros(2))
    began = time.perf_counter()
    for _ in range(steps):
        env.step(np.array([-1.0, 0.0]))
    return steps / (time.perf_counter() - began)


def tables(result: Result) -> list[Table]:
    """Factors beside their targets."""
    rows = [
        [SENSORS[name], result[f"realtime_factor_{name}"], TARGETS[name], result[f"cpu_s_{name}"]] for name in SENSORS
    ]
    title = f"Closed loop, {result['splats']:,} splats, {result['actors']} actors"
    return [
        table(title, ["", "× real time", "target", "CPU s a second"], rows),
        table("Gymnasium", ["", "steps a second"], [["VLP-16, small yard", result["gym_steps_per_s"]]]),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
