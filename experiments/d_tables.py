"""D's Tables 1 to 7 with small networks: what training and testing on simulated sweeps is worth (D, 5.2 to 5.5).

A segmenter and a detector are trained on recorded sweeps, on their simulated pairs in every variant, and on mixtures,
each for as many steps, and tested on recorded sweeps of other places. This is done twice: on streets of a synthetic city
whose sensor has a character that no builder is told, and on the recordings of SemanticKITTI at hand. The order that D
claims was declared before anything was computed; a claim is held to by the interval of the paired difference over
places and seeds, and is undecided where that holds 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, table
from experiments.tables import paper, scoring
from experiments.tables.learners import Detecting, Segmenting
from experiments.tables.scenes import Scenes
from experiments.tables.sizes import Size, Split, sizes
from resweep.perception.segmentation.sweep_images import ImageGeometry, find_geometry

_TASKS = ("segmentation", "detection")
_FAST = (paper.REAL, paper.SIM, paper.NO_DROP)
Runs = list[tuple[Sequence[str], scoring.Scores]]


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Every table at every size with ``only`` in its name, or of the one task that it names."""
    rows: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []
    for size in sizes(fast):
        tasks = [task for task in _TASKS if only in ("", task) or only not in _TASKS]
        if only not in ("", *_TASKS) and only.lower() not in size.name.lower():
            continue
        scores = compute(size, tasks, fast, cache)
        rows += list_rows(size, scores)
        verdicts += list_verdicts(size, scores)
    return {"rows": rows, "claims": verdicts, "held": sum(row["verdict"] == "held" for row in verdicts)}


def compute(size: Size, tasks: Sequence[str], fast: bool, cache: Path | None) -> dict[str, dict[str, Runs]]:
    """The scores of every network of a size, by task and training set."""
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    scenes = Scenes(size, cache)
    found: dict[str, dict[str, Runs]] = {}
    for task in tasks:
        names = _FAST if fast else paper.SEGMENTED if task == "segmentation" else paper.DETECTED
        fields = ("pairs",) if task == "segmentation" else (paper.REAL, paper.SIM)
        path = None if cache is None else cache / f"{size.name.replace(' ', '-')}-{task}.json"
        kept = KeptResults(path, fields)
        found[task] = {name: [] for name in names}
        for split in size.splits:
            work = _Segmentation(scenes, split) if task == "segmentation" else _Detection(scenes, split)
            for seed in size.seeds:
                for name in names:
                    key = f"{split.name}, {name}, seed {seed}"
                    scores = kept.find(key, partial(work.score, name, seed))
                    found[task][name].append((split.test, scores))
    return found


class _Segmentation:
    """Segmenters of one split; sweeps are read once."""

    def __init__(self, scenes: Scenes, split: Split) -> None:
        self.scenes, self.split = scenes, split
        self._read: dict[tuple[str, str], Any] = {}
        self._own: Segmenting | None = None

    def score(self, train: str, seed: int) -> Figures:
        """Counts by test place of a network trained on a set."""
        samples = [
            sample for source in self.scenes.list_sources(self.split, train) for sample in self._samples(*source)
        ]
        network = self._work.train(samples, seed)
        tested = {place: self._work.test(network, self._samples(paper.REAL, place)) for place in self.split.test}
        return {"pairs": tested}

    @property
    def _work(self) -> Segmenting:
        if self._own is None:
            geometry: ImageGeometry = find_geometry(
                self.scenes.record(self.split.train[0])[0], 64, self.scenes.size.effort.columns
            )
            self._own = Segmenting(geometry, self.scenes.size.effort)
        return self._own

    def _samples(self, source: str, place: str) -> Any:
        if (source, place) not in self._read:
            self._read[source, place] = self._work.read(self.scenes.load(self.split, source, place))
        return self._read[source, place]


class _Detection:
    """Detectors of one split; sweeps are read once."""

    def __init__(self, scenes: Scenes, split: Split) -> None:
        self.scenes, self.split = scenes, split
        self._read: dict[tuple[str, str], Any] = {}
        self._work = Detecting(scenes.size.effort)

    def score(self, train: str, seed: int) -> Figures:
        """Matches by test place on recorded sweeps and, of the network of recorded ones, on simulated ones (Table 7)."""
        samples = [
            sample for source in self.scenes.list_sources(self.split, train) for sample in self._samples(*source)
        ]
        network = self._work.train(samples, seed)
        found: Figures = {paper.REAL: {}, paper.SIM: {}}
        for side in (paper.REAL, paper.SIM) if train == paper.REAL else (paper.REAL,):
            for place in self.split.test:
                truth = self._samples(paper.REAL, place)
                matched = self._work.test(network, self._samples(side, place), truth)
                for metric, frames in matched.items():
                    found[side].setdefault(metric, {})[place] = frames
        return found

    def _samples(self, source: str, place: str) -> Any:
        if (source, place) not in self._read:
            self._read[source, place] = self._work.read(self.scenes.load(self.split, source, place))
        return self._read[source, place]


