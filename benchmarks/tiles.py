"""Building whole drives tile by tile: peak memory by the number of sweeps, speed, and what a second worker brings.

The drive is the labelled street of `benchmarks.long_street`, written to disk before anything is timed. Every build is
the command ``resweep build`` in a process of its own, whose memory is measured with that of its children; ``--memory``
bounds it. Untiled is `rs.build` of the same sweeps in memory, and saving the world. Ratios are of this run.

python -m benchmarks.tiles [--fast] [--json] [--data FOLDER] [--memory 4GB] [--sizes 100,400,1600] [--save FILE]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.table import Table

import resweep as rs
from benchmarks.long_street import write_drive
from benchmarks.processes import Usage, folder_bytes, resweep_command, run_measured
from benchmarks.report import Result, interleaved, machine, paired_ratio, parser, present, table, timed
from resweep.io import open_log
from resweep.memory import parse_memory
from resweep.simulate import Simulator

SIZES, FAST_SIZES = (100, 400, 1600), (10, 20, 40)
MEMORY = "4GB"
TARGETS = {"ratio_to_untiled": 0.8, "speedup_2_workers": 1.6, "sweeps_per_s_build": 2.0, "streamed_ratio": 0.9}
_UNTILED = (
    "import sys, resweep as rs; log = rs.open_log(sys.argv[1]); rs.build(log[:int(sys.argv[2])]).save(sys.argv[3])"
)


def run(
    fast: bool = False,
    threads: int = 0,
    data: Path | None = None,
    memory: str = MEMORY,
    sizes: tuple[int, ...] | None = None,
) -> Result:
    """Peak gigabytes, seconds and bytes of builds by number of sweeps, and their ratios.

    ``data`` is a folder where the drive is kept for the next run; without, it is written anew and removed.
    """
    sizes = sizes or (FAST_SIZES if fast else SIZES)
    options = read_options()
    result: Result = {"benchmark": "tiles", "fast": fast, **machine("distributed"), "memory": parse_memory(memory)}
    result |= {"tiled": "--memory" in options, "sweeps": list(sizes)}
    with tempfile.TemporaryDirectory(prefix="resweep-tiles-", dir=data) as place:
        folder = Path(place if data is None else data) / f"street-{max(sizes)}{'-fast' if fast else ''}"
        log = write_drive(folder, max(sizes), fast=fast)
        bench = _Builds(log, Path(place), ["--memory", memory] if result["tiled"] else [])
        result |= bench.by_size(sizes)
        result |= bench.against_untiled(sizes[0])
        result |= bench.by_workers(sizes[0]) if "--cluster" in options else {}
        result |= bench.streamed(sizes[0], threads)
        result["log_bytes_per_sweep"] = folder_bytes(log) / max(sizes)
        first = open_log(log)[0]
        result["beams_per_sweep"], result["returns_per_sweep"] = first.n_beams, len(first)
    return result


def read_options() -> str:
    """The help of ``resweep build``: which of its options this version has."""
    wide = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    done = subprocess.run(resweep_command("build", "--help"), capture_output=True, text=True, check=True, env=wide)
    return done.stdout


class _Builds:
    """Builds of the first sweeps of a log, each into a folder of its own, which is removed again."""

    def __init__(self, log: Path, place: Path, options: list[str]) -> None:
        self.log, self.place, self.options = log, place, options
        self.world_bytes = 0

    def by_size(self, sizes: tuple[int, ...]) -> Result:
        """Builds of more and more sweeps in one process."""
        found = {size: self.build(size, keep=size == sizes[0]) for size in sizes}
        worlds = {f"world_bytes_{size}": size_on_disk for size, (_, size_on_disk) in found.items()}
        used = {size: usage for size, (usage, _) in found.items()}
        last = sizes[-1]
        return {
            **{f"peak_gb_{size}": usage.peak_bytes / 1e9 for size, usage in used.items()},
            **{f"build_s_{size}": usage.seconds for size, usage in used.items()},
            **{f"processor_s_{size}": usage.processor_s for size, usage in used.items()},
            **{f"store_bytes_{size}": usage.disk_bytes for size, usage in used.items()},
            **worlds,
            "peak_growth": used[last].peak_bytes / used[sizes[0]].peak_bytes,
            "sweeps_per_s_build": last / used[last].seconds,
        }

    def build(self, size: int, *options: str, keep: bool = False) -> tuple[Usage, int]:
        """What the command takes for so many sweeps, and the bytes of its world."""
        world = self.place / (f"kept-{size}.world" if keep else "built.world")
        words: list[str | Path] = [
            "build",
            self.log,
            "-o",
            world,
            "--sweeps",
            f"0:{size}",
            "--quiet",
            *self.options,
            *options,
        ]
        usage = run_measured(
            resweep_command(*words), f"build of {size} sweeps", world.with_name(f"{world.name}.partial")
        )
        written = folder_bytes(world)
        if not keep:
            shutil.rmtree(world)
        return usage, written

    def against_untiled(self, size: int) -> Result:
        """Both ways of building the same sweeps, one after the other."""
        world = self.place / "untiled.world"
        command = [sys.executable, "-c", _UNTILED, str(self.log), str(size), str(world)]
        untiled = run_measured(command, f"untiled build of {size} sweeps")
        shutil.rmtree(world)
        tiled, _ = self.build(size)
        return {
            "untiled_s": untiled.seconds,
            "untiled_peak_gb": untiled.peak_bytes / 1e9,
            "ratio_to_untiled": untiled.seconds / tiled.seconds,
            "processor_ratio_to_untiled": untiled.processor_s / tiled.processor_s,  # a busy machine disturbs it less
        }

    def by_workers(self, size: int) -> Result:
        """One worker against two, each of one thread."""
        one, two = (self.build(size, "--cluster", f"local:{count}")[0].seconds for count in (1, 2))
        serial = min(max(2 * two / one - 1, 0.0), 1.0)  # Amdahl: two = one (serial + (1 - serial) / 2)
        return {
            "build_s_1_worker": one,
            "build_s_2_workers": two,
            "speedup_2_workers": one / two,
            "efficiency_2_workers": one / two / 2,
            "serial_fraction": serial,
        }

    def streamed(self, size: int, threads: int) -> Result:
        """Sweeps through tiles that are read as the sensor moves, against the world in memory."""
        log, path = open_log(self.log)[:size], self.place / f"kept-{size}.world"
        assert log.sensor is not None
        worlds: dict[str, rs.World | rs.StreamedWorld]
        worlds = {"memory": rs.load_world(path), "streamed": rs.StreamedWorld(path)}
        drives = {name: Simulator(world, log.sensor, threads=threads).run_like(log) for name, world in worlds.items()}
        contenders = {name: timed(partial(_read_all, drive)) for name, drive in drives.items()}
        seconds = interleaved(contenders, 2)
        return {"streamed_ratio": paired_ratio(seconds["memory"], seconds["streamed"])}


def _read_all(log: rs.Log) -> int:
    """Returns of all sweeps, which are computed for it."""
    return sum(len(sweep) for sweep in log)


def tables(result: Result) -> list[Table]:
    """Builds by size, then ratios."""
    rows = [
        [size, result[f"peak_gb_{size}"], result[f"build_s_{size}"], size / result[f"build_s_{size}"]]
        for size in result["sweeps"]
    ]
    how = "tile by tile" if result["tiled"] else "in memory: this version has no tiles"
    ratios = [[name, result[name], target] for name, target in TARGETS.items() if name in result]
    return [
        table(
            f"Builds {how}, {result['memory'] / 1e9:g} GB given", ["sweeps", "peak GB", "s", "sweeps a second"], rows
        ),
        table("Ratios", ["", "measured", "target at least"], ratios),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; the exit status."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, help="folder where the drive is kept for the next run")
    options.add_argument("--memory", default=MEMORY, help="what builds may take (default: %(default)s)")
    options.add_argument("--sizes", help="numbers of sweeps, such as 100,400,1600")
    given = options.parse_args(arguments)

    def measure() -> Result:
        sizes = tuple(int(word) for word in given.sizes.split(",")) if given.sizes else None
        if given.data is not None:
            given.data.mkdir(parents=True, exist_ok=True)
        return run(given.fast, given.threads, given.data, given.memory, sizes)

    return present(measure, tables, given)


if __name__ == "__main__":
    sys.exit(main())
