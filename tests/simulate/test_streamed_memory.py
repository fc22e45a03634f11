"""A long drive through a streamed world takes no more memory than a short one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resweep.labels import load_labels
from resweep.worlds import Splats, World
from resweep.worlds.store.assemble import assemble_world
from resweep.worlds.store.save import save_world

TILE_M, N_TILES, N_DISCS = 20.0, 60, 20_000
DRIVE = """
import sys
import numpy as np
import resweep as rs
from resweep.pose import from_xyz_rpy

path, memory, last_m = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
sensor = rs.load_sensor("velodyne-vlp-16").with_(range_max_m=20.0)
world = rs.StreamedWorld(path, memory=memory) if memory else rs.load_world(path)
poses = np.array([from_xyz_rpy(x, 0.0, 1.8) for x in np.linspace(50.0, last_m, 30)])
print(sum(len(sweep) for sweep in rs.Simulator(world, sensor).run(poses)))
# Of this process alone: the peak that getrusage gives begins with that of the process which started it.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A street of 1.2 km: 1.2 million discs, which take some 350 MB when they are traced."""
    folder = tmp_path_factory.mktemp("street")
    rng = np.random.default_rng(0)
    parts = []
    for number in range(N_TILES):
        centre = np.c_[rng.uniform(0, TILE_M, N_DISCS), rng.uniform(-9, 9, N_DISCS), rng.normal(0, 0.01, N_DISCS)]
        centre[:, 0] += number * TILE_M
        splats = Splats(centre, np.tile([0.0, 0.0, 1.0], (N_DISCS, 1)), rng.uniform(0.1, 0.2, N_DISCS), depth=1)
        parts.append(save_world(World([splats]), folder / f"{number}.world", tile_size_m=TILE_M))
    return assemble_world(
        parts,
        folder / "whole.world",
        origin=np.zeros(3),
        tile_size_m=TILE_M,
        meta={},
        labels=load_labels("unknown"),
        calibration=None,
    )


def drive(path: Path, memory_bytes: int, last_m: float) -> tuple[int, float]:
    """Returns and peak memory, MB, of 30 sweeps along the street up to ``last_m``, in a process of their own."""
    command = [sys.executable, "-c", DRIVE, str(path), str(memory_bytes), str(last_m)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    returns, kilobytes = done.stdout.split()
    return int(returns), int(kilobytes) / 1000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_memory_does_not_grow_with_the_drive(street: Path) -> None:
    memory_bytes = 410_000_000  # 110 MB for tiles: a sweep needs six of them
    _, short_mb = drive(street, memory_bytes, 60.0)
    returns, long_mb = drive(street, memory_bytes, 1150.0)
    whole_returns, whole_mb = drive(street, 0, 1150.0)
    assert returns == whole_returns > 100_000
    assert long_mb < short_mb + 120, (short_mb, long_mb, whole_mb)
    assert long_mb < whole_mb - 150, (short_mb, long_mb, whole_mb)
