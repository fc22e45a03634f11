"""An hour of simulation: whether memory, open files, threads and temporary files stay as they are.

One process sweeps a street with traffic without end, through the Python API and through the writer of the command
line in turn, and notes its resident memory every second. The slope is a least-squares line through the notes after a
warm-up, in MB an hour. Its confidence comes from the means of twenty blocks, since neighbouring notes are alike. Memory
is flat if the whole 95 % interval lies below `FLAT_MB_PER_HOUR` and nothing else grew. It grows if the whole interval
lies above. A short run cannot tell: its interval is wide, and what fills once looks like growth.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.report import Result, machine, table
from resweep.files.partial import print_line
from resweep.io import write_log
from resweep.log import Log
from resweep.scenario import load_scenario
from resweep.scenes import SCENES
from resweep.sensors import load_sensor
from resweep.simulate import Simulator

MINUTES, FAST_MINUTES = 60.0, 0.2
FLAT_MB_PER_HOUR = 10.0
FLAT, GROWS, UNKNOWN = "flat", "grows", "too short to tell"
WAYS = ("api", "writer")
_WARM_UP = 0.25  # share of the notes, in which caches and pools fill
_SHORT_S, _LONG_S = 60.0, 600.0  # what is less than these says nothing; may show what fills only once as growth
_EVERY_S = 1.0
_BLOCKS, _MIN_NOTES = 20, 8
_T_95 = 2.1  # Student's t for 18 degrees of freedom, two-sided
Drive = Callable[[int], Log]
_FORMATS = ("sweep", "pcd", "semantickitti", "nuscenes")
_SWEEPS = 4


def run(minutes: float = MINUTES, threads: int = 0) -> Result:
    """Slope of the memory of each way of simulating, with its interval, and what else grew."""
    result: Result = {"benchmark": "hour", "minutes": minutes, **machine()}
    drive = _make_drive(threads)
    for way in WAYS:
        with tempfile.TemporaryDirectory(prefix="resweep-hour-") as folder:
            work = _sweep_through_api(drive) if way == "api" else _write_logs(drive, Path(folder))
            found = watch(work, 60.0 * minutes / len(WAYS), Path(folder))
        result.update({f"{way}_{key}": value for key, value in found.items()})
    verdicts = {result[f"{way}_verdict"] for way in WAYS}
    result["verdict"] = next(word for word in (GROWS, UNKNOWN, FLAT) if word in verdicts)
    return result


def watch(work: Iterator[int], seconds: float, folder: Path) -> Result:
    """Let ``work``, which yields sweeps, go on for a while; figures of what it took."""
    times: list[float] = []
    memory: list[float] = []
    sweeps = 0
    began = time.monotonic()
    others: list[dict[str, int]] = []
    noted = 0.0
    while (now := time.monotonic() - began) < seconds or len(times) < _MIN_NOTES:
        sweeps += next(work)
        if now - noted >= min(_EVERY_S, seconds / 200):
            noted = now
            gc.collect()
            times.append(now)
            memory.append(read_memory_mb())
            others.append(_count_others(folder))
    return {"sweeps": sweeps, "seconds": now, **judge(np.array(times), np.array(memory), others)}


def judge(times_s: np.ndarray, memory_mb: np.ndarray, others: Sequence[dict[str, int]]) -> Result:
    """The slope after the warm-up in MB an hour, its 95 % interval, what else grew, and the verdict."""
    first = int(_WARM_UP * len(times_s))
    hours, kept = times_s[first:] / 3600.0, memory_mb[first:]
    blocks = [chosen for chosen in np.array_split(np.arange(len(hours)), _BLOCKS) if len(chosen)]
    x = np.array([hours[chosen].mean() for chosen in blocks])
    y = np.array([kept[chosen].mean() for chosen in blocks])
    slope, offset = np.polyfit(x, y, 1)
    rest = y - (slope * x + offset)
    error = np.sqrt((rest @ rest) / max(len(x) - 2, 1) / ((x - x.mean()) @ (x - x.mean())))
    low, high = slope - _T_95 * error, slope + _T_95 * error
    grown = {name: others[-1][name] - others[first][name] for name in others[first]}
    return {
        "mb": float(kept.mean()),
        "mb_per_hour": float(slope),
        "mb_per_hour_low": float(low),
        "mb_per_hour_high": float(high),
        "grown": grown,
        "verdict": _decide(low, high, times_s[-1] - times_s[first], any(value > 0 for value in grown.values())),
    }


def _decide(low: float, high: float, seconds: float, others_grew: bool) -> str:
    if others_grew:
        return GROWS
    if seconds < _SHORT_S:
        return UNKNOWN
    if high < FLAT_MB_PER_HOUR:
        return FLAT
    return GROWS if low > FLAT_MB_PER_HOUR and seconds > _LONG_S else UNKNOWN


def read_memory_mb() -> float:
    """Resident memory of this process now, in 10⁶ bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _count_others(folder: Path) -> dict[str, int]:
    """Open files, threads, and what is left in the folders of temporary files and of outputs."""
    temporary = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith((".resweep", "tmp_resweep"))]
    return {
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "tasks": len(os.listdir("/proc/self/task")),
        "temporary": len(temporary),
        "leftovers": sum(name not in _FORMATS for name in os.listdir(folder)),
    }


