"""D, 5.5, table 8, figures 10 and 11: objects that no recording shows, and what a network makes of them.

A segmenter is trained on recorded sweeps of some sequences of SemanticKITTI, which hold no such objects. In worlds of
other sequences animals cross the path of the ego, construction elements block it, and both lie about; their meshes are
our own (`resweep.perception.open_set.unknown_objects`). The sweeps are drawn, as by default, at recorded poses and with
the recorded beams. An open-set baseline (`resweep.perception.open_set.baseline`) reads them: which returns are strange
is decided on the sweeps that the segmenter was trained on, and its settings were chosen on scenes of CHOSEN_ON.
``--models`` adds open-set models of users, as MODULE:NAME.

UQ and PQ are defined in `resweep.perception.open_set.panoptic_quality`. D tests OSIS, a network made for the task, on
20,000 sweeps of its own recordings; its row "Real" is of other data. Our row "recorded" has no unknown objects: the
quality of known classes on the recorded sweeps at the same poses. "without" is their simulation with nothing put in.
Intervals are of bootstraps over places and their sweeps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.d_judge import HELD, SPLITS, Split, open_judge, open_place
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import console, figure, main, progress, table
from resweep.perception.open_set import (
    THINGS,
    UNKNOWN_CLASS,
    OpenSetConfig,
    OpenSetModel,
    Quality,
    Segments,
    add_up,
    find_quality,
    fit_baseline,
    load_open_set_model,
)
from resweep.perception.open_set.scenes import KINDS, make_scene
from resweep.perception.open_set.true_segments import RecordedInstances, find_true_segments
from resweep.perception.open_set.unknown_objects import make_bank
from resweep.perception.segmentation import load_segmenter
from resweep.scenario.ground import find_ground
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.sweep import Sweep

CHOSEN_ON = ("03",)  # with the segmenter A, which was trained there: the best sum of UQ and the PQ of vehicles
SWEEPS = (2, 5, 8)  # poses of each sequence; the world is built without sweep 5
FITTED_ON = (2, 7)  # sweeps of each training sequence from which the threshold is taken
MEASURES = ("energy", "softmax", "distance")
RECORDED, WITHOUT, ALL = "recorded", "without", "all scenes"
TESTS = (*KINDS, ALL, WITHOUT, RECORDED)
# Metric: the class, the figure of `Quality`, and what D's table 8 has for LiDARsim and for real sweeps.
METRICS: dict[str, tuple[str, str, float | None, float | None]] = {
    "UQ": (UNKNOWN_CLASS, "uq", 0.549, 0.660),
    "unknown PQ": (UNKNOWN_CLASS, "pq", None, None),
    "unknown recall": (UNKNOWN_CLASS, "recall", None, None),
    "vehicle PQ": ("vehicle", "pq", 0.877, 0.935),
    "road PQ": ("road", "pq", 0.934, 0.977),
}
_FIRST_INSTANCE = 1_000_000  # of what is put in; recorded instances are below
_DRAWS = 1000
_FAST = Split("street", ("street",), ("street",))
PICTURED = "05"  # the place that the figure shows, where it is among those that were tested
_VIEW_M = 25.0


def run(
    fast: bool = False, only: str = "", cache: Path | None = None, models: Sequence[str] | None = None
) -> dict[str, Any]:
    """Scenes in every test sequence, or those with ``only`` in their names; with ``fast`` in a small street.

    The folder ``cache`` keeps the segmenters as NAME.model, the worlds as SEQUENCE.world, and the figures.
    ``models`` are measures of the baseline, and open-set models of users as MODULE:NAME.
    """
    chosen = tuple(models or (MEASURES[:1] if fast else MEASURES))
    kept = KeptResults(None if cache is None else cache / "d_openset.json", ("sweeps", "pictures"))
    places: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if cache is None else cache
        for split in (_FAST,) if fast else SPLITS:
            for name in split.test:
                if only in name or fast:
                    compute = partial(judge_place, name, split, folder, chosen, fast)
                    places[name] = kept.find(f"{name} {' '.join(chosen)}", compute)
    if not places:
        raise SystemExit(f"--only {only}: no such sequence; known are {', '.join(SPLITS[0].test + SPLITS[1].test)}")
    sweeps = [row for place in places.values() for row in place["sweeps"]]
    rows = [row for model in chosen for row in make_rows(model, [row for row in sweeps if row["model"] == model])]
    figures = {
        model: {f"{row['test']}, {row['metric']}": row["value"] for row in rows if row["model"] == model}
        for model in chosen
    }
    figures["D"] = {f"{row['test']}, {row['metric']}": row["paper"] for row in rows}
    pictures = places.get(PICTURED, next(iter(places.values())))["pictures"]
    return {
        "places": list(places),
        "models": list(chosen),
        "scenes": len(sweeps) // len(chosen),
        "rows": rows,
        "figures": figures,
        "_pictures": pictures,
    }


def open_world(name: str, log: rs.Log, folder: Path) -> rs.World:
    """The default world of a log without its held-out sweep, built if it is absent."""
    path = folder / f"{name}.world"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rs.build(log[[at for at in range(len(log)) if at != HELD]]).save(path)
    return rs.load_world(path)


def open_models(split: Split, folder: Path, chosen: Sequence[str], fast: bool, log: rs.Log) -> dict[str, OpenSetModel]:
    """The models by name: baselines fitted to the sequences that the segmenter was trained on, and those of users."""
    segmenter = load_segmenter(open_judge(split, folder, fast))
    known = [sweep for name in split.train for sweep in _pick(open_place(name), FITTED_ON)]
    found: dict[str, OpenSetModel] = {}
    for name in chosen:
        if name in MEASURES:
            config = OpenSetConfig.model_validate({"measure": name})
            found[name] = fit_baseline(segmenter.for_log(log), known, config)
        else:
            found[name] = load_open_set_model(name)
    return found


def _pick(log: rs.Log, wanted: Sequence[int]) -> list[Sweep]:
    return [log[at] for at in sorted({min(at, len(log) - 1) for at in wanted})]


def judge_place(name: str, split: Split, folder: Path, chosen: Sequence[str], fast: bool) -> Figures:
    """The counts of each class in each scene of a place by each model, and pictures of the first model's answers."""
    log = open_place(name)
    models = open_models(split, folder, chosen, fast, log)
    recorded = {key: RecordedInstances(log, model) for key, model in models.items()}
    sweeps: list[Figures] = []
    pictures: list[Figures] = []
    scenes = make_sweeps(name, log, open_world(name, log, folder))
    for kind, sweep, inserted in progress(scenes, f"scenes in {name}", len(_pick(log, SWEEPS)) * (2 + len(KINDS))):
        for key, model in models.items():
            true = find_true_segments(sweep, log.labels, model, recorded[key], inserted)
            found = model.find_segments(sweep)
            counts = find_quality(found, true, model.classes, THINGS)
            values = {at: [item.iou_sum, item.tp, item.fp, item.fn] for at, item in counts.items()}
            sweeps.append({"place": name, "test": kind, "model": key, "counts": values})
            if kind in KINDS and inserted and key == chosen[0] and kind not in [item["test"] for item in pictures]:
                pictures.append({"test": kind, **_take_picture(sweep, true, found, model.classes)})
    return {"sweeps": sweeps, "pictures": pictures}


