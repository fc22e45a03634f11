"""What the benchmarks share: interleaved timing, the machine they ran on, tables and JSON."""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from resweep import __version__
from resweep.errors import ResweepError

Result = dict[str, Any]
# A contender does its work once and returns the seconds that count.
Contender = Callable[[], float]
ROOT = Path(__file__).resolve().parents[1]


def timed(work: Callable[[], object]) -> Contender:
    """A contender that counts the wall time of all of ``work``."""

    def once() -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    return once


def interleaved(
    contenders: Mapping[str, Contender], rounds: int, warm_up: bool = True, steady: bool = False
) -> dict[str, list[float]]:
    """Seconds of every contender in each of ``rounds``, after one round to ``warm_up``.

    All take their turn in every round, so that what disturbs the machine disturbs all of them; the
    order is reversed from round to round, so that none always follows the same neighbour. With ``steady`` a contender
    works twice in its turn and the second time counts: it finds its own data in the caches, as on a drive of many
    sweeps, and not those of another program.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + warm_up):
        names = list(contenders)[:: -1 if number % 2 else 1]
        for name in names:
            if steady:
                contenders[name]()
            taken = contenders[name]()
            if number > 0 or not warm_up:
                seconds[name].append(taken)
    return seconds


def paired_ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """Median of ``over[i] / under[i]``: each round is compared with itself."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def optional(module: str) -> Any:
    """A module that only benchmarks need, or an error that says why it is missing and how to install it."""
    try:
        if module == "open3d" and sys.platform == "linux" and importlib.util.find_spec("libusb_package"):
            # Open3D's wheel wants the system's libusb, which servers lack; the one from PyPI serves as well.
            library = importlib.import_module("libusb_package").get_library_path()
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        raise ResweepError(
            f"this benchmark needs {module}, which cannot be imported ({error}): pip install 'resweep[bench]'"
        ) from error


def measured_apart(module: str, call: str, what: str) -> Result:
    """What ``call``, such as ``measure(3)``, of a benchmark gives in a process of its own, for its memory."""
    code = f"import json; from benchmarks.{module} import *; print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise ResweepError(f"{what}: its process failed ({reason}); is there enough memory?")
    figures: Result = json.loads(done.stdout.splitlines()[-1])
    return figures


def peak_rss_gb() -> float:
    """The most memory this process has held so far, in 10⁹ bytes.

    Linux tells it per program (VmHWM). ``ru_maxrss`` survives an exec, so that a small process
    started by a large one would report the large one's memory: it serves only where there is no /proc.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024 / 1e9
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def machine(*packages: str) -> Result:
    """Processor, cores and versions, with those of further ``packages`` where installed."""
    from resweep import _core
    from resweep.embree_library import open_embree

    open_embree()
    major, minor = _core.embree_version()
    versions = {"resweep": __version__, "python": platform.python_version(), "embree": f"{major}.{minor}"}
    for package in ("numpy", "embreex", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {"cpu": _cpu_model(), "cores": usable_cores(), "platform": platform.platform(), "versions": versions}


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A rich table: the first column to the left, figures to the right, floats to three digits."""
    made = Table(title=title, title_justify="left", min_width=len(title))
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        made.add_row(*(_shown(cell) for cell in row))
    return made


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    options = argparse.ArgumentParser(description=(description or "").split("\n", 1)[0])
    options.add_argument("--fast", action="store_true", help="small scenes and few rounds, to see that it runs")
    options.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options.add_argument("--threads", type=int, default=0, help="threads to trace with (default: all cores)")
    options.add_argument(
        "--save", type=Path, help="also write the figures to this file, as docs/write_scale.py reads them"
    )
    return options


def main(
    run: Callable[[bool, int], Result],
    tables: Callable[[Result], Sequence[Table]],
    description: str | None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a benchmark from the command line; the exit status."""
    options = parser(description).parse_args(arguments)
    return present(lambda: run(options.fast, options.threads), tables, options)


def present(run: Callable[[], Result], tables: Callable[[Result], Sequence[Table]], options: argparse.Namespace) -> int:
    """Run a benchmark, print its tables and what ``options`` of `parser` ask for; the exit status."""
    console = Console(width=None if sys.stdout.isatty() else 110)
    try:
        result = run()
    except ResweepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    threads = options.threads or result["cores"]
    console.print(f"{result['cpu']}, {result['cores']} cores, {threads} threads", highlight=False)
    for made in tables(result):
        console.print(made)
    if options.save is not None:
        options.save.write_text(format_result(result), encoding="utf-8")
    if options.json:
        print(json.dumps(result), flush=True)
    return 0


def format_result(result: Result) -> str:
    """A result as JSON in which each row of figures is one line, so that a changed figure is a changed line."""
    return _format_value(result, "\n") + "\n"


def _format_value(value: Any, line: str) -> str:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if line != "\n" and not any(isinstance(part, dict | list) for part in parts):
        return json.dumps(value)
    inner = f"{line} "
    if isinstance(value, dict):
        rows = [f"{inner}{json.dumps(key)}: {_format_value(part, inner)}" for key, part in value.items()]
        return f"{{{','.join(rows)}{line}}}"
    return f"[{','.join(inner + _format_value(part, inner) for part in value)}{line}]"
