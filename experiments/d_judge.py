"""Does a network that was trained on reality believe our sweeps? One frozen network reads real and simulated ones.

A segmenter (``resweep learn segmenter``) is trained on recorded sweeps of some sequences. `resweep.judge` then lets it
read the held-out sweep 5 of others, and what the default world of the other nine gives for the same beams.
*Agreement* is the share of the beams that both return on which its answer is the one that it gives for the recorded
sweep; *mIoU* is against the true labels. Rows between show what gives the simulation away: geometry, intensities or
drops swapped for the recorded ones. The null is the recorded sweep with 1 cm of noise on its ranges, and the next
recorded sweep; the negative control is boxes and CAD with one noiseless ray a beam.

The draw of intensities was chosen on 02 and 05 with a judge of the same kind (decision 0049); 04 and 06 were not seen.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA, known_street
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, console, figure, main, table
from resweep.learn.segmenter import SegmenterConfig, learn_segmenter
from resweep.perception.judging import JudgingConfig, clouds
from resweep.perception.judging.judgement import CloudScores, Estimate
from resweep.perception.segmentation import load_segmenter

HELD = 5
GOAL_AGREEMENT, GOAL_MIOU_SHARE, GOAL_CARS = 0.93, 0.92, 0.05
VEHICLE = "vehicle"
# The clouds of a judgement as the tables here name them.
CLOUDS = {
    "real": clouds.REAL,
    "real, 1 cm of noise (null)": clouds.NULL_NOISE,
    "next real sweep (null)": clouds.NULL_NEXT,
    "real, only beams that we return": clouds.SHARED,
    "ours": clouds.OURS,
    "ours, no noise": clouds.IDEAL,
    "ours, most likely returns": clouds.LIKELY,
    "our geometry, recorded intensities": clouds.OUR_GEOMETRY,
    "real geometry, our intensities": clouds.OUR_INTENSITY,
    "recorded values, our drops": clouds.OUR_DROPS,
    "our values, recorded drops": clouds.REAL_DROPS,
    "boxes and CAD (negative control)": clouds.CONTROL,
}
_FIGURES = (*CLOUDS, "costs", "miou_share", "feature_distance")


@dataclass(frozen=True)
class Split:
    """Sequences that the judge ``name`` is trained on, and those that it judges."""

    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]


SPLITS = (Split("A", ("00", "03", "04", "06"), ("02", "05")), Split("B", ("00", "02", "03", "05"), ("04", "06")))
_FAST = Split("street", ("street",), ("street",))


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Every test sequence, or those with ``only`` in their names; with ``fast`` a small street judges itself.

    The folder ``cache`` keeps the judges, as NAME.model, and the figures of each sequence.
    """
    kept = KeptResults(None if cache is None else cache / "d_judge.json", _FIGURES)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        models = Path(temporary) if cache is None else cache
        for split in (_FAST,) if fast else SPLITS:
            for name in split.test:
                if only in name or fast:
                    row = kept.find(name, partial(judge_place, name, split, models, fast))
                    rows.append({"place": name, **row})
    if not rows:
        raise SystemExit(f"--only {only}: no such sequence; known are {', '.join(SPLITS[0].test + SPLITS[1].test)}")
    mean = {cloud: {key: _average(rows, cloud, key) for key in ("miou", "agreement")} for cloud in CLOUDS}
    same, ours = (mean[cloud]["miou"] for cloud in ("real, only beams that we return", "ours"))
    gaps = {row["place"]: _find_gap(row) for row in rows}
    return {
        "rows": rows,
        "mean": mean,
        "agreement": mean["ours"]["agreement"],
        "miou_share": None if ours is None or not same else ours / same,
        "car_gap": gaps,
    }


def _average(rows: list[dict[str, Any]], cloud: str, key: str) -> float | None:
    values = [row[cloud][key] for row in rows if row[cloud] is not None]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _find_gap(row: dict[str, Any]) -> float | None:
    """By how much the IoU of vehicles is lower than that of the recorded sweep, only our beams."""
    real, ours = (row[cloud]["iou"].get(VEHICLE) for cloud in ("real, only beams that we return", "ours"))
    return None if real is None or ours is None else float(real - ours)


