"""How the time of a sweep grows with the triangles of the scene, and falls with threads.

The scene is the courtyard with more and more blades, leaves and trees; the sensor an HDL-64E with nine rays
a pulse. An exponent of 0 means that triangles cost no time, of 1 that twice as many take twice as long.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from itertools import count

import numpy as np
from rich.table import Table

from benchmarks.places import hdl64, vegetated
from benchmarks.report import Contender, Result, interleaved, machine, main, table, timed, usable_cores
from resweep.pose import Array
from resweep.simulate import Simulator

TRIANGLES = (1_000_000, 5_000_000, 20_000_000, 75_000_000, 191_245_324, 604_488_350)  # the last two: B's scenes
FAST_TRIANGLES = (200_000, 800_000, 3_000_000)


def run(fast: bool = False, threads: int = 0) -> Result:
    """Sweep seconds by triangles and by threads, with the fitted exponents."""
    sizes, side_m = (FAST_TRIANGLES, 100.0) if fast else (TRIANGLES, 300.0)
    rounds, n_poses = (2, 1) if fast else (5, 4)
    simulators, contenders = [], {}
    for size in sizes:
        world, poses = vegetated(size, side_m)
        simulators.append(Simulator(world, hdl64(9), seed=1, threads=threads))
        contenders[str(size)] = _sweeps(simulators[-1], poses[:n_poses])
    seconds = interleaved(contenders, rounds)
    sweep_s = [statistics.median(taken) / n_poses for taken in seconds.values()]
    counts = [simulator.world.n_triangles for simulator in simulators]
    return {
        "benchmark": "growth",
        "fast": fast,
        **machine(),
        "triangles": counts,
        "sweep_s": sweep_s,
        "triangles_exponent": _exponent(counts, sweep_s),
        **_by_threads(simulators[-1], poses[:n_poses], rounds),
    }


def _by_threads(simulator: Simulator, poses: Sequence[Array], rounds: int) -> Result:
    """Sweep seconds on 1, 2, 4, … threads up to all cores, in the largest scene."""
    cores = max(usable_cores(), 2)
    threads = sorted({*(2**power for power in range(cores.bit_length())), cores})
    contenders = {}
    for number in threads:
        contenders[str(number)] = _sweeps(simulator.with_threads(number), poses)
    seconds = interleaved(contenders, rounds)
    sweep_s = [statistics.median(taken) / len(poses) for taken in seconds.values()]
    return {
        "threads": threads,
        "threads_sweep_s": sweep_s,
        "threads_speedup": [sweep_s[0] / taken for taken in sweep_s],
        "threads_exponent": _exponent(threads, sweep_s),
    }


def _sweeps(simulator: Simulator, poses: Sequence[Array]) -> Contender:
    index = count()

    def work() -> None:
        for pose in poses:
            simulator.sweep(pose, index=next(index)).points  # noqa: B018

    return timed(work)


def _exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log seconds over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def tables(result: Result) -> list[Table]:
    """One table by triangles, one by threads."""
    base = result["sweep_s"][0]
    grown = [[n, 1e3 * taken, taken / base] for n, taken in zip(result["triangles"], result["sweep_s"], strict=True)]
    shared = zip(result["threads"], result["threads_sweep_s"], result["threads_speedup"], strict=True)
    return [
        table(
            f"Sweep time grows as triangles^{result['triangles_exponent']:.2f}", ["triangles", "ms", "× first"], grown
        ),
        table(
            f"Sweep time in the largest scene grows as threads^{result['threads_exponent']:.2f}",
            ["threads", "ms", "speed-up"],
            [[number, 1e3 * taken, speedup] for number, taken, speedup in shared],
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
