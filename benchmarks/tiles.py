"""Building whole drives tile by tile: peak memory by the number of sweeps, speed, and what a second worker brings.

The drive is the labelled street of `benchmarks.long_street`, written to disk before anything is timed. Every build is
the command ``resweep build`` in a process of its own, whose memory is measured with that of its children; ``--memory``
bounds it. Worlds are not refined: refinement, the default of a build, comes on top (docs/worlds.md). Untiled is
`rs.build` of the same sweeps in memory, and saving the world. Ratios are of this run.

Seconds of the clock depend on what else the machine does: the load average before and after each part is given with
the figures, and processor seconds stand beside them. With ``--data``, finished parts are kept there, so that a run
that was stopped goes on, as long as Resweep itself is unchanged.

python -m benchmarks.tiles [--fast] [--json] [--data FOLDER [--finished]] [--memory 4GB] [--sizes 100,400,1600]
    [--save FILE]
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.table import Table

import resweep as rs
from benchmarks.long_street import write_drive
from benchmarks.processes import Usage, folder_bytes, resweep_command, run_measured
from benchmarks.report import Result, format_result, interleaved, machine, paired_ratio, parser, present, table, timed
from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.memory import parse_memory
from resweep.simulate import Simulator

SIZES, FAST_SIZES = (100, 400, 1600), (10, 20, 40)
MEMORY = "4GB"
TARGETS = {
    "ratio_to_untiled": 0.8,
    "processor_ratio_to_untiled": 0.8,
    "speedup_2_workers": 1.6,
    "sweeps_per_s_build": 2.0,
    "streamed_ratio": 0.9,
}
_UNTILED = (
    "import sys, resweep as rs; log = rs.open_log(sys.argv[1]); "
    "rs.build(log[:int(sys.argv[2])], rs.HybridConfig(refine='none')).save(sys.argv[3])"
)


def run(
    fast: bool = False,
    threads: int = 0,
    data: Path | None = None,
    memory: str = MEMORY,
    sizes: tuple[int, ...] | None = None,
    finished_only: bool = False,
) -> Result:
    """Peak gigabytes, seconds and bytes of builds by number of sweeps, and their ratios.

    ``data`` is a folder where the drive and the figures of finished parts are kept for the next run; without, the drive
    is written anew and removed. With ``finished_only`` nothing is measured: sizes that were not built yet are left out.
    """
    sizes = sizes or (FAST_SIZES if fast else SIZES)
    options = read_options()
    result: Result = {"benchmark": "tiles", "fast": fast, **machine("distributed"), "memory": parse_memory(memory)}
    result |= {"tiled": "--memory" in options, "sweeps": list(sizes)}
    with tempfile.TemporaryDirectory(prefix="resweep-tiles-", dir=data) as place:
        home = Path(place if data is None else data)
        folder = home / f"street-{max(sizes)}{'-fast' if fast else ''}"
        log = write_drive(folder, max(sizes), fast=fast)
        parts = Parts(home / "finished.json", f"{fast} {memory} {threads} {max(sizes)} {hash_package()}", finished_only)
        log_bytes_per_sweep = folder_bytes(log) / max(sizes)
        if finished_only:
            sizes = tuple(size for size in sizes if f"build {size}" in parts)
            result["sweeps"] = list(sizes)
        bench = _Builds(log, home, ["--refine", "none", *(["--memory", memory] if result["tiled"] else [])])
        if not sizes:
            raise ResweepError(f"{home}: no build is finished there; measure first")
        first = sizes[0]
        result |= parts.run(f"build {first}", lambda: bench.measure(first, keep=True))
        result |= parts.run(f"untiled {first}", lambda: bench.against_untiled(first))
        if "--cluster" in options:
            result |= parts.run(f"workers {first}", lambda: bench.by_workers(first))
        result |= parts.run(f"streamed {first}", lambda: bench.streamed(first, threads))
        for size in sizes[1:]:  # the longest last
            result |= parts.run(f"build {size}", partial(bench.measure, size))
        result |= _sum_up(result, sizes)
        result["load_average"] = parts.loads
        result["log_bytes_per_sweep"] = log_bytes_per_sweep
        sweep = open_log(log)[0]
        result["beams_per_sweep"], result["returns_per_sweep"] = sweep.n_beams, len(sweep)
    return result


def _sum_up(result: Result, sizes: tuple[int, ...]) -> Result:
    """What builds of several sizes say together; a machine that did nothing else has a load average of 2 at most."""
    first, last = sizes[0], sizes[-1]
    return {
        "peak_growth": result[f"peak_gb_{last}"] / result[f"peak_gb_{first}"],
        "sweeps_per_s_build": last / result[f"build_s_{last}"],
        "processor_s_per_sweep": result[f"processor_s_{last}"] / last,
    }


class Parts:
    """Parts of a benchmark, each measured once: ``file`` keeps their figures for a run with the same ``key``.

    With ``finished_only``, parts that are not there have no figures. ``loads`` are the load averages of the machine
    over a minute, before and after each part.
    """

    def __init__(self, file: Path, key: str, finished_only: bool = False) -> None:
        self.file, self.key, self.finished_only = file, key, finished_only
        self.loads: dict[str, list[float]] = {}
        kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        self._finished: dict[str, Result] = kept.get("parts", {}) if kept.get("key") == key else {}

    def __contains__(self, name: str) -> bool:
        return name in self._finished

    def run(self, name: str, measure: Callable[[], Result]) -> Result:
        """The figures of a part, measured unless they are there."""
        if name not in self._finished:
            if self.finished_only:
                return {}
            before = os.getloadavg()[0]
            figures = measure()
            self._finished[name] = {"figures": figures, "load": [before, os.getloadavg()[0]]}
            whole = {"key": self.key, "parts": self._finished}
            self.file.write_text(format_result(whole), encoding="utf-8")
        self.loads[name] = self._finished[name]["load"]
        found: Result = self._finished[name]["figures"]
        return found


def hash_package() -> str:
    """A hash of Resweep's files: figures of another state of it do not belong to a run."""
    folder = Path(rs.__file__).parent
    files = sorted(file for file in folder.rglob("*") if file.suffix in (".py", ".yaml"))
    native = sys.modules["resweep._core"].__file__
    assert native is not None
    sums = (hashlib.sha256(file.read_bytes()).digest() for file in [*files, Path(native)])
    return hashlib.sha256(b"".join(sums)).hexdigest()[:16]


