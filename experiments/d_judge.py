"""Does a network that was trained on reality believe our sweeps? One frozen network reads real and simulated ones.

A range-image segmenter (`experiments.range_judge`) is trained on recorded sweeps of some sequences. It then reads the
held-out sweep 5 of others, and what the default world of the other nine gives for the same beams, as
``rs.resimulate`` does. *Agreement* is the share of the beams that both return on which its answer is the one that it
gives for the recorded sweep; *mIoU* is against the true labels. Rows between show what gives the simulation away: the
recorded intensities on our geometry, and ours on the recorded geometry. The null is the recorded sweep with 1 cm of
noise on its ranges.

The draw of intensities was chosen on 02 and 05 with a judge of the same kind (decision 0049); 04 and 06 were not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA, known_street
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, console, figure, main, table
from experiments.range_judge import CLASSES, UNKNOWN, Judge, find_classes, train
from resweep.pose import Array
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.sweep import Sweep

HELD = 5
STEPS, FAST_STEPS = 1200, 4
NULL_SIGMA_M = 0.01
GOAL_AGREEMENT, GOAL_MIOU_SHARE = 0.93, 0.92
_MIN_RETURNS = 20  # of a class, for its IoU to count
CLOUDS = (
    "real",
    "real, 1 cm of noise (null)",
    "real, only beams that we return",
    "ours",
    "ours, no noise",
    "ours, most likely returns",
    "our geometry, recorded intensities",
    "real geometry, our intensities",
    "real geometry, our mean intensities",
)


@dataclass(frozen=True)
class Split:
    """Sequences that a judge is trained on, and those that it judges."""

    train: tuple[str, ...]
    test: tuple[str, ...]


SPLITS = (Split(("00", "03", "04", "06"), ("02", "05")), Split(("00", "02", "03", "05"), ("04", "06")))


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Every test sequence, or those of the split that tests ``only``; with ``fast`` a small street judges itself."""
    kept = KeptResults(cache, CLOUDS)
    rows = []
    for split in [Split(("street",), ("street",))] if fast else SPLITS:
        names = [name for name in split.test if only in ("", name)]
        judges: list[Judge] = []
        for name in names:
            row = kept.find(name, partial(judge_place, name, partial(_train, split, fast, judges)))
            rows.append({"place": name, **row})
    mean = {
        cloud: {figure: float(np.mean([row[cloud][figure] for row in rows])) for figure in ("miou", "agreement")}
        for cloud in CLOUDS
    }
    ours, same = mean["ours"], mean["real, only beams that we return"]
    share = ours["miou"] / same["miou"] if same["miou"] else float("nan")
    return {"rows": rows, "mean": mean, "agreement": ours["agreement"], "miou_share": share, "classes": list(CLASSES)}


def _train(split: Split, fast: bool, judges: list[Judge]) -> Judge:
    """The judge of a split, trained once."""
    if not judges:
        judges.append(train([open_place(name) for name in split.train], FAST_STEPS if fast else STEPS))
    return judges[0]


def open_place(name: str) -> rs.Log:
    """A sequence of SemanticKITTI, or a small street."""
    if name == "street":
        return known_street(36.0, 3, 600).log
    return rs.open_log(DATA / "semantickitti_mini" / "sequences" / name)


