"""How fast an HDL-64E, one ray a pulse, sweeps two million splats among fifty moving actors of 20,000 splats each.

The sensor drives too. ``realtime_factor`` counts all of a sweep: placing the actors, tracing, boxes and velocities.
``cpu_ms`` is the processor time of all cores, which other work on the machine does not change. ``update_ms`` is the
placing alone, for growing numbers of actors; ``update_exponent`` says how its processor time grows (1: linear).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
from rich.table import Table

from benchmarks.places import hdl64, terrain_with_boxes
from benchmarks.report import Contender, Result, interleaved, machine, main, table, timed
from benchmarks.splat_trace import splats_on
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenes.cars import car
from resweep.simulate import Simulator
from resweep.worlds import Splats, World

DEPTHS = (1, 5)


def crowd(layers: list[Splats], number: int, ground_m: Callable[[float, float], float]) -> list[Actor]:
    """Actors that drive and turn within 60 m, with a pose every tenth of a second."""
    rng = np.random.default_rng(4)
    times = np.arange(-2, 33) * 0.1 + 0.03
    actors = []
    for index in range(number):
        distance, angle = 8 + 52 * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
        heading, speed, rate = rng.uniform(0, 2 * np.pi), rng.uniform(3, 15), rng.uniform(-0.5, 0.5)
        x, y = distance * np.cos(angle), distance * np.sin(angle)
        z = ground_m(x, y)
        yaw = heading + rate * times + 0.1 * np.sin(3 * times)
        step = np.diff(times, prepend=times[0])
        path = np.stack([x + np.cumsum(speed * step * np.cos(yaw)), y + np.cumsum(speed * step * np.sin(yaw))])
        poses = [from_xyz_rpy(px, py, z, yaw=a) for px, py, a in zip(*path, yaw, strict=True)]
        actors.append(Actor((layers[index % len(layers)],), Trajectory(times, np.stack(poses)), index + 1, label=10))
    return actors


def run(fast: bool = False, threads: int = 0) -> Result:
    """Real-time factors with and without actors, and what placing them costs."""
    n_splats, n_actors, n_surfels = (50_000, 6, 500) if fast else (2_000_000, 50, 20_000)
    counts = (4, 8, 16) if fast else (25, 50, 100, 200, 400)
    mesh, poses = terrain_with_boxes(fast)
    result: Result = {
        "benchmark": "actors",
        "fast": fast,
        **machine(),
        "splats": n_splats,
        "actors": n_actors,
        "splats_per_actor": n_surfels,
    }
    start = poses[0]
    ground = float(start[2, 3]) - 1.8
    drive = Trajectory(np.array([0.0, 3.0]), np.stack([start, start @ from_xyz_rpy(24.0, yaw=0.3)]))
    for depth in DEPTHS:
        layers = [splats_on(car(), n_surfels, depth) for _ in range(n_actors)]
        actors = crowd(layers, n_actors, lambda x, y: ground)
        moved = [Actor(a.layers, a.trajectory.moved(_shift(start)), a.instance, a.label) for a in actors]
        empty = Simulator(World([splats_on(mesh, n_splats, depth)]), hdl64(1), seed=1, threads=threads)
        full = empty.with_actors(moved)
        suffix = "" if depth == 1 else f"_depth{depth}"
        result.update(
            {f"{key}{suffix}": value for key, value in _speeds(full, empty, drive, 2 if fast else 15).items()}
        )
        if depth == 1:
            result.update(_updates(full, layers, counts, ground, drive, 3 if fast else 15))
    return result


def _shift(pose: np.ndarray) -> np.ndarray:
    shift = np.eye(4)
    shift[:2, 3] = pose[:2, 3]
    return shift


def _speeds(full: Simulator, empty: Simulator, drive: Trajectory, rounds: int) -> Result:
    index = {id(full): count(), id(empty): count()}

    def sweeps(sim: Simulator) -> Callable[[], object]:
        def once() -> object:
            number = next(index[id(sim)])
            sweep = sim.sweep(drive, start=0.1 * (number % 28), index=number)
            return sweep.points

        return once

    seconds = interleaved({"full": timed(sweeps(full)), "empty": timed(sweeps(empty))}, rounds)
    cpu = statistics.median(_cpu_seconds(sweeps(full)) for _ in range(rounds))
    sweep = full.sweep(drive)
    period = full.sensor.sweep_period_s
    return {
        "realtime_factor": period / statistics.median(seconds["full"]),
        "realtime_factor_without": period / statistics.median(seconds["empty"]),
        "cpu_ms": 1e3 * cpu,
        "actors_present": 0 if sweep.boxes is None else len(sweep.boxes),
        "returns_on_actors": int((sweep.instance > 0).sum()),
    }


def _updates(
    sim: Simulator, layers: list[Splats], counts: tuple[int, ...], ground: float, drive: Trajectory, rounds: int
) -> Result:
    motion = drive.window(1.0, 1.1)
    contenders: dict[str, Contender] = {}
    for number in counts:
        actors = sim.with_actors(crowd(layers, number, lambda x, y: ground)).tracer.actors
        actors.find_present(1.0, 1.1, motion, sim.sensor.range_max_m)  # builds what is built once
        place = partial(actors.find_present, 1.0, 1.1, motion, sim.sensor.range_max_m)
        contenders[f"wall {number}"] = timed(place)
        contenders[f"cpu {number}"] = partial(_cpu_seconds, place)
    seconds = interleaved(contenders, rounds)
    wall, cpu = ([1e3 * statistics.median(seconds[f"{of} {n}"]) for n in counts] for of in ("wall", "cpu"))
    slope = np.polyfit(np.log(counts), np.log(cpu), 1)[0]
    return {"update_actors": list(counts), "update_ms": wall, "update_cpu_ms": cpu, "update_exponent": float(slope)}


def _cpu_seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def tables(result: Result) -> list[Table]:
    """Speeds by depth, and the cost of placing actors."""
    names = ("realtime_factor", "realtime_factor_without", "cpu_ms", "actors_present", "returns_on_actors")
    rows = [[f"depth {d}", *(result[n if d == 1 else f"{n}_depth{d}"] for n in names)] for d in DEPTHS]
    title = f"{result['splats']:,} splats, {result['actors']} actors of {result['splats_per_actor']:,} (target: 2 ×)"
    costs = zip(result["update_actors"], result["update_ms"], result["update_cpu_ms"], strict=True)
    return [
        table(title, ["", "× real time", "without actors", "CPU ms", "actors", "returns on them"], rows),
        table(
            f"Placing actors, once a sweep (grows as n^{result['update_exponent']:.2f})",
            ["actors", "ms", "CPU ms"],
            [[str(number), *cost] for number, *cost in costs],
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
