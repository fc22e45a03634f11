"""This checkout against another one, side by side: speed and fidelity before and after a change.

    python -m benchmarks.against ../before --base-python ../before/.venv/bin/python --benchmarks floor splat_trace
    python -m benchmarks.against ../before --log kitti/sequences/00 --holdout 5

Each benchmark runs in both checkouts by turns, ``--rounds`` times, so that a noisy machine disturbs both alike. Of
every figure that both print, the table shows the medians and their ratio, this one over the other. ``--log`` adds the
figures of ``resweep evaluate LOG --holdout N``, which must not change at all if results are to stay.
A checkout whose native core was built into ``src/resweep`` is used from there, any other as its python has it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]


def run_in(folder: Path, python: str, words: list[str]) -> dict[str, Any]:
    """The JSON object that a command prints last, run in a checkout."""
    environment = dict(os.environ)
    if list((folder / "src" / "resweep").glob("_core*.so")):
        environment["PYTHONPATH"] = str(folder / "src")
    done = subprocess.run([python, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{folder}: {' '.join(words)} failed\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(
    base: Path, base_python: str, commands: dict[str, list[str]], rounds: int
) -> dict[str, dict[str, dict[str, float]]]:
    """For each command and figure: ``base`` and ``here`` (medians) and their ``ratio``."""
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, words in commands.items():
        seen: dict[str, list[dict[str, Any]]] = {"base": [], "here": []}
        for _ in range(rounds):
            seen["base"].append(run_in(base, base_python, words))
            seen["here"].append(run_in(HERE, sys.executable, words))
        result[name] = {}
        for key, value in seen["here"][0].items():
            if isinstance(value, bool) or not isinstance(value, int | float) or key not in seen["base"][0]:
                continue
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
    code = "from resweep.cli import main; main()"
    for log in given.log:
        commands[f"holdout {log.name}"] = [
            "-c",
            code,
            "evaluate",
            str(log.resolve()),
            "--holdout",
            given.holdout,
            "--json",
        ]
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
