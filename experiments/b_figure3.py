"""B, Figure 3: speed of the simulation against the number of threads, HDL-64E in the courtyard.

On a machine with other work a second thread may get no second core, and the speedup then measures that work,
not the simulator. So what all other processes took is measured during every sweep, and only sweeps that
had the machine nearly to themselves count. With too few of them the result is given as inconclusive. Numbers of
threads take turns, and the sweeps must be equal whatever the number.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.presenting import BLUE, GREY, INK, ORANGE, console, figure, main, progress, table
from experiments.range_models import Array
from resweep import Simulator, Sweep
from resweep.pose import from_xyz_rpy
from resweep.scenes import CourtyardConfig, courtyard

SENSOR = "velodyne-hdl-64e"
EYE_M = 2.0  # B, 3.5.3: the height of the sensors
SMALL = CourtyardConfig(size_m=40.0, trees=4, triangles=2_000_000, blade_segments=4, tree_gap_m=6.0)
MAX_OTHER_CORES = 0.15  # cores that other processes may use during a sweep that counts
MIN_QUIET_SWEEPS = 3  # sweeps that must count for a speedup to be claimed
PAPER_REAL_TIME = 6.8 / 4.7  # B, 3.3: seconds simulated in a second of wall time, on 40 processors
CLAIM = (
    "Figure 3 shows the speedup next to the ideal line up to about 45 processors, with 191,245,324 triangles; "
    "the HDL-64E ran 1.45 times faster than real time on 40 processors"
)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_counts(available: int) -> list[int]:
    """1, 2, 4 … up to all processors, and twice as many, which should gain nothing."""
    powers = [2**k for k in range(available.bit_length()) if 2**k < available]
    return [*powers, available, 2 * available]


def run(fast: bool = False, seed: int = 3) -> dict[str, Any]:
    """Time sweeps with 1, 2, … threads; the fast version uses a small courtyard."""
    world = courtyard(seed, SMALL if fast else None)
    begin = time.perf_counter()
    simulator = Simulator(world, SENSOR, seed=seed, threads=cores())
    pose = from_xyz_rpy(0.0, 0.0, EYE_M)
    reference = simulator.sweep(pose)  # builds the scene and warms the caches
    ready = time.perf_counter() - begin
    timed, equal = _time_sweeps(simulator, pose, reference, quiet_wanted=3 if fast else 15, limit_s=4 if fast else 150)
    rows = [_row(count, timed, simulator.sensor.sweep_period_s) for count in timed]
    result = {
        "triangles": world.n_triangles,
        "pulses": reference.n_beams,
        "rays": reference.n_beams * simulator.sensor.beam.rays_per_pulse,
        "cores": cores(),
        "ready_s": ready,
        "same_bytes": equal,
        "scaling": rows,
        "paper_real_time": PAPER_REAL_TIME,
        "paper": CLAIM,
    }
    result["conclusive"] = all(row["quiet_sweeps"] >= MIN_QUIET_SWEEPS for row in rows)
    return result


@dataclass(frozen=True)
class Timing:
    """One sweep: seconds of wall time, of this process on all its threads, and cores that others kept busy."""

    wall: float
    cpu: float
    others: float

    @property
    def quiet(self) -> bool:
        """Whether the machine was nearly free of other work; unknown counts as not."""
        return self.others <= MAX_OTHER_CORES


def machine_busy_s() -> float:
    """Core seconds that all processes together have used since the machine started; NaN where it does not tell."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return float("nan")
    user, nice, system, _idle, _wait, interrupt, soft, stolen = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + interrupt + soft + stolen) / os.sysconf("SC_CLK_TCK")


def time_sweep(simulator: Simulator, pose: Array) -> tuple[Sweep, Timing]:
    """One sweep and what it took."""
    busy, cpu, wall = machine_busy_s(), time.process_time(), time.perf_counter()
    sweep = simulator.sweep(pose)
    wall, cpu, busy = time.perf_counter() - wall, time.process_time() - cpu, machine_busy_s() - busy
    return sweep, Timing(wall, cpu, (busy - cpu) / wall)


def _time_sweeps(
    simulator: Simulator, pose: Array, reference: Sweep, quiet_wanted: int, limit_s: float
) -> tuple[dict[int, list[Timing]], bool]:
    """Rounds over all numbers of threads until each has its quiet sweeps, or the time is up."""
    timed: dict[int, list[Timing]] = {count: [] for count in thread_counts(cores())}
    equal, end = True, time.perf_counter() + limit_s
    for _ in progress(range(quiet_wanted * 20), "rounds of sweeps"):
        for count, found in timed.items():
            sweep, timing = time_sweep(simulator.with_threads(count), pose)
            found.append(timing)
            equal = equal and _same(sweep, reference)
        if min(sum(t.quiet for t in found) for found in timed.values()) >= quiet_wanted or time.perf_counter() > end:
            break
    return timed, equal