def make_sweeps(name: str, log: rs.Log, world: rs.World) -> Iterator[tuple[str, Sweep, list[int]]]:
    """The test, the sweep and the instances of what was put in, for every scene of a place and the sweeps without."""
    prepared, ground, bank = prepare_drive(log), find_ground(world), make_bank()
    retracer = rs.Retracer.for_log(world, prepared)
    for at in sorted({min(at, len(log) - 1) for at in SWEEPS}):
        real = prepared[at]
        yield RECORDED, real, []
        yield WITHOUT, retracer.run(prepared[at : at + 1])[0], []
        for kind in KINDS:
            seed = [*name.encode(), at]
            actors = make_scene(kind, ground, real.pose, float(prepared.times[at]), bank, _FIRST_INSTANCE, seed)
            sweep = retracer.with_actors(actors).run(prepared[at : at + 1])[0]
            yield kind, sweep, [actor.instance for actor in actors]


def make_rows(model: str, sweeps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of a model with their intervals, a row for each test and metric."""
    rows = []
    for test in TESTS:
        own = [row for row in sweeps if row["test"] == test or (test == ALL and row["test"] in KINDS)]
        names = list(dict.fromkeys(row["place"] for row in own))
        for metric, (name, part, simulated, real) in METRICS.items():
            if name == UNKNOWN_CLASS and test in (WITHOUT, RECORDED):
                continue  # nothing unknown was put in
            counts = [[_count(row, name) for row in own if row["place"] == place] for place in names]
            value, low, high = find_interval(counts, part)
            paper = {ALL: simulated, RECORDED: real}.get(test)
            objects = sum(item.tp + item.fn for place in counts for item in place)
            given = {"table": "8", "train": "recorded", "test": test, "model": model, "metric": metric}
            rows.append({**given, "value": value, "low": low, "high": high, "paper": paper, "objects": objects})
    return rows


def _count(row: dict[str, Any], name: str) -> Quality:
    """The counts of a class in a sweep."""
    return Quality(*row["counts"].get(name, (0.0, 0, 0, 0)))


def find_interval(places: Sequence[Sequence[Quality]], part: str) -> tuple[float | None, float | None, float | None]:
    """A figure of the sweeps of all places together, with the interval that holds 95 % of the bootstraps.

    Each draws as many places, and of each of them as many sweeps.
    """
    value = getattr(add_up(item for place in places for item in place), part)
    if not np.isfinite(value):
        return None, None, None
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(_DRAWS):
        drawn = [places[at] for at in rng.integers(len(places), size=len(places))]
        items = (place[at] for place in drawn for at in rng.integers(len(place), size=len(place)))
        draws.append(getattr(add_up(items), part))
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return float(value), float(low), float(high)


def _take_picture(sweep: Sweep, true: Segments, found: Segments, classes: Sequence[str]) -> dict[str, Any]:
    """Returns near the sensor from above, in centimetres, with their true and their predicted class."""
    near = np.abs(sweep.points[:, :2]).max(axis=1) < _VIEW_M
    unknown = list(classes).index(UNKNOWN_CLASS)
    rows = np.flatnonzero(near & ((np.arange(len(sweep)) % 4 == 0) | (true.kind == unknown) | (found.kind == unknown)))
    columns = {"x": 100 * sweep.points[rows, 0], "y": 100 * sweep.points[rows, 1], "true": true.kind[rows]}
    columns |= {"found": found.kind[rows], "instance": np.where(found.instance[rows] > 0, found.instance[rows], 0)}
    return {"classes": list(classes), **{key: np.round(values).astype(int).tolist() for key, values in columns.items()}}


def show(result: dict[str, Any]) -> None:
    """Table 8, a row for each kind of scenes and model."""
    shown = table(
        f"D, table 8, in % ({result['scenes']} sweeps of {', '.join(result['places'])})", "scenes, model", *METRICS
    )
    for test in TESTS:
        for model in result["models"]:
            own = {row["metric"]: row for row in result["rows"] if row["test"] == test and row["model"] == model}
            shown.add_row(f"{test}, {model}", *(_format(own.get(metric)) for metric in METRICS))
    shown.add_row("D: LiDARsim, OSIS", *(_write(simulated) for _, _, simulated, _ in METRICS.values()))
    shown.add_row("D: real, OSIS", *(_write(real) for _, _, _, real in METRICS.values()))
    console.print(shown)
    console.print(
        "In brackets: 95 % of bootstraps over places and their sweeps. 'recorded' and 'without' hold nothing unknown."
    )


def _write(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _format(row: dict[str, Any] | None) -> str:
    if row is None or row["value"] is None:
        return "-"
    return f"{100 * row['value']:.0f} ({100 * row['low']:.0f}-{100 * row['high']:.0f})"


_COLOURS = {
    "vehicle": "#d64541",
    "road": "#c9c3d6",
    "other ground": "#d8d3c4",
    "building": "#a3b1c2",
    "vegetation": "#b9cbb0",
    "pole": "#8d7f9d",
    "person": "#e08a2e",
}
_GREENS = ("#00843d", "#7cc400", "#00a58a", "#3f6f00", "#34d058", "#005f56")


def draw(result: dict[str, Any]) -> Figure:
    """Scenes from above: the truth on the left, answers on the right; unknown instances in shades of green."""
    pictures = result["_pictures"]
    made, axes = figure(9.0, 4.4 * max(1, len(pictures)), max(1, len(pictures)), 2)
    for row, picture in zip(axes, pictures, strict=False):  # none where no object found a place
        unknown = picture["classes"].index(UNKNOWN_CLASS)
        for axis, key, title in zip(
            row, ("true", "found"), ("simulated scene", f"answers of '{result['models'][0]}'"), strict=True
        ):
            kind, instance = np.array(picture[key]), np.array(picture["instance"])
            colour = np.array([*(_COLOURS.get(name, "#999999") for name in picture["classes"]), "#eeeeee"])
            shade = colour[np.minimum(kind, len(picture["classes"]))].astype(object)
            new = kind == unknown
            shade[new] = _GREENS[0] if key == "true" else np.array(_GREENS)[instance[new] % len(_GREENS)]
            axis.scatter(
                np.array(picture["x"]) / 100,
                np.array(picture["y"]) / 100,
                s=np.where(new, 4.0, 0.8),
                c=shade.tolist(),
                linewidths=0,
            )
            axis.set(aspect="equal", xlim=(-10, _VIEW_M), ylim=(-15, 15))
            axis.set_title(f"{picture['test']}: {title}", fontsize=9)
    return made


if __name__ == "__main__":
    main(
        "d_openset", "Objects that no recording shows, and what a network makes of them (D, table 8).", run, show, draw
    )
