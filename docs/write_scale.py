"""Write docs/scale.md from measured figures: python docs/write_scale.py [--measure]

Figures are those that ``benchmarks.tiles`` and ``benchmarks.grassland`` wrote to benchmarks/figures; ``--measure`` runs
both first, which takes hours. What is not measured stands in `ASSUMED`, with its source. A test holds the page to what
this writes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scale.md"
FIGURES = ROOT / "benchmarks" / "figures"
BENCHMARKS = ("tiles", "grassland")
WORKERS = (10, 100, 1000)

# Name: value, unit, and where it comes from.
ASSUMED: dict[str, tuple[float, str, str]] = {
    "core_hour_usd": (0.0425, "USD", "a core hour; assumed, about what AWS asks on demand for half of a c6i.large"),
    "gb_month_usd": (0.023, "USD", "a GB for a month; AWS S3 Standard in us-east-1, first 50 TB"),
    "worker_gb_s": (0.1, "GB/s", "between one worker and the object store; assumed, a share of a 10 Gbit/s machine"),
    "store_gb_s": (10.0, "GB/s", "all that the object store gives to one cluster; assumed"),
    "task_overhead_s": (0.001, "s", 'of the scheduler for each task; distributed.dask.org: "about 1ms of overhead"'),
    "task_s": (1.0, "s", "of work in a task; tasks take 0.1 s at least, and a tile several seconds"),
    "tile_m": (50.0, "m", "side of a tile; the default of a build"),
    "halo_m": (2.0, "m", "read around a tile; assumed, builds take 1 to 10 m by the spacing of points"),
    "sweeps_d": (1.4e6, "sweeps", "D, 5.1"),
    "snippets_d": (5500, "snippets", "D, 5.1; of 25 s each"),
    "passes_d": (3, "passes", "over a place on average; D, 3.1"),
    "grassland_km2": (100.0, "km²", "the place that is asked about"),
    "region_km2": (1.0, "km²", "of grassland that is one log; assumed"),
}


def assumed(name: str) -> float:
    """The value of an assumption."""
    return ASSUMED[name][0]


@dataclass(frozen=True)
class Work:
    """A workload: so many ``units`` that are built apart, core seconds of all of them, and bytes read and kept.

    ``moved`` are bytes that pass between workers and the object store; ``logs`` and ``worlds`` those that are kept.
    """

    title: str
    units: int
    core_s: float
    serial: float
    moved: float
    logs: float
    worlds: float

    def compute_s(self, workers: int) -> tuple[float, int]:
        """Seconds of computing on so many workers, and how many of them share a unit, the best number.

        Groups of g workers take one unit after the other. Within a unit Amdahl's law holds, with the measured share of
        serial work. Groups that find no unit left are idle.
        """
        one = self.core_s / self.units
        best = (math.inf, 1)
        for group in sorted({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, math.ceil(workers / self.units)}):
            if group <= workers:
                rounds = math.ceil(self.units / (workers // group))
                seconds = rounds * one * (self.serial + (1 - self.serial) / group)
                best = (seconds, group) if seconds < 0.999 * best[0] else best  # fewer workers a unit if it is the same
        return best

    def network_s(self, workers: int) -> float:
        """Seconds that the bytes take between the workers and the object store."""
        return self.moved / 1e9 / min(workers * assumed("worker_gb_s"), assumed("store_gb_s"))

    def scheduler_s(self) -> float:
        """Seconds that one scheduler takes for all tasks, whatever the workers."""
        return self.core_s / assumed("task_s") * assumed("task_overhead_s")

    def row(self, workers: int) -> dict[str, Any]:
        """What so many workers take: the longest of the three, which work at the same time."""
        compute, group = self.compute_s(workers)
        parts = {
            "computing": compute,
            "the object store": self.network_s(workers),
            "the scheduler": self.scheduler_s(),
        }
        seconds = max(parts.values())
        return {
            "workers": workers,
            "group": group,
            "seconds": seconds,
            "limit": max(parts, key=lambda name: parts[name]),
            "efficiency": self.core_s / workers / seconds,
            "usd": workers * seconds / 3600 * assumed("core_hour_usd"),
        }

    def most_workers(self) -> int:
        """The number of workers beyond which less than half of them is used."""
        sizes = sorted({round(10 ** (power / 20)) for power in range(140)})
        good = [size for size in sizes if self.row(size)["efficiency"] >= 0.5]
        return max(good, default=1)


def city(tiles: dict[str, Any]) -> Work:
    """D's sweeps, at the rates of our HDL-64E."""
    last = max(tiles["sweeps"])
    sweeps = assumed("sweeps_d")
    units = round(assumed("snippets_d") / assumed("passes_d"))
    store = tiles[f"store_bytes_{last}"] / last
    log, world = tiles["log_bytes_per_sweep"], tiles[f"world_bytes_{last}"] / last
    return Work(
        f"D: {sweeps:,.0f} sweeps of a city",
        units,
        core_s_per_sweep(tiles) * sweeps,
        serial_share(tiles),
        sweeps * (log + 2 * store + 2 * world),
        sweeps * log,
        sweeps * world,
    )


