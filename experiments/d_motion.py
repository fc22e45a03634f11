"""D, 4.1: cars that move while the sensor sweeps, continuously and in the paper's 360 steps a sweep.

LiDARsim updates the poses of objects at 360 equally spaced times within a sweep, "to balance computational cost with
realism"; Resweep gives every ray its own time. Both are held against the truth: a scene built anew for every moment
of firing. The steps run through Resweep's own tracer, on the same scene, the actors placed again at every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep import Actor, Sensor, Simulator, Sweep, Trajectory, World, load_sensor
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import SCENE_LABELS, box, car, ground_plane
from resweep.sensors import fire
from resweep.simulate.pulses import Pulses
from tests.reference.beam import rays, rebuilt_hits

STEPS = 360  # D, 4.1
COUNTS = (1, 36, STEPS)
EGO_SPEED, EGO_TURN = 12.0, 0.3  # m/s, rad/s
START_S = 0.2
CHECKED = 1500  # rays held against the truth
EDGE_M = 0.05  # beyond this a ray hit another surface: an edge moved past it
PLAN = {"beam.rays": "single", "receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0}
PLAN |= {"pointing.encoder_step_rad": 0.0}


def place() -> World:
    """A street: ground, and houses along it."""
    houses = [box((9, 8, 8), at=(x, y, 0)) for x in range(-60, 61, 12) for y in (-18, 18)]
    return World([ground_plane((200.0, 200.0)), *houses], labels=SCENE_LABELS)


def traffic(count: int) -> list[Actor]:
    """Cars that drive along the street both ways, cars that turn about a crossing, one that spins."""
    times = np.linspace(-0.05, 0.65, 8)
    model = car()
    cars = []
    for i in range(count):
        lane, along = (-3.5, 3.5)[i % 2], -40.0 + 80.0 * ((i * 0.382) % 1.0)
        speed, rate = (14.0, -14.0)[i % 2], (0.0, 0.0, 0.6, -0.9, 0.0, 3.0)[i % 6]
        heading = 0.0 if speed > 0 else np.pi
        yaw = heading + rate * times
        x = along + np.cumsum(abs(speed) * np.cos(yaw)) * (times[1] - times[0])
        y = lane * (1 + 0.9 * (i % 3)) + np.cumsum(abs(speed) * np.sin(yaw)) * (times[1] - times[0])
        poses = np.stack([from_xyz_rpy(a, b, yaw=c) for a, b, c in zip(x, y, yaw, strict=True)])
        cars.append(Actor((model,), Trajectory(times, poses), i + 1, label=10, name="car"))
    return cars


def drive() -> Trajectory:
    """The sensor's own motion: forward and turning, 1.73 m above the ground."""
    times = np.linspace(0.0, 0.6, 7)
    return Trajectory(
        times, np.stack([from_xyz_rpy(EGO_SPEED * t, 0.5 * t, 1.73, yaw=EGO_TURN * t, pitch=0.02 * t) for t in times])
    )


class Stepped:
    """A sweep in steps, at the beginning of each of which the actors are placed anew, to stand until the next.

    All that could be prepared for many sweeps is: what is timed is placing the actors and tracing the beams.
    """

    def __init__(self, sim: Simulator, template: Sweep, steps: int) -> None:
        self.sim = sim
        self.n_beams = template.n_beams
        assert template.trajectory is not None
        self.motion = template.trajectory
        begin, end = template.beam_time[0], template.beam_time[-1]
        step = np.minimum(((template.beam_time - begin) / (end - begin) * steps).astype(int), steps - 1)
        self.moments = begin + (end - begin) * np.arange(steps) / steps
        self.beams = [np.flatnonzero(step == k) for k in range(steps)]
        parts = [template.select_beams(step == k) for k in range(steps)]
        self.pulses = [Pulses.from_sweep(part) for part in parts]
        for pulses in self.pulses:
            _ = pulses.native
        self.tracers = [sim.tracer.with_actors([_frozen(actor, t) for actor in sim.actors]) for t in self.moments]

    def place(self) -> list[Any]:
        """Place the actors at every step."""
        limit = self.sim.sensor.range_max_m
        steps = zip(self.tracers, self.moments, strict=True)
        return [tracer.actors.find_present(t, t, self.motion, limit) for tracer, t in steps]

    def sweep(self) -> tuple[Array, Array]:
        """Ranges (b,), infinity without return, and instances (b,)."""
        reach, instance = np.full(self.n_beams, np.inf), np.zeros(self.n_beams, int)
        for rows, pulses, tracer in zip(self.beams, self.pulses, self.tracers, strict=True):
            columns = tracer.trace(pulses, self.motion).columns  # places the actors of the step, too
            reach[rows[columns["beam"]]] = columns["range"]
            instance[rows[columns["beam"]]] = columns["instance"]
        return reach, instance


def _frozen(actor: Actor, time: float) -> Actor:
    """The actor as it is at one time, standing still."""
    pose = Trajectory(np.zeros(1), actor.trajectory.at(time)[None])
    return Actor(actor.layers, pose, actor.instance, actor.label)


def _milliseconds(work: Callable[[], object], repeats: int) -> float:
    """Processor time of one call, the least of several: what other work on the machine does not change."""
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return 1e3 * min(taken)


