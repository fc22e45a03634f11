"""How much faster than real time an HDL-64E sweeps the courtyard of B, nine rays a pulse.

Eight places of a drive, the sensor 2 m above the ground, each sweep up to its points in NumPy.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from itertools import count

from rich.table import Table

from benchmarks.places import courtyard_place, hdl64
from benchmarks.report import Result, interleaved, machine, main, peak_rss_gb, table, timed
from resweep.pose import Array
from resweep.simulate import Simulator

# B, 3.3: 6.8 s of the HDL-64E simulated in 4.7 s on 40 processors.
PAPER_REALTIME_FACTOR = 6.8 / 4.7
PAPER_PROCESSORS = 40


def run(fast: bool = False, threads: int = 0) -> Result:
    """Real-time factors over the poses, with the size of the scene and the memory it took."""
    begin = time.perf_counter()
    world, poses = courtyard_place(fast)
    poses = poses[::4] if fast else poses
    sim = Simulator(world, hdl64(9), seed=1, threads=threads)
    sim.scene  # noqa: B018  (built on first use, which is not part of a sweep)
    build_s = time.perf_counter() - begin
    index = count()

    def sweep(pose: Array) -> None:
        sim.sweep(pose, index=next(index)).points  # noqa: B018

    contenders = {str(place): timed(partial(sweep, pose)) for place, pose in enumerate(poses)}
    seconds = interleaved(contenders, 2 if fast else 7)
    typical = [statistics.median(taken) for taken in seconds.values()]
    period = sim.sensor.sweep_period_s
    return {
        "benchmark": "courtyard",
        "fast": fast,
        **machine(),
        "threads": threads,
        "realtime_factor": period / statistics.median(typical),
        "realtime_factor_min": period / max(typical),
        "realtime_factor_max": period / min(typical),
        "sweep_s_by_pose": typical,
        "triangles": world.n_triangles,
        "rays_per_pulse": sim.sensor.beam.rays_per_pulse,
        "pulses_per_sweep": sim.sweep(poses[0]).n_beams,
        "build_s": build_s,
        "rss_gb": peak_rss_gb(),
        "paper_realtime_factor": PAPER_REALTIME_FACTOR,
        "paper_processors": PAPER_PROCESSORS,
    }


def tables(result: Result) -> list[Table]:
    """Ours beside the paper's."""
    cores = result["threads"] or result["cores"]
    rows = [
        ["real-time factor, median pose", result["realtime_factor"], result["paper_realtime_factor"]],
        ["slowest pose", result["realtime_factor_min"], "–"],
        ["fastest pose", result["realtime_factor_max"], "–"],
        ["processors", cores, result["paper_processors"]],
        ["triangles", result["triangles"], 191_245_324],
        ["pulses a sweep", result["pulses_per_sweep"], "–"],
        ["rays a pulse", result["rays_per_pulse"], 9],
        ["seconds to build", result["build_s"], "–"],
        ["peak memory, GB", result["rss_gb"], "–"],
    ]
    return [table("HDL-64E at 10 Hz in the courtyard", ["", "resweep", "B, 3.3"], rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
