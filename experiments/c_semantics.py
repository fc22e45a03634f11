"""C, 3.2: labels by KPConv, beside a random forest on geometric features and a small network on range images.

All are trained on the same sequences of SemanticKITTI and tested on others: 00, 03 and 05 to train, 06 to choose the
best round by, 02 and 04 to report on. Settings were chosen with 00, 05 and 06 to train and 03 to look at. Each
sequence has ten sweeps that follow each other, so that all training is of three places. Classes are the 19 of the
single-scan benchmark; mIoU is the mean over those that truly occur in what is reported on. Published scores are of all
19 classes, and of networks that had twenty thousand sweeps to train on.

The model of the first row is kept: `experiments.c_tables` builds splats by its labels. A stopped training
goes on from its last round, and with ``--cache`` finished rows are kept too. ``--only`` names one method.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_forest import score_forest, train_forest
from experiments.c_models import KPCONV
from experiments.c_places import DATA, known_street
from experiments.c_range_image import read_images, score_images, train_images
from experiments.presenting import BLUE, GREEN, GREY, console, figure, main, progress, table
from resweep.files import atomic_file
from resweep.learn.semantics import SemanticsConfig
from resweep.learn.semantics.iou import count_pairs, make_scores
from resweep.learn.semantics.rounds import weigh_classes
from resweep.learn.semantics.samples import Sample, Vocabulary, read_samples
from resweep.learn.semantics.trainer import Split
from resweep.segmentation import Scores, load_labeller, read_card

TRAINING, VALIDATION, TEST = ("00", "03", "05"), ("06",), ("02", "04")
IMAGE_STEPS = 480
CONFIG = SemanticsConfig(epochs=12)  # 480 steps: two and a half minutes of one core
# mIoU over all 19 classes of SemanticKITTI's test set, as CENet's paper lists them: of networks trained on GPUs.
PUBLISHED = {"KPConv": 0.588, "RandLA-Net": 0.539, "SalsaNext (range image)": 0.595}
CLAIM = "KPConv labels 52 % mIoU of Paris-CARLA-3D, and 68 % of its vehicles (C, 6.3.1)"


@dataclass
class Task:
    """Logs to train on and to report on, and what the methods make of them."""

    split: Split
    config: SemanticsConfig
    model: Path
    image_steps: int

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The classes."""
        return Vocabulary.load(self.config.labels)

    @cached_property
    def training(self) -> list[Sample]:
        """The training sweeps."""
        return self.read(self.split.training)

    def read(self, logs: Sequence[rs.Log]) -> list[Sample]:
        """The sweeps of some logs."""
        return [sample for log in logs for sample in read_samples(log, self.vocabulary, self.config.network)]

    def score(self, count: Callable[[rs.Log], np.ndarray]) -> dict[str, Any]:
        """The scores over all logs to report on, and the mIoU of each."""
        pairs = {log.name: count(log) for log in self.split.test}
        sweeps = sum(len(log) for log in self.split.test)
        names = self.vocabulary.names
        whole: Scores = make_scores(np.sum(list(pairs.values()), axis=0), names, list(pairs), sweeps)
        each = {name: make_scores(found, names, [name], 1).miou for name, found in pairs.items()}
        return {**whole.model_dump(mode="json"), "miou_by_log": each}


def by_kpconv(task: Task) -> dict[str, Any]:
    """The network, trained unless its model is there, run by onnxruntime."""
    began = time.perf_counter()
    if not task.model.exists():
        split = task.split
        rs.learn_semantics(split.training, task.model, task.config, validate=split.validation, test=split.test)
    trained_s = time.perf_counter() - began
    card, labeller = read_card(task.model), load_labeller(task.model)
    number = task.vocabulary.number
    seconds = points = 0.0

    def count(log: rs.Log) -> np.ndarray:
        nonlocal seconds, points
        total = np.zeros((len(card.classes),) * 2, np.int64)
        mapping = rs.map_labels(log.labels, card.labels)
        for sweep in log:
            began = time.thread_time()
            said = labeller.classify(sweep)
            seconds, points = seconds + time.thread_time() - began, points + len(sweep)
            total += count_pairs(number(mapping.map(sweep.label)), number(said), len(card.classes))
        return total

    found = task.score(count)
    rounds = {name: card.settings[name] for name in ("rounds", "best_round")}
    validation = card.validated.miou if card.validated is not None else None
    return {
        **found,
        **rounds,
        "train_s": trained_s,
        "points_per_core_s": points / seconds,
        "validation_miou": validation,
    }


def by_forest(task: Task) -> dict[str, Any]:
    """A random forest on the features of single points, which has no rounds to choose from."""
    began = time.perf_counter()
    forest = train_forest(task.training, task.config.seed)
    trained_s = time.perf_counter() - began
    found = task.score(lambda log: score_forest(forest, task.read([log]), len(task.vocabulary.ids)))
    return {**found, "train_s": trained_s}