def errors(found: tuple[Array, Array], truth: dict[str, Array]) -> dict[str, float]:
    """How far ranges on actors are from the truth; rays that hit something else are counted apart."""
    reach, instance = found
    on = (truth["instance"] > 0) & (instance == truth["instance"])
    with np.errstate(invalid="ignore"):
        error = np.abs(reach - truth["range"])
    near = on & (error < EDGE_M)
    union = (truth["instance"] > 0) | (instance > 0)
    return {
        "returns": int(on.sum()),
        "median_mm": 1e3 * float(np.median(error[near])),
        "p95_mm": 1e3 * float(np.quantile(error[near], 0.95)),
        "max_mm": 1e3 * float(error[near].max()),
        "other_surface": float((union & ~near).sum() / union.sum()),
    }


def sensor_of(fast: bool) -> Sensor:
    """The HDL-64E at 10 Hz, one exact ray a pulse; the VLP-16 for a fast run."""
    return load_sensor("velodyne-vlp-16" if fast else "velodyne-hdl-64e").with_(rotation_rate_hz=10, **PLAN)


def run(fast: bool = False) -> dict[str, Any]:
    """Errors and costs of the continuous motion, of 360 and of fewer steps, and of none."""
    sensor, path = sensor_of(fast), drive()
    sim = Simulator(place(), sensor, actors=traffic(4 if fast else 12))
    firing = fire(sensor)
    motion = path.window(START_S, START_S + float(firing.time[-1]))
    empty = sim.with_actors([])
    template = empty.sweep(path, start=START_S)
    stepped = {steps: Stepped(sim, template, steps) for steps in progress(COUNTS, "preparing steps")}
    found = {"continuous": _continuous(sim, path)} | {str(steps): way.sweep() for steps, way in stepped.items()}
    # Only rays that some variant sees on an actor can differ; scenes are built for the times of some of them.
    rows = np.flatnonzero(np.any([instance > 0 for _, instance in found.values()], axis=0))
    rows = np.sort(np.random.default_rng(1).permutation(rows)[: 150 if fast else CHECKED])
    origins, directions = rays(sensor, firing, motion, START_S, 0, 0)
    times, limit = START_S + firing.time[rows], sensor.range_max_m
    truth = rebuilt_hits(sim.world, sim.actors, origins[rows], directions[rows, 0], times, limit)
    variants: dict[str, Any] = {name: errors((a[rows], b[rows]), truth) for name, (a, b) in found.items()}
    repeats = 1 if fast else 5
    placed = sim.tracer.actors
    variants["continuous"] |= {
        "sweep_ms": _milliseconds(lambda: _continuous(sim, path), repeats),
        "update_ms": _milliseconds(lambda: placed.find_present(motion.start, motion.end, motion, limit), repeats),
    }
    for steps, way in stepped.items():
        costs = {"sweep_ms": _milliseconds(way.sweep, repeats), "update_ms": _milliseconds(way.place, repeats)}
        variants[str(steps)] |= costs
    return {
        "actors": len(sim.actors),
        "beams": len(firing),
        "moments": len(np.unique(times)),
        "variants": variants,
        "world_alone_ms": _milliseconds(lambda: _continuous(empty, path), repeats),
        "paper_steps": STEPS,
    }


def _continuous(sim: Simulator, path: Trajectory) -> tuple[Array, Array]:
    sweep = sim.sweep(path, start=START_S)
    reach, instance = np.full(sweep.n_beams, np.inf), np.zeros(sweep.n_beams, int)
    reach[sweep.beam], instance[sweep.beam] = sweep.range, sweep.instance
    return reach, instance


def show(result: dict[str, Any]) -> None:
    """One row a variant."""
    made = table(
        f"{result['actors']} moving cars, moving sensor: against scenes built anew at {result['moments']:,} moments",
        "poses a sweep", "returns\non cars", "median\nerror", "95 %\nbelow", "largest\nnear", "hit another\nsurface",
        "a sweep,\nCPU", "of it\nplacing",
    )  # fmt: skip
    for name, row in result["variants"].items():
        made.add_row(
            name + (" (D)" if name == str(STEPS) else ""),
            f"{row['returns']:,}",
            *(f"{row[key]:.3f} mm" for key in ("median_mm", "p95_mm", "max_mm")),
            f"{row['other_surface']:.2%}",
            f"{row['sweep_ms']:.1f} ms",
            f"{row['update_ms']:.2f} ms",
        )
    console.print(made)
    console.print(
        f"Without any actor a sweep takes {result['world_alone_ms']:.1f} ms. Paper: poses are updated {STEPS} times a "
        "sweep; it gives no error and no time."
    )


def draw(result: dict[str, Any]) -> Figure:
    """Errors and costs beside each other."""
    made, axes = figure(8.4, 3.6, columns=2)
    names = list(result["variants"])
    colours = [BLUE if name == "continuous" else ORANGE if name == str(STEPS) else GREY for name in names]
    for axis, key, label in ((axes[0, 0], "p95_mm", "95 % of errors below (mm)"), (axes[0, 1], "sweep_ms", "CPU (ms)")):
        axis.barh(names, [result["variants"][name][key] for name in names], color=colours)
        axis.set_xscale("log")
        axis.tick_params(axis="x", which="both", labelsize=7, labelrotation=30)
        axis.set_xlabel(label, fontsize=9)
        axis.invert_yaxis()
    axes[0, 0].set_ylabel("poses a sweep", fontsize=9)
    return made


if __name__ == "__main__":
    main("d_motion", "Actors that move within a sweep (D, 4.1).", run, show, draw)
