"""A labelled drive of any length down a street, recorded by the HDL-64E, and its sweeps on disk for benchmarks.

The street is made of blocks, each from the seed and its own number. A sweep is traced in the blocks within its range
and in nothing else, so a drive of kilometres takes the memory of a few blocks, and a sweep is the same whatever was
computed before it.

python -m benchmarks.long_street FOLDER --sweeps 1600 [--fast]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import OrderedDict
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

import resweep
from benchmarks.places import hdl64
from resweep.errors import ResweepError
from resweep.io import open_log, write_log
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenes import StreetConfig, street
from resweep.scenes.scene_labels import SCENE_LABELS
from resweep.sensors import Sensor
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.worlds import World

BLOCK_M = 60.0
SPEED_MPS = 10.0
SENSOR_HEIGHT_M = 1.73  # as KITTI's stands
LANE_M = -1.5  # the drive keeps to the right of the road's middle
SWAY_M, SWAY_PERIOD_S = 0.4, 7.0
KNOT_S = 0.1  # between poses of the drive
FAST_STEP_DEG, FAST_PULSES_HZ = 1.675, 50_000  # of the coarse sensor: a quarter of the lasers, a fifth of the pulses
_FIRST = 1 << 30  # seeds are not negative, numbers of blocks may be
_BLOCKS, _SIMULATORS = 16, 2  # kept; the street within range of a sweep is five to seven blocks


class Street:
    """The endless street of a seed: block k lies from k · `BLOCK_M` to (k + 1) · `BLOCK_M` along x."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._blocks: OrderedDict[int, World] = OrderedDict()

    def block(self, number: int) -> World:
        """One block, around an origin of its own."""
        if number not in self._blocks:
            drawn = np.random.default_rng([self.seed, number + _FIRST]).integers(2**31)
            made = street(int(drawn), StreetConfig(length_m=BLOCK_M))
            middle = ((number + 0.5) * BLOCK_M, 0.0, 0.0)
            self._blocks[number] = World(made.layers, middle, labels=SCENE_LABELS)
            while len(self._blocks) > _BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def blocks(self, first: int, last: int) -> World:
        """Blocks ``first`` to ``last``, both included, as one world around the origin of the first."""
        return reduce(add, (self.block(number) for number in range(first, last + 1)))


class _Drive:
    """Sweeps of a drive down the street, each traced in the blocks within its range."""

    def __init__(self, sensor: Sensor, trajectory: Trajectory, seed: int, threads: int) -> None:
        self.sensor, self.trajectory, self.seed, self.threads = sensor, trajectory, seed, threads
        self.street = Street(seed)
        self._simulators: OrderedDict[tuple[int, int], Simulator] = OrderedDict()

    def sweep(self, index: int) -> Sweep:
        """Sweep ``index``, at its time."""
        start = index * self.sensor.sweep_period_s
        return self._simulator(start).sweep(self.trajectory, start=start, index=index)

    def _simulator(self, start: float) -> Simulator:
        """What sweeps from ``start`` on: the blocks are those that the sweep's own beams can meet."""
        begin, end = (float(self.trajectory.at(start + gap)[0, 3]) for gap in (0.0, self.sensor.sweep_period_s))
        reach = self.sensor.range_max_m
        key = math.floor((begin - reach) / BLOCK_M), math.floor((end + reach) / BLOCK_M)
        if key not in self._simulators:
            world = self.street.blocks(*key)
            self._simulators[key] = Simulator(world, self.sensor, seed=self.seed, threads=self.threads)
            while len(self._simulators) > _SIMULATORS:
                self._simulators.popitem(last=False)
        self._simulators.move_to_end(key)
        return self._simulators[key]


def open_drive(sweeps: int, *, fast: bool = False, seed: int = 0, threads: int = 0) -> Log:
    """A drive of ``sweeps`` sweeps at 10 Hz and 10 m/s, computed as it is read, labelled like SemanticKITTI.

    The sensor is the HDL-64E with a ray a pulse, a fifth of its pulses if ``fast``. Memory does not
    grow with ``sweeps``. A shorter drive is the beginning of a longer one, byte for byte.
    """
    if sweeps < 1:
        raise ResweepError(f"drive: {sweeps} sweeps; give one at least")
    sensor = choose_sensor(fast)
    trajectory = _drive(sweeps, sensor.sweep_period_s)
    drive = _Drive(sensor, trajectory, seed, threads)
    times = np.arange(sweeps) * sensor.sweep_period_s
    return Log(
        drive.sweep,
        times,
        trajectory.at(times),
        name=f"street of {sweeps} sweeps",
        sensor=sensor,
        labels=SCENE_LABELS,
        empty_beams=EmptyBeams("fired", "simulated"),
        meta={"resweep": resweep.__version__, "seed": seed, "scene": "long street"},
    )


def choose_sensor(fast: bool) -> Sensor:
    """The HDL-64E at 10 Hz, with a fifth of its pulses if ``fast``."""
    sensor = hdl64(1)
    if not fast:
        return sensor
    blocks = {f"pattern.{block}.elevation_resolution_deg": FAST_STEP_DEG for block in ("upper", "lower")}
    return sensor.with_(**blocks, **{"pattern.laser_rate_hz": FAST_PULSES_HZ})


def _drive(sweeps: int, period_s: float) -> Trajectory:
    """Down the street at `SPEED_MPS`, swaying in the lane; knots do not depend on the number of sweeps."""
    times = np.arange(math.ceil((sweeps + 1) * period_s / KNOT_S) + 1) * KNOT_S
    angle = 2 * np.pi * times / SWAY_PERIOD_S
    side, slope = SWAY_M * np.sin(angle), SWAY_M * 2 * np.pi / SWAY_PERIOD_S * np.cos(angle) / SPEED_MPS
    rows = zip(SPEED_MPS * times, LANE_M + side, np.arctan(slope), strict=True)
    poses: Array = np.stack([from_xyz_rpy(x, y, SENSOR_HEIGHT_M, yaw=float(yaw)) for x, y, yaw in rows])
    return Trajectory(times, poses)


def write_drive(folder: Path, sweeps: int, *, fast: bool = False, format: str = "sweep", show: bool = False) -> Path:
    """The drive as a log in ``folder``, written unless a whole one is there; returns the folder, for `open_log`."""
    log = open_drive(sweeps, fast=fast)
    if folder.exists():
        there = open_log(folder)
        if (len(there), there.name, there.sensor) != (sweeps, log.name, log.sensor):
            raise ResweepError(f"{folder}: holds another log, of {len(there)} sweeps; choose another folder")
        return folder
    write_log(
        log, folder, format=format, progress=show, resume=True, made_from={"inputs": "long street", "config": f"{fast}"}
    )
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Write a drive from the command line; the exit status."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("folder", type=Path, help="where the log is written")
    options.add_argument("--sweeps", type=int, default=1600)
    options.add_argument("--format", default="sweep", help="sweep (lossless), semantickitti, …")
    options.add_argument("--fast", action="store_true", help="a fifth of the pulses")
    given = options.parse_args(arguments)
    try:
        write_drive(given.folder, given.sweeps, fast=given.fast, format=given.format, show=True)
    except ResweepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(open_log(given.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