def read_options() -> str:
    """The help of ``resweep build``: which of its options this version has."""
    wide = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    done = subprocess.run(resweep_command("build", "--help"), capture_output=True, text=True, check=True, env=wide)
    return done.stdout


class _Builds:
    """Builds of the first sweeps of a log, each into a folder of its own, which is removed again."""

    def __init__(self, log: Path, place: Path, options: list[str]) -> None:
        self.log, self.place, self.options = log, place, options

    def measure(self, size: int, keep: bool = False) -> Result:
        """A build of so many sweeps in one process."""
        used, world_bytes = self.build(size, keep=keep)
        return {
            f"peak_gb_{size}": used.peak_bytes / 1e9,
            f"build_s_{size}": used.seconds,
            f"processor_s_{size}": used.processor_s,
            f"store_bytes_{size}": used.disk_bytes,
            f"world_bytes_{size}": world_bytes,
        }

    def build(self, size: int, *options: str, keep: bool = False) -> tuple[Usage, int]:
        """What the command takes for so many sweeps, and the bytes of its world."""
        world = self.place / (f"kept-{size}.world" if keep else "built.world")
        for left in (world, world.with_name(f"{world.name}.partial")):  # of a run that was stopped
            if left.exists():
                shutil.rmtree(left)
        args: list[str | Path] = [
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
            resweep_command(*args), f"build of {size} sweeps", world.with_name(f"{world.name}.partial")
        )
        written = folder_bytes(world)
        if not keep:
            shutil.rmtree(world)
        return usage, written

    def against_untiled(self, size: int) -> Result:
        """Both ways of building the same sweeps, one after the other."""
        world = self.place / "untiled.world"
        if world.exists():
            shutil.rmtree(world)
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
        one, two = (self.build(size, "--cluster", f"local:{count}")[0] for count in (1, 2))
        by_clock = 2 * two.seconds / one.seconds - 1  # Amdahl: two = one (serial + (1 - serial) / 2)
        return {
            "build_s_1_worker": one.seconds,
            "build_s_2_workers": two.seconds,
            "processor_s_1_worker": one.processor_s,
            "processor_s_2_workers": two.processor_s,
            "speedup_2_workers": one.seconds / two.seconds,
            "efficiency_2_workers": one.seconds / two.seconds / 2,
            "serial_fraction": one.own_s / one.processor_s,  # what is done outside of workers
            "serial_fraction_by_clock": min(max(by_clock, 0.0), 1.0),
        }

    def streamed(self, size: int, threads: int) -> Result:
        """Sweeps through tiles that are read as the sensor moves, against the world in memory."""
        log, path = open_log(self.log)[:size], self.place / f"kept-{size}.world"
        if not path.exists():
            self.build(size, keep=True)
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
        [
            size,
            result[f"peak_gb_{size}"],
            result[f"build_s_{size}"],
            size / result[f"build_s_{size}"],
            result[f"processor_s_{size}"] / size,
            max(result["load_average"][f"build {size}"]),
        ]
        for size in result["sweeps"]
    ]
    how = "tile by tile" if result["tiled"] else "in memory: this version has no tiles"
    ratios = [[name, result[name], target] for name, target in TARGETS.items() if name in result]
    return [
        table(
            f"Builds {how}, {result['memory'] / 1e9:g} GB given",
            ["sweeps", "peak GB", "s", "sweeps a second", "processor s a sweep", "load average"],
            rows,
        ),
        table("Ratios", ["", "measured", "target at least"], ratios),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; the exit status."""
    options = parser(__doc__)
    options.add_argument(
        "--data", type=Path, help="folder where the drive and finished parts are kept for the next run"
    )
    options.add_argument("--memory", default=MEMORY, help="what builds may take (default: %(default)s)")
    options.add_argument("--sizes", help="numbers of sweeps, such as 100,400,1600")
    options.add_argument("--finished", action="store_true", help="measure nothing: the figures of what --data holds")
    given = options.parse_args(arguments)

    def measure() -> Result:
        sizes = tuple(int(word) for word in given.sizes.split(",")) if given.sizes else None
        if given.data is not None:
            given.data.mkdir(parents=True, exist_ok=True)
        return run(given.fast, given.threads, given.data, given.memory, sizes, given.finished)

    return present(measure, tables, given)


if __name__ == "__main__":
    sys.exit(main())
