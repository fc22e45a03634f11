"""What every experiment shares: its command line, its progress bar and the look of its figures.

An experiment is a module with ``run(fast)``, which computes and returns plain numbers, ``show(result)``,
which prints them beside the paper's claims, and ``draw(result)``, which makes the figure.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

Item = TypeVar("Item")

INK = "#1f2a37"
GRID = "#d9dee5"
BLUE = "#2b6cb0"
ORANGE = "#d9730d"
GREEN = "#2f855a"
GREY = "#8a94a3"
FILL = "#b9c9de"

console = Console(width=None if sys.stdout.isatty() else 132, highlight=False)


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Yield ``items`` behind a progress bar on standard error, which leaves nothing behind."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, description=title, total=total)


def main(
    name: str,
    about: str,
    run: Callable[..., dict[str, Any]],
    show: Callable[[dict[str, Any]], None],
    draw: Callable[[dict[str, Any]], Figure],
    arguments: list[str] | None = None,
) -> None:
    """The command line of one experiment: compute, print, draw and, on demand, end with one line of JSON.

    What ``run`` returns under keys that begin with ``_`` is for the figure alone and stays out of the JSON.
    """
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=about)
    parser.add_argument("--fast", action="store_true", help="a small version that takes seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/experiments"), metavar="DIR")
    takes = inspect.signature(run).parameters
    if "only" in takes:
        parser.add_argument("--only", default="", metavar="PLACE", help="places with this in their name, such as 03")
    if "cache" in takes:
        parser.add_argument("--cache", type=Path, metavar="FILE", help="keep results here, and go on after those kept")
    if "models" in takes:
        parser.add_argument("--models", nargs="+", metavar="NAME", help="these models only, such as splats")
    if "kept" in takes:
        parser.add_argument("--kept", action="store_true", help="show what the cache has, and compute nothing")
    chosen = parser.parse_args(arguments)
    given = {name: getattr(chosen, name) for name in ("only", "cache", "models", "kept") if name in takes}
    result = run(fast=chosen.fast, **given)
    show(result)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / f"{name}.png"
    draw(result).savefig(path, dpi=150, facecolor="white")
    console.print(f"Figure: {path}", soft_wrap=True)
    if chosen.json:
        public = {key: value for key, value in result.items() if not key.startswith("_")}
        print(json.dumps({"experiment": name, "fast": chosen.fast, "figure": str(path), **public}, default=_plain))


def table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        made.add_column(column, justify="right" if index else "left")
    return made


def figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure (inches) and its axes in the house style; ``axes`` has the shape (rows, columns)."""
    made = Figure(figsize=(width, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        style(axis)
    return made, axes


def style(axis: Axes) -> None:
    """Quiet lines and no box, so that the data stand out."""
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color(GREY)
    axis.tick_params(colors=INK, labelsize=8, color=GREY)
    axis.grid(True, color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