def open_place(name: str) -> rs.Log:
    """A sequence of SemanticKITTI, or a small street."""
    if name == "street":
        return known_street(36.0, 3, 600).log
    return rs.open_log(DATA / "semantickitti_mini" / "sequences" / name)


def open_judge(split: Split, models: Path, fast: bool) -> Path:
    """The judge of a split, trained if it is absent: on all sweeps of its logs but the last, which choose the round."""
    path = models / f"{split.name}.model"
    if not path.exists():
        models.mkdir(parents=True, exist_ok=True)
        logs = [open_place(name) for name in split.train]
        quick = {"epochs": 1, "steps": 2, "network": {"width": 4, "levels": 2}} if fast else {}
        learn_segmenter(
            [log[:-1] for log in logs],
            path,
            SegmenterConfig.model_validate(quick),
            validate=[log[-1:] for log in logs],
        )
    return path


def judge_place(name: str, split: Split, models: Path, fast: bool) -> Figures:
    """The figures of every cloud of the held-out sweep."""
    log = open_place(name)
    model = load_segmenter(open_judge(split, models, fast)).for_log(log)
    held = min(HELD, len(log) - 2)  # the next sweep is one of the nulls
    config = JudgingConfig(resamples=50) if fast else None
    judged = rs.judge(log, {split.name: model}, held=[held], config=config, progress=True)[split.name]
    scores, features = judged.segmentation, judged.features
    assert scores is not None
    return {
        **{title: _take(scores.find(cloud)) for title, cloud in CLOUDS.items()},
        "costs": {part: _plain("agreement", cost) for part, cost in scores.costs.items()},
        "miou_share": scores.miou_share.value,
        "feature_distance": {} if features is None else dict(features.distance),
    }


def _take(scores: CloudScores | None) -> dict[str, Any] | None:
    if scores is None:
        return None
    return {**_plain("miou", scores.miou), **_plain("agreement", scores.agreement), "iou": dict(scores.iou)}


def _plain(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def show(result: dict[str, Any]) -> None:
    """The means, the agreement by place, and what was reached of the goals."""
    rows = result["rows"]
    places = [row["place"] for row in rows]
    shown = table("A network trained on recordings reads held-out sweeps", "cloud", "mIoU", "agreement", *places)
    for cloud in CLOUDS:
        mean = result["mean"][cloud]
        cells = [_format(mean["miou"]), _format(mean["agreement"])]
        cells += ["–" if row[cloud] is None else _format_agreement(row[cloud]) for row in rows]
        shown.add_row(cloud, *cells)
    console.print(shown)
    costs = table("What one part alone changes of its answers, when it is ours", "part", *places)
    for part in clouds.PARTS:
        costs.add_row(part, *(_format_agreement(row["costs"][part]) for row in rows))
    console.print(costs)
    gaps = ", ".join(f"{place} {_format(gap)}" for place, gap in result["car_gap"].items())
    found = f"{_format(result['agreement'])}, {_format(result['miou_share'])} and by place {gaps}"
    console.print(
        f"Goals: agreement {GOAL_AGREEMENT}, mIoU {GOAL_MIOU_SHARE} of that of the recorded sweep on the same beams, "
        f"IoU of vehicles at most {GOAL_CARS} lower; found {found}."
    )


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _format_agreement(figures: dict[str, Any]) -> str:
    value, low, high = (figures[key] for key in ("agreement", "agreement_low", "agreement_high"))
    return _format(value) + ("" if low is None or high is None else f" ({low:.3f}–{high:.3f})")


def draw(result: dict[str, Any]) -> Figure:
    """Agreement of every cloud."""
    made, axes = figure(8.0, 4.0)
    axis = axes[0, 0]
    values = [result["mean"][cloud]["agreement"] or 0.0 for cloud in CLOUDS]
    axis.barh(range(len(CLOUDS)), values, 0.6, color=[BLUE if cloud == "ours" else GREY for cloud in CLOUDS])
    axis.set_yticks(range(len(CLOUDS)), list(CLOUDS))
    axis.invert_yaxis()
    axis.axvline(GOAL_AGREEMENT, color=BLUE, linestyle="--", linewidth=0.8)
    axis.set_xlabel("share of beams with the answer that the recorded sweep gets", fontsize=9)
    return made


if __name__ == "__main__":
    main("d_judge", "Real and simulated sweeps read by a network that was trained on real ones.", run, show, draw)