def grassland(grass: dict[str, Any], tiles: dict[str, Any]) -> Work:
    """A's volumes over 100 km²."""
    hectares = 100 * assumed("grassland_km2")
    beams = grass["beams_per_hectare"] * hectares
    log = beams * tiles["log_bytes_per_sweep"] / tiles["beams_per_sweep"]
    world = grass["volumes_per_hectare"] * hectares * grass["bytes_per_volume"]
    last = max(tiles["sweeps"])
    store = beams * tiles[f"store_bytes_{last}"] / last / tiles["beams_per_sweep"]
    return Work(
        f"A: {assumed('grassland_km2'):g} km² of wild grassland",
        round(assumed("grassland_km2") / assumed("region_km2")),
        beams / grass["beams_per_core_s"],
        serial_share(tiles),
        log + 2 * store + 2 * world,
        log,
        world,
    )


def core_s_per_sweep(tiles: dict[str, Any]) -> float:
    """Processor seconds that one more sweep takes: those of the longest build beyond those of the shortest."""
    first, last = min(tiles["sweeps"]), max(tiles["sweeps"])
    if first == last:
        return float(tiles[f"processor_s_{last}"] / last)
    return float((tiles[f"processor_s_{last}"] - tiles[f"processor_s_{first}"]) / (last - first))


def serial_share(tiles: dict[str, Any]) -> float:
    """The share of a build that more workers do not shorten; nothing is known of it without workers."""
    return float(tiles.get("serial_fraction", 0.0))


def render(tiles: dict[str, Any], grass: dict[str, Any]) -> str:
    """The page."""
    works = [grassland(grass, tiles), city(tiles)]
    parts = [_head(tiles, grass), _inputs(tiles, grass), *(_work(work) for work in works), _limits(works, tiles)]
    return "\n\n".join(parts) + "\n"


def _head(tiles: dict[str, Any], grass: dict[str, Any]) -> str:
    lines = [
        "# Large places: time, storage and cost",
        "",
        "<!-- Written by docs/write_scale.py from benchmarks/figures; do not edit. -->",
        "",
        "What a hundred square kilometres of wild grassland (paper A) and a city of 1.4 million sweeps (paper D) would",
        "take, on paper, from figures measured on one machine. A worker is one core.",
    ]
    if tiles["fast"] or grass["fast"]:
        lines += ["", "**The figures below come from a short run with few beams; they show the method and no more.**"]
    if not tiles["tiled"]:
        lines += ["", "**The version that was measured builds in memory, not tile by tile.**"]
    return "\n".join(lines)


def _inputs(tiles: dict[str, Any], grass: dict[str, Any]) -> str:
    last = max(tiles["sweeps"])
    serial = "not measured, taken as 0" if "serial_fraction" not in tiles else f"{tiles['serial_fraction']:.1%}"
    rows = [
        ("beams of a sweep", f"{tiles['beams_per_sweep']:,}"),
        ("core seconds to build one more sweep (hybrid, labelled, `--refine none`)", _figure(core_s_per_sweep(tiles))),
        (f"share of the processor time of {min(tiles['sweeps']):,} sweeps that is spent outside of workers", serial),
        ("bytes of a recorded sweep", _bytes(tiles["log_bytes_per_sweep"])),
        ("bytes of a sweep in the stores of tiles", _bytes(tiles[f"store_bytes_{last}"] / last)),
        ("bytes of the world for a sweep", _bytes(tiles[f"world_bytes_{last}"] / last)),
        *((f"peak memory of {size} sweeps", f"{tiles[f'peak_gb_{size}']:.2f} GB") for size in tiles["sweeps"]),
        ("beams for a hectare of grassland, one pass", f"{grass['beams_per_hectare']:,.0f}"),
        (f"volumes of {grass['voxel_m']:g} m in a hectare", f"{grass['volumes_per_hectare']:,.0f}"),
        ("beams a core second that volumes learn from", f"{grass['beams_per_core_s']:,.0f}"),
        ("bytes of a volume in a world", _figure(grass["bytes_per_volume"])),
    ]
    measured = _table(("measured", ""), rows)
    taken = [(name, f"{_figure(value)} {unit}", source) for name, (value, unit, source) in ASSUMED.items()]
    where = f"Measured on {tiles['cpu']}, {tiles['cores']} cores, with Resweep {tiles['versions']['resweep']}."
    assumptions = _table(("assumed", "", "what, and from where"), taken)
    return f"## What goes in\n\n{where} {_tell_load(tiles)}\n\n{measured}\n\n{assumptions}"