def _task_of(metric: str) -> str:
    return "detection" if metric in scoring.RULES or metric in (paper.KAPPA5, paper.KAPPA7) else "segmentation"


def list_rows(size: Size, scores: dict[str, dict[str, Runs]]) -> list[dict[str, Any]]:
    """A row for each figure of D's tables that was computed, beside the paper's."""
    rows = []
    for row in paper.ROWS:
        for metric, printed in row.figures.items():
            runs = scores.get(_task_of(metric), {}).get(row.train, [])
            if not runs:
                continue
            found = scoring.estimate(metric, row.test, runs)
            rows.append(
                {
                    "size": size.name, "table": row.table, "name": row.name, "train": row.train, "test": row.test,
                    "metric": metric, "value": found.value, "low": found.low, "high": found.high, "paper": printed,
                }
            )  # fmt: skip
    return rows


def list_verdicts(size: Size, scores: dict[str, dict[str, Runs]]) -> list[dict[str, Any]]:
    """Which of D's claims held."""
    found = []
    places = len({place for split in size.splits for place in split.test})
    for claim in paper.CLAIMS:
        of = scores.get(_task_of(claim.metric), {})
        worse, better = of.get(claim.worse, []), of.get(claim.better, [])
        if not worse or not better:
            continue
        difference = scoring.compare(claim.metric, worse, better)
        found.append(
            {
                "size": size.name, "table": claim.table, "claim": f"{claim.worse} < {claim.better}",
                "metric": claim.metric, "difference": difference.value, "low": difference.low,
                "high": difference.high, "verdict": scoring.judge(difference, places),
            }
        )  # fmt: skip
    return found


def show(result: dict[str, Any]) -> None:
    """Every table with both sizes beside the paper's figures, and what held."""
    names = list(dict.fromkeys(row["size"] for row in result["rows"]))
    for number in sorted({row["table"] for row in result["rows"]}):
        made = table(f"Table {number} of D", "train", "D's row", "test", "metric", "paper", *names)
        keys = dict.fromkeys(
            (row["train"], row["name"], row["test"], row["metric"], row["paper"])
            for row in result["rows"] if row["table"] == number
        )  # fmt: skip
        for key in keys:
            cells = [_find_cell(result["rows"], number, key, name) for name in names]
            made.add_row(*key[:4], f"{100 * key[4]:.1f}", *cells)
        console.print(made)
    made = table("D's order, by paired differences over places and seeds", "claim", "metric", *names)
    claims = dict.fromkeys((row["table"], row["claim"], row["metric"]) for row in result["claims"])
    for key in claims:
        cells = []
        for name in names:
            row = next((r for r in result["claims"] if (r["table"], r["claim"], r["metric"], r["size"]) == (*key, name)), None)
            cells.append("-" if row is None else f"{row['verdict']} {_points(row['difference'], row['low'], row['high'])}")
        made.add_row(f"{key[0]}: {key[1]}", key[2], *cells)
    console.print(made)


def _find_cell(rows: Sequence[dict[str, Any]], number: int, key: tuple[Any, ...], size: str) -> str:
    for row in rows:
        if row["size"] == size and row["table"] == number and (row["train"], row["name"], row["test"], row["metric"]) == key[:4]:
            return _points(row["value"], row["low"], row["high"])
    return "-"


def _points(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def draw(result: dict[str, Any]) -> Figure:
    """Differences of the claims with their intervals, a panel for each size."""
    names = list(dict.fromkeys(row["size"] for row in result["rows"])) or [""]
    made, axes = figure(6.5 * len(names), 5.5, 1, len(names))
    colours = {"held": BLUE, "undecided": GREY, "contradicted": ORANGE}
    for axis, name in zip(axes[0], names, strict=True):
        rows = [row for row in result["claims"] if row["size"] == name]
        for at, row in enumerate(rows):
            colour = colours[row["verdict"]]
            axis.plot([100 * row["low"], 100 * row["high"]], [at, at], color=colour)
            axis.plot(100 * row["difference"], at, "o", color=colour, markersize=4)
        axis.set_yticks(range(len(rows)), [f"{row['table']}: {row['claim']}" for row in rows], fontsize=6)
        axis.invert_yaxis()
        axis.axvline(0, color=GREY, linewidth=0.8)
        axis.set_xlabel("difference, points")
        axis.set_title(name, fontsize=9, loc="left")
    return made


Compute = Callable[[], Figures]

if __name__ == "__main__":
    main("d_tables", "D's Tables 1 to 7 with small networks.", run, show, draw)