def by_images(task: Task) -> dict[str, Any]:
    """A small U-Net on range images."""
    began = time.perf_counter()
    classes = len(task.vocabulary.ids)
    images = [image for log in task.split.training for image in read_images(log, task.vocabulary)]
    weight = weigh_classes(task.training, classes, task.config.balance)
    network = train_images(images, weight, task.image_steps, seed=task.config.seed)
    trained_s = time.perf_counter() - began
    found = task.score(lambda log: score_images(network, read_images(log, task.vocabulary), classes))
    return {**found, "train_s": trained_s}


METHODS: dict[str, Callable[[Task], dict[str, Any]]] = {
    "kpconv": by_kpconv,
    "random forest": by_forest,
    "range image": by_images,
}


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Every method, or those with ``only`` in their name."""
    chosen = [name for name in METHODS if only.lower() in name]
    if not chosen:
        raise SystemExit(f"--only {only}: no such method; known are {', '.join(METHODS)}")
    with tempfile.TemporaryDirectory() as folder:
        task = _small_task(Path(folder)) if fast else open_task()
        kept: dict[str, Any] = json.loads(cache.read_text()) if cache is not None and cache.exists() else {}
        for name in progress(chosen, "methods"):
            if name not in kept:
                kept[name] = METHODS[name](task)
                if cache is not None:
                    with atomic_file(cache) as file:
                        file.write_text(json.dumps(kept))
    logs = {part: [log.name for log in getattr(task.split, part)] for part in ("training", "validation", "test")}
    rows = [{"method": name, **kept[name]} for name in chosen]
    return {"paper": CLAIM, **logs, "labels": task.config.labels, "published": PUBLISHED, "rows": rows}


def open_task() -> Task:
    """The sequences of SemanticKITTI."""
    root = DATA / "semantickitti_mini" / "sequences"
    if not root.is_dir():
        raise SystemExit(f"{root}: no such folder; put SemanticKITTI's sequences there, or set RESWEEP_TEST_DATA")

    def opened(names: Sequence[str]) -> tuple[rs.Log, ...]:
        return tuple(rs.open_log(root / name, empty_beams=False) for name in names)

    split = Split(opened(TRAINING), opened(VALIDATION), opened(TEST))
    return Task(split, CONFIG, KPCONV, IMAGE_STEPS)


def _small_task(folder: Path) -> Task:
    """Three short streets, and a network of a few steps."""
    streets = [known_street(length_m=36.0, sweeps=2, columns=300, seed=seed).log for seed in (4, 5, 6)]
    split = Split((streets[0],), (streets[1],), (streets[2],))
    small = {"width": 16, "levels": 3, "cell_m": 0.3}
    config = SemanticsConfig.model_validate(
        {"network": small, "epochs": 2, "steps": 6, "crops": 1, "crop_points": 2000}
    )
    return Task(split, config, folder / "model", 2)


def show(result: dict[str, Any]) -> None:
    """Print a row for each method, and a column for each class."""
    rows = result["rows"]
    names = [name for name in Vocabulary.load(result["labels"]).names if any(name in row["iou"] for row in rows)]
    title = f"trained on {', '.join(result['training'])}, tested on {', '.join(result['test'])}: IoU in %"
    made = table(title, "", *(row["method"] for row in rows))
    made.add_row("mIoU", *(f"{100 * row['miou']:.1f}" for row in rows))
    for log in result["test"]:
        made.add_row(f"  of {log}", *(f"{100 * row['miou_by_log'][log]:.1f}" for row in rows))
    made.add_row("accuracy", *(f"{100 * row['accuracy']:.1f}" for row in rows))
    for name in names:
        made.add_row(name, *(f"{100 * row['iou'].get(name, 0):.1f}" for row in rows))
    made.add_row("training (s)", *(f"{row['train_s']:.0f}" for row in rows))
    console.print(made)
    known = ", ".join(f"{name} {100 * value:.1f}" for name, value in result["published"].items())
    console.print(f"Paper: {CLAIM}. Published mIoU on SemanticKITTI, of all its training sweeps: {known}.")


def draw(result: dict[str, Any]) -> Figure:
    """IoU of each class, a bar for each method."""
    rows = result["rows"]
    names = ["mIoU", *(name for name in Vocabulary.load(result["labels"]).names if name in rows[0]["iou"])]
    made, axes = figure(9.0, 3.6)
    axis = axes[0, 0]
    for at, (row, colour) in enumerate(zip(rows, (BLUE, GREEN, GREY), strict=False)):
        values = [100 * (row["miou"] if name == "mIoU" else row["iou"].get(name, 0)) for name in names]
        axis.bar(np.arange(len(names)) + 0.27 * (at - 1), values, 0.25, color=colour, label=row["method"])
    axis.set_xticks(np.arange(len(names)), names, rotation=45, ha="right", fontsize=8)
    axis.set_ylabel("IoU (%)", fontsize=8)
    axis.set_title(f"Tested on {', '.join(result['test'])}, which training did not see", fontsize=9)
    axis.legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("c_semantics", "Labels by KPConv, a random forest and a range-image network (C, 3.2).", run, show, draw)