def _tell_load(tiles: dict[str, Any]) -> str:
    """How busy the machine was, and what that means for the figures."""
    loads = [load for pair in tiles.get("load_average", {}).values() for load in pair]
    if not loads:
        return "How busy the machine was is not known."
    rate = f"{tiles['sweeps_per_s_build']:.2g} sweeps a second by the clock"
    summary = f"Its load average was {min(loads):.0f} to {max(loads):.0f} meanwhile"
    if max(loads) <= 1.5 * tiles["cores"]:
        return f"{summary}: it did little else. Builds took {rate}."
    return (
        f"{summary}, far more than its cores: {rate} is what was left for one of many programs. The page is made from "
        "processor seconds, which a busy machine makes longer rather than shorter."
    )


def _work(work: Work) -> str:
    rows = []
    for workers in WORKERS:
        row = work.row(workers)
        share = f"{row['efficiency']:.0%}"
        rows.append(
            (f"{workers:,}", _duration(row["seconds"]), share, row["limit"], f"{row['usd']:,.0f}", row["group"])
        )
    head = ("workers", "time", "of the workers used", "longest part", "USD to compute", "workers a unit")
    month = assumed("gb_month_usd") * (work.logs + work.worlds) / 1e9
    kept = (
        f"{_duration(work.core_s)} of one core, in {work.units:,} units that are built apart. Kept: recordings of "
        f"{_bytes(work.logs)} and worlds of {_bytes(work.worlds)}, {month:,.0f} USD a month. Moved between workers and "
        f"the object store: {_bytes(work.moved)}."
    )
    return f"## {work.title}\n\n{kept}\n\n{_table(head, rows)}"


def _limits(works: list[Work], tiles: dict[str, Any]) -> str:
    task, overhead = assumed("task_s"), assumed("task_overhead_s")
    lines = ["## Where it stops scaling, and why", ""]
    for work in works:
        most = work.most_workers()
        lines.append(
            f"- {work.title.split(':')[0]}: beyond about {_round(most):,} workers, fewer than half of them are used; "
            f"what takes longest then is {work.row(2 * most)['limit']}."
        )
    full, rate = assumed("store_gb_s") / assumed("worker_gb_s"), assumed("store_gb_s")
    last, serial = max(tiles["sweeps"]), serial_share(tiles)
    shuffled = _bytes(2 * tiles[f"store_bytes_{last}"] / last)
    lines += [
        f"- **The scheduler** takes {1e3 * overhead:g} ms for a task, so it keeps {task / overhead:,.0f} workers busy "
        f"with tasks of {task:g} s, and {0.1 / overhead:,.0f} with the shortest, of 0.1 s. More workers need longer "
        "tasks, or a scheduler for each part of the units.",
        f"- **The object store** gives {rate:g} GB/s to all. Beyond {full:,.0f} workers that read and write at their "
        "full rate, each gets less. Beams pass through it twice, as tiles take theirs from many sweeps: that is "
        f"{shuffled} a sweep.",
        "- **Serial parts** of a unit (the calibration of its lasers, planning, what all tiles share) bound how many "
        f"workers it can use: {_most(serial)}. It was measured on {min(tiles['sweeps']):,} sweeps; the calibration "
        "takes no more for a longer drive, so the share falls with its length and the tables are on the safe side. "
        "Units do not wait for each other, so many units hide it, and few do not.",
        f"- **Halos**: a tile reads {assumed('halo_m'):g} m around it, which is {_halo(1):.0%} more ground for tiles "
        f"of {assumed('tile_m'):g} m, {_halo(2):.0%} for half and {_halo(4):.0%} for a quarter of that side. More "
        "workers than tiles are of no use, and smaller tiles to feed them read more twice.",
    ]
    return "\n".join(lines)


def _halo(parts: int) -> float:
    """The ground that a tile reads around itself, as a share of its own, if its side is divided by ``parts``."""
    side = assumed("tile_m") / parts
    return ((side + 2 * assumed("halo_m")) / side) ** 2 - 1


def _most(serial: float) -> str:
    if serial == 0:
        return "it was not measured here, or none was found"
    return f"with the measured {serial:.1%}, no more than {1 / serial:,.0f} times one worker"


def _round(number: float) -> int:
    """Two significant digits, as the model is no better."""
    digits = max(math.floor(math.log10(max(number, 1))) - 1, 0)
    return round(number / 10**digits) * 10**digits


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _bytes(value: float) -> str:
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} B"


def _duration(seconds: float) -> str:
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


def read_figures() -> Iterator[dict[str, Any]]:
    """The measured figures, in the order of `BENCHMARKS`."""
    for name in BENCHMARKS:
        yield json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Measure if asked to, and write the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("--measure", action="store_true", help="run the benchmarks first")
    if options.parse_args().measure:
        for name in BENCHMARKS:
            command = [sys.executable, "-m", f"benchmarks.{name}", "--save", str(FIGURES / f"{name}.json")]
            subprocess.run(command, cwd=ROOT, check=True)
    PAGE.write_text(render(*read_figures()), encoding="utf-8")
    print(f"{PAGE.name}: written")


if __name__ == "__main__":
    main()
