"""This checkout against another one, side by side: speed and fidelity before and after a change.

    python -m benchmarks.against ../before --base-python ../before/.venv/bin/python --benchmarks floor splat_trace
    python -m benchmarks.against ../before --log kitti/sequences/00 --holdout 5

Each benchmark runs in both checkouts by turns, ``--rounds`` times, so that a noisy machine disturbs both alike. Of
every figure that both print, the table shows the medians and their ratio, this one over the other. ``--log`` adds the
figures of ``resweep evaluate LOG --holdout N``, which must not change at all if results are to stay, and the size of
the world that ``resweep build LOG`` makes.
A checkout whose native core was built into ``src/resweep`` is used from there, any other as its python has it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
COMMAND = "from resweep.cli import main; main()"
SCRATCH = "{scratch}"  # in a command: a folder of its own


def run_in(folder: Path, python: str, args: list[str]) -> dict[str, Any]:
    """The JSON object that a command prints last, run in a checkout."""
    environment = dict(os.environ)
    if list((folder / "src" / "resweep").glob("_core*.so")):
        environment["PYTHONPATH"] = str(folder / "src")
    done = subprocess.run([python, *args], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{folder}: {' '.join(args)} failed\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(folder: Path, python: str, args: list[str]) -> dict[str, float]:
    """The figures of a command by name, nested ones as ``layers/splats``; of ``build`` also the bytes of its world."""
    with TemporaryDirectory() as scratch:
        found = run_in(folder, python, [word.replace(SCRATCH, scratch) for word in args])
        if any(SCRATCH in word for word in args):
            found["bytes"] = sum(file.stat().st_size for file in Path(scratch).rglob("*") if file.is_file())
    return dict(list_figures(found))


def list_figures(found: dict[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a JSON object by their keys."""
    for key, value in found.items():
        if isinstance(value, dict):
            yield from list_figures(value, f"{above}{key}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield above + key, value


def compare(
    base: Path, base_python: str, commands: dict[str, list[str]], rounds: int
) -> dict[str, dict[str, dict[str, float]]]:
    """For each command and figure: ``base`` and ``here`` (medians) and their ``ratio``."""
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, args in commands.items():
        seen: dict[str, list[dict[str, float]]] = {"base": [], "here": []}
        for _ in range(rounds):
            seen["base"].append(measure(base, base_python, args))
            seen["here"].append(measure(HERE, sys.executable, args))
        shared = [key for key in seen["here"][0] if key in seen["base"][0]]
        result[name] = {}
        for key in shared:
            before, after = (statistics.median(run[key] for run in seen[side]) for side in ("base", "here"))
            result[name][key] = {"base": before, "here": after, "ratio": after / before if before else float("nan")}
    return result


def main() -> None:
    """Run the comparison and print its table, and with ``--json`` one object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="the other checkout")
    parser.add_argument("--base-python", help="its python (default: .venv/bin/python in it)")
    parser.add_argument("--benchmarks", nargs="*", default=[], help="modules of benchmarks, such as floor")
    parser.add_argument("--full", action="store_true", help="without --fast")
    parser.add_argument("--log", type=Path, action="append", default=[], help="a log to hold a sweep out of")
    parser.add_argument("--holdout", default="5", help="which sweep (default: 5)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    fast = [] if given.full else ["--fast"]
    commands = {name: ["-m", f"benchmarks.{name}", *fast, "--json"] for name in given.benchmarks}
    for log in given.log:
        path = str(log.resolve())
        commands[f"holdout {log.name}"] = ["-c", COMMAND, "evaluate", path, "--holdout", given.holdout, "--json"]
        commands[f"build {log.name}"] = ["-c", COMMAND, "build", path, "-o", f"{SCRATCH}/a.world", "--json"]
    base = given.base.resolve()
    result = compare(base, given.base_python or str(base / ".venv/bin/python"), commands, given.rounds)
    table = Table("what", "figure", "other", "this", "this / other", title="side by side, medians")
    for name, figures in result.items():
        for key, row in figures.items():
            table.add_row(name, key, *(f"{row[side]:.5g}" for side in ("base", "here", "ratio")))
    Console(width=120).print(table)
    if given.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