def _same(a: Sweep, b: Sweep) -> bool:
    names = ("beam", "range", "intensity", "label", "instance")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def _row(count: int, timed: dict[int, list[Timing]], period: float) -> dict[str, Any]:
    """The figures of one number of threads; those that need quiet sweeps are None without any."""
    quiet = [t for t in timed[count] if t.quiet]
    alone = [t.wall for t in timed[1] if t.quiet]
    wall = float(np.median([t.wall for t in quiet])) if quiet else None
    speedup = float(np.median(alone)) / wall if wall and alone else None
    return {
        "threads": count,
        "sweeps": len(timed[count]),
        "quiet_sweeps": len(quiet),
        "others_cores": float(np.median([t.others for t in timed[count]])),
        "cpu_s_per_sweep": float(np.median([t.cpu for t in timed[count]])),
        "busy_cores": float(np.median([t.cpu / t.wall for t in quiet])) if quiet else None,
        "sweeps_per_s": 1.0 / wall if wall else None,
        "real_time": period / wall if wall else None,
        "speedup": speedup,
        "efficiency": speedup / count if speedup else None,
    }


def show(result: dict[str, Any]) -> None:
    """Print the scaling beside what the paper says of its own."""
    made = table(
        f"HDL-64E in the courtyard: {result['triangles']:,} triangles, {result['pulses']:,} pulses of nine rays, "
        f"{result['cores']} cores",
        "threads", "quiet sweeps", "cores of others", "sweeps/s", "speedup", "efficiency", "cores busy",
        "CPU s a sweep", "× real time",
    )  # fmt: skip
    for row in result["scaling"]:
        made.add_row(
            f"{row['threads']}",
            f"{row['quiet_sweeps']} of {row['sweeps']}",
            f"{row['others_cores']:.2f}",
            _or_dash(row["sweeps_per_s"], ".2f"),
            _or_dash(row["speedup"], ".2f"),
            _or_dash(row["efficiency"], ".0%"),
            _or_dash(row["busy_cores"], ".2f"),
            f"{row['cpu_s_per_sweep']:.3f}",
            _or_dash(row["real_time"], ".2f"),
        )
    console.print(made)
    console.print(f"Paper: {CLAIM}.")
    console.print(f"Same bytes with every number of threads: {'yes' if result['same_bytes'] else 'NO'}.")
    if not result["conclusive"]:
        console.print(
            f"INCONCLUSIVE: other processes kept the cores busy, and fewer than {MIN_QUIET_SWEEPS} sweeps of some "
            "number of threads ran undisturbed. Run it again on an idle machine before quoting the speedup."
        )


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def draw(result: dict[str, Any]) -> Figure:
    """Speedup against threads, beside the ideal line up to the number of cores, and speed over real time."""
    made, axes = figure(10.5, 4.2, 1, 2)
    rows = result["scaling"]
    threads = [row["threads"] for row in rows]
    left, right = axes[0]
    ideal = [min(count, result["cores"]) for count in threads]
    left.plot(threads, ideal, "--", color=GREY, linewidth=1.4, label="ideal, up to the number of cores")
    known = [row for row in rows if row["speedup"] is not None]
    left.plot(
        [row["threads"] for row in known],
        [row["speedup"] for row in known],
        "-o",
        color=BLUE,
        label="undisturbed sweeps",
    )
    left.set_ylabel("speedup over one thread", fontsize=9)
    left.set_ylim(0, 1.1 * max(ideal))
    left.set_xticks(threads)
    left.legend(fontsize=8, frameon=False, loc="lower right")
    speeds = [row["real_time"] or 0.0 for row in rows]
    right.bar([str(count) for count in threads], speeds, color=BLUE, width=0.5)
    right.axhline(result["paper_real_time"], color=ORANGE, linestyle="--", linewidth=1.3)
    right.text(
        0.02, result["paper_real_time"], "B on 40 processors", color=ORANGE, fontsize=8, va="bottom",
        transform=right.get_yaxis_transform(),
    )  # fmt: skip
    right.set_ylim(0, 1.15 * max(result["paper_real_time"], *speeds))
    right.set_ylabel("speed over real time, at 10 Hz", fontsize=9)
    for axis in (left, right):
        axis.set_xlabel("threads", fontsize=9)
    title = f"HDL-64E among {result['triangles'] / 1e6:.0f} million triangles on {result['cores']} cores"
    made.suptitle(
        title + ("" if result["conclusive"] else " (inconclusive: the machine was busy)"), fontsize=11, color=INK
    )
    return made


if __name__ == "__main__":
    main("b_figure3", "Speed against the number of threads (B, Figure 3).", run, show, draw)