def _make_drive(threads: int) -> Drive:
    """A street with its traffic, and a function that drives through it once with a seed."""
    world = SCENES["street"](seed=1)
    trajectory, actors = load_scenario("hidden-car").place(world)
    simulator = Simulator(world, load_sensor("velodyne-vlp-16"), actors=actors, seed=1, threads=threads)
    return lambda seed: simulator.with_seed(seed).run(trajectory, sweeps=_SWEEPS)


def _sweep_through_api(drive: Drive) -> Iterator[int]:
    """Sweep after sweep, of one drive after the other, as scripts do."""
    for number in count():
        for sweep in drive(number):
            len(sweep.points)  # computed when asked for
            yield 1


def _write_logs(drive: Drive, folder: Path) -> Iterator[int]:
    """Log after log, as ``resweep simulate`` writes them, over the last one, in one format after the other."""
    for number in count():
        format = _FORMATS[number % len(_FORMATS)]
        output, key = folder / format, {"config": f"{number}"}
        write_log(drive(number), output, format=format, overwrite=True, progress=False, resume=True, made_from=key)
        yield _SWEEPS
        if number % (10 * len(_FORMATS)) == 0:
            shutil.rmtree(output)  # an output that is new now and then, too


def tables(result: Result) -> list[Table]:
    """A row a way of simulating."""
    rows = []
    for way in WAYS:
        sweeps, mb, slope = (result[f"{way}_{key}"] for key in ("sweeps", "mb", "mb_per_hour"))
        interval = f"{result[f'{way}_mb_per_hour_low']:.1f} to {result[f'{way}_mb_per_hour_high']:.1f}"
        grown = ", ".join(f"{value} {name}" for name, value in result[f"{way}_grown"].items() if value > 0) or "nothing"
        rows.append([way, sweeps, mb, slope, interval, grown, result[f"{way}_verdict"]])
    columns = ["", "sweeps", "MB", "MB an hour", "95 %", "also grown", "verdict"]
    return [table(f"Memory in {result['minutes']:g} minutes of simulation", columns, rows)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit status is 1 if memory grows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=None, help=f"how long in all (default: {MINUTES:g})")
    parser.add_argument("--fast", action="store_true", help="a few seconds, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--threads", type=int, default=0, help="threads to trace with (default: all cores)")
    given = parser.parse_args(arguments)
    minutes = given.minutes or (FAST_MINUTES if given.fast else MINUTES)
    print_line(f"simulating for {minutes:g} minutes")
    result = run(minutes, given.threads)
    console = Console(width=None if sys.stdout.isatty() else 130)
    for made in tables(result):
        console.print(made)
    if given.json:
        print(json.dumps(result), flush=True)
    return 1 if result["verdict"] == GROWS else 0


if __name__ == "__main__":
    sys.exit(main())