def judge_place(name: str, open_judge: Callable[[], Judge]) -> Figures:
    """mIoU, agreement and IoU by class of every cloud of the held-out sweep."""
    log = open_place(name)
    held = min(HELD, len(log) - 1)
    world = rs.build(log[[at for at in range(len(log)) if at != held]], progress=False)
    real = prepare_drive(log)[held]
    drawn, ideal = (rs.resimulate(log[held : held + 1], world, noise=noise)[0] for noise in (True, False))
    retracer = rs.Retracer.for_log(world, prepare_drive(log))
    likely = retracer.predict(real)
    judge = open_judge()
    truth, answer = np.full(real.n_beams, UNKNOWN, np.uint8), np.full(real.n_beams, UNKNOWN, np.uint8)
    classes = find_classes(real.label, log.labels)
    truth[real.beam] = classes
    answer[real.beam] = judge(real.points, real.intensity)
    noisy = replace(real, range=real.range + np.random.default_rng(0).normal(0, NULL_SIGMA_M, len(real)).astype("f4"))
    shared = real.select(np.isin(real.beam, drawn.beam))
    clouds = {
        "real": real,
        "real, 1 cm of noise (null)": noisy,
        "real, only beams that we return": shared,
        "ours": drawn,
        "ours, no noise": ideal,
        "ours, most likely returns": likely,
        "our geometry, recorded intensities": _with_intensities(drawn, real),
        "real geometry, our intensities": _with_intensities(shared, drawn),
        "real geometry, our mean intensities": _with_intensities(shared, ideal),
    }
    return {cloud: _score(judge, sweep, truth, answer) for cloud, sweep in clouds.items()}


def _with_intensities(sweep: Sweep, other: Sweep) -> Sweep:
    """The sweep with the intensities of another on the beams that both return; on the rest its own."""
    found = np.full(sweep.n_beams, np.nan, np.float32)
    found[other.beam] = other.intensity
    given = found[sweep.beam]
    return replace(sweep, intensity=np.where(np.isfinite(given), given, sweep.intensity))


def _score(judge: Judge, sweep: Sweep, truth: Array, answer: Array) -> dict[str, Any]:
    found = judge(sweep.points, sweep.intensity)
    true, same = truth[sweep.beam], answer[sweep.beam]
    both = same != UNKNOWN
    iou = [_find_iou(found[true != UNKNOWN] == at, true[true != UNKNOWN] == at) for at in range(len(CLASSES))]
    known = [value for value in iou if value is not None]
    return {
        "miou": float(np.mean(known)) if known else 0.0,
        "agreement": float(np.mean(found[both] == same[both])) if both.any() else 0.0,
        "iou": iou,
    }


def _find_iou(found: Array, true: Array) -> float | None:
    if np.count_nonzero(true) < _MIN_RETURNS:
        return None
    return float(np.count_nonzero(found & true) / np.count_nonzero(found | true))


def show(result: dict[str, Any]) -> None:
    """The means, and the agreement by place."""
    places = [row["place"] for row in result["rows"]]
    shown = table("A network trained on recordings reads held-out sweeps", "cloud", "mIoU", "agreement", *places)
    for cloud in CLOUDS:
        values = [result["mean"][cloud]["miou"], result["mean"][cloud]["agreement"]]
        values += [row[cloud]["agreement"] for row in result["rows"]]
        shown.add_row(cloud, *(f"{value:.3f}" for value in values))
    console.print(shown)
    console.print(
        f"Goals: agreement {GOAL_AGREEMENT}, mIoU {GOAL_MIOU_SHARE} of that of the recorded sweep on the same beams; "
        f"found {result['agreement']:.3f} and {result['miou_share']:.3f}."
    )


def draw(result: dict[str, Any]) -> Figure:
    """Agreement of every cloud."""
    made, axes = figure(8.0, 3.6)
    axis = axes[0, 0]
    values = [result["mean"][cloud]["agreement"] for cloud in CLOUDS]
    axis.barh(range(len(CLOUDS)), values, 0.6, color=[BLUE if cloud == "ours" else GREY for cloud in CLOUDS])
    axis.set_yticks(range(len(CLOUDS)), CLOUDS)
    axis.invert_yaxis()
    axis.axvline(GOAL_AGREEMENT, color=BLUE, linestyle="--", linewidth=0.8)
    axis.set_xlabel("share of beams with the answer that the recorded sweep gets", fontsize=9)
    return made


if __name__ == "__main__":
    main("d_judge", "Real and simulated sweeps read by a network that was trained on real ones.", run, show, draw)
