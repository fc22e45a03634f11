"""Wild grassland as permeable volumes (A): beams, volumes, seconds and bytes a hectare, by our measured rates.

A meadow of grass, shrubs and trees is driven through with the HDL-64E and built as voxels of 0.3 m, the size that A
takes for a mobile vehicle (VI-B). Figures a hectare are those of the ground that holds volumes.

python -m benchmarks.grassland [--fast] [--json] [--save FILE]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks.places import hdl64
from benchmarks.processes import folder_bytes
from benchmarks.report import Result, machine, main, peak_rss_gb, table
from resweep.build import MapConfig, VolumeConfig
from resweep.build.pipeline import build
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import meadow
from resweep.simulate import Simulator
from resweep.worlds.layers.volumes import Volumes

VOXEL_M = 0.3  # A, VI-B
SPEED_MPS, HEIGHT_M = 5.0, 3.5
REACH_M = 24.0  # of the drive from the middle of the meadow, either way
SQUARE_M = 1.0  # ground is counted in squares of this size
_HECTARE_M2 = 10_000.0


def run(fast: bool = False, threads: int = 0) -> Result:
    """Figures a hectare of volumes learned from one pass through the meadow."""
    step = 8 if fast else 1
    sensor = hdl64(1).with_(**{"pattern.laser_rate_hz": 25_000}) if fast else hdl64(1)
    simulator = Simulator(meadow(0), sensor, seed=1, threads=threads)
    times = np.arange(0.0, 2 * REACH_M / SPEED_MPS + 0.3, 0.1)
    poses = np.stack([from_xyz_rpy(SPEED_MPS * at - REACH_M, 0.0, HEIGHT_M) for at in times])
    whole = simulator.run(Trajectory(times, poses))
    log = whole[::step].with_sweeps(list(whole[::step]))
    config = VolumeConfig(voxel_m=VOXEL_M, calibrate=None, map=MapConfig(moving="none"))
    before, begin, used = peak_rss_gb(), time.perf_counter(), time.process_time()
    world = build(log, config, progress=False)
    seconds, processor_s = time.perf_counter() - begin, time.process_time() - used
    peak = peak_rss_gb() - before
    with tempfile.TemporaryDirectory(prefix="resweep-grassland-") as place:
        written = folder_bytes(world.save(Path(place) / "grass.world"))
    hectares = count_ground(world.layers) / _HECTARE_M2
    beams = sum(sweep.n_beams for sweep in log)
    return {
        "benchmark": "grassland",
        "fast": fast,
        **machine(),
        "voxel_m": VOXEL_M,
        "sweeps": len(log),
        "speed_mps": SPEED_MPS,
        "hectares": hectares,
        "beams_per_hectare": beams / hectares,
        "volumes_per_hectare": world.n_primitives / hectares,
        "beams_per_s": beams / seconds,
        "beams_per_core_s": beams / processor_s,
        "bytes_per_volume": written / world.n_primitives,
        "build_gb": peak,
        "seconds": seconds,
    }


def count_ground(layers: tuple[object, ...]) -> float:
    """Square metres of ground, in squares of `SQUARE_M`, that hold volumes."""
    means = np.concatenate([layer.mean for layer in layers if isinstance(layer, Volumes)])
    squares = np.unique(np.floor(means[:, :2] / SQUARE_M).astype(np.int64), axis=0)
    return float(len(squares) * SQUARE_M**2)


def tables(result: Result) -> list[Table]:
    """One row a figure."""
    names = ("hectares", "beams_per_hectare", "volumes_per_hectare", "beams_per_core_s", "bytes_per_volume", "seconds")
    return [table("Grassland as voxels of 0.3 m", ["", "measured"], [[name, result[name]] for name in names])]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
