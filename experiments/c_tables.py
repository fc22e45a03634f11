"""C, Tables 1 to 6: splats against meshes, by cost, by C2C, and on thin structures.

Maps here are of some ten sweeps where C has 150 or more, and the processor is no GPU: what compares is one model with
another. Every model of a place is built from the same calibrated map, without one sweep, whose beams
are traced again. Where labels are unknown, so are thin classes, and the models that need labels are left out.

Labels of KPConv are those of the model that `experiments.c_semantics` trains. Its rows are there where that model is,
on places that it was neither trained nor chosen on. Its splats grow by predicted labels, and then get the true label of
the nearest point, so that all rows are judged alike.

Before them stands the comparison of the default world with splats, surfels and meshes on every recording
(`experiments.c_compare`, which runs alone too), and where it is worse. Its results are kept in the file that
``--cache`` names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments import c_compare
from experiments.c_measures import RIGHT_M, THIN, Prepared, measure, prepare
from experiments.c_models import FAST, KPCONV, MODELS, PAPER, PAPER_THIN, Model
from experiments.c_places import Place, hdl64, places, recordings
from experiments.presenting import BLUE, GREEN, GREY, INK, ORANGE, console, figure, main, progress, table
from resweep.build import CalibrateConfig
from resweep.segmentation import Labeller, load_labeller

CLAIM = (
    "adaptive splats by labels beat basic splats, Poisson and IMLS on thin structures, with fewer primitives than basic"
)
_SWEEPS = 5  # simulated along the new trajectory
_QUICK = CalibrateConfig(points_per_sweep=5000, samples=3000, iterations=2)
_JUDGES = {"thin_c2c_m": "thin C2C", "thin_f1": "thin beams both ways", "truth_thin_m": "true distance of thin points"}
_LOWER = ("thin_c2c_m", "truth_thin_m")


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """All models on all places."""
    recorded = [] if fast else recordings(only, needed=False)
    compared = c_compare.compare(recorded, c_compare.MODELS, cache)
    sensor = hdl64(600) if fast else hdl64()
    found = []
    for place in places(fast, only, needed=not recorded):
        labeller = None if fast else find_labeller(place)
        prepared = prepare(place, 1, _QUICK) if fast else prepare(place, _SWEEPS, labeller=labeller)
        models = [model for model in (FAST if fast else MODELS) if prepared.labelled or not model.labels]
        models = [model for model in models if prepared.predicted is not None or not model.predicted]
        rows = [measure(prepared, model, sensor) for model in progress(models, place.name)]
        found.append(_summary(prepared, rows, models))
    claim = {"paper": CLAIM, "right_m": RIGHT_M, "thin": list(THIN.values()), "places": found}
    shared = {name: compared[name] for name in ("shared", "shared_summary")}
    return {**claim, "compared": compared["rows"], "worse": compared["worse"], **shared}


def find_labeller(place: Place) -> Labeller | None:
    """The model of `experiments.c_semantics`, unless it is missing or the place had a part in its training."""
    if not KPCONV.exists():
        return None
    labeller = load_labeller(KPCONV)
    card = labeller.card
    seen = {item.log for item in card.trained_on} | set(card.validated.on if card.validated else ())
    return None if place.truth is not None or place.log.name in seen else labeller


def _summary(prepared: Prepared, rows: list[dict[str, Any]], models: list[Model]) -> dict[str, Any]:
    place = prepared.place
    return {
        "place": place.name,
        "sweeps": len(place.log) - 1,
        "points": len(prepared.map),
        "held_out": place.held,
        "thin_beams_held_out": int(sum(prepared.held.label == number for number in THIN).sum()),
        "rows": rows,
        "findings": findings(rows, models) if prepared.labelled else {},
        "kpconv": compare_kpconv(rows),
    }


def findings(rows: list[dict[str, Any]], models: list[Model]) -> dict[str, Any]:
    """For adaptive splats as C has them and as we do: whether the claim holds, by every judge of thin structures."""
    tagged = [(row, model.tags) for row, model in zip(rows, models, strict=True)]
    rivals = [row for row, tags in tagged if "rival" in tags]
    basic = next(row for row, tags in tagged if "basic" in tags)
    answers: dict[str, Any] = {}
    for whose in ("adaptive C", "adaptive ours"):
        mine = next(row for row, tags in tagged if whose in tags)
        answer: dict[str, Any] = {"fewer_primitives_than_basic": mine["primitives"] < basic["primitives"]}
        for judge in _JUDGES:
            if mine.get(judge) is not None:
                beaten = {rival["model"]: _beats(mine, rival, judge) for rival in rivals}
                answer[judge] = {"beats": beaten, "all": all(beaten.values())}
        judged = [answer[judge]["all"] for judge in _JUDGES if judge in answer]
        answer["claim_holds_by_c2c"] = bool(answer["fewer_primitives_than_basic"] and answer["thin_c2c_m"]["all"])
        answer["claim_holds_by_all"] = bool(answer["fewer_primitives_than_basic"] and all(judged))
        answers[whose] = answer
    # Ours is also carved and blended, which C's basic splats are not: this comparison has both on either side.
    for carved in (row for row, tags in tagged if "carved basic" in tags):
        mine = next(row for row, tags in tagged if "adaptive ours" in tags)
        known = [judge for judge in _JUDGES if mine.get(judge) is not None]
        answers["adaptive ours"]["beats_carved_basic"] = {judge: _beats(mine, carved, judge) for judge in known}
    return answers


def compare_kpconv(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """For splats by predicted labels, as C has them and ours: the figures beside descriptors and true labels."""
    named = {row["model"]: row for row in rows}
    judges = (*_JUDGES, "c2c_m", "heldout_right")
    found: dict[str, Any] = {}
    for whose in ("as C", "ours"):
        trio = {kind: named.get(f"{kind}, {whose}") for kind in ("descriptors", "KPConv labels", "labels")}
        if trio["KPConv labels"] is not None:
            found[whose] = {
                judge: {
                    kind: row[judge] for kind, row in trio.items() if row is not None and row.get(judge) is not None
                }
                for judge in judges
            }
    return found


def _beats(mine: dict[str, Any], rival: dict[str, Any], judge: str) -> bool:
    if judge == "thin_c2c_m":  # the mean over the classes that both have: one that is hardest to meet may be missing
        own, other = mine["thin_c2c_by_class_m"], rival["thin_c2c_by_class_m"]
        both = [name for name in own if own[name] is not None and other[name] is not None]
        return bool(both) and sum(own[name] for name in both) < sum(other[name] for name in both)
    if rival.get(judge) is None:
        return True  # it has no thin structure at all
    return bool(mine[judge] < rival[judge] if judge in _LOWER else mine[judge] > rival[judge])


def show(result: dict[str, Any]) -> None:
    """Print the default world beside the others, then a table for each place, the paper's, and the claim."""
    shared = {name: result.get(name) for name in ("shared", "shared_summary")}
    c_compare.show({"rows": result["compared"], "worse": result["worse"], **shared})
    for place in result["places"]:
        console.print(_place_table(place))
        _say(place)
    _show_paper()
    console.print(f"Paper: {CLAIM} (C, 6.3.1).")
    console.print(
        "C2C alone rewards a model that beams fall through: what it misses is not measured. Recovered: share of the "
        f"held-out sweep's beams on thin classes ({', '.join(result['thin'])}) whose range is right to {RIGHT_M:g} m; "
        "precise: the same of the beams that the model says meet one; F1 joins both."
    )


def _place_table(place: dict[str, Any]) -> Any:
    made = table(
        f"{place['place']}: {place['sweeps']} sweeps, {place['points']:,} points; sweep {place['held_out']} held out, "
        f"{place['thin_beams_held_out']:,} of its beams on thin classes",
        "model", "gen.\n(s)", "prim.\n(M)", "LiDAR\n(Hz)", "C2C\n(cm)", "thin\nC2C", "fence", "trunk", "pole", "sign",
        "recov-\nered", "pre-\ncise", "F1", "right,\nall", "true\n(cm)", "true\nthin",
    )  # fmt: skip
    for row in place["rows"]:
        classes = row["thin_c2c_by_class_m"]
        made.add_row(
            row["model"],
            f"{row['generation_s']:.1f}",
            f"{row['primitives'] / 1e6:.2f}",
            f"{row['lidar_hz']:.1f}",
            _cm(row["c2c_m"]),
            _cm(row["thin_c2c_m"]),
            *(_cm(classes[name]) for name in THIN.values()),
            *(_percent(row[name]) for name in ("thin_recovered", "thin_precise", "thin_f1", "heldout_right")),
            _cm(row.get("truth_m")),
            _cm(row.get("truth_thin_m")),
        )
    return made


def _say(place: dict[str, Any]) -> None:
    for whose, answer in place["findings"].items():
        verdict = "holds" if answer["claim_holds_by_c2c"] else "does not hold"
        parts = [f"{'fewer' if answer['fewer_primitives_than_basic'] else 'not fewer'} primitives than basic"]
        for judge, title in _JUDGES.items():
            if judge in answer:
                lost = [name for name, won in answer[judge]["beats"].items() if not won]
                parts.append(f"{title}: " + ("beats all" if not lost else "loses to " + ", ".join(lost)))
        console.print(f"  {whose}: by C2C the claim {verdict}; " + "; ".join(parts))
        if "beats_carved_basic" in answer:
            likewise = answer["beats_carved_basic"].items()
            verdicts = [f"{'better' if won else 'no better'} by {_JUDGES[judge]}" for judge, won in likewise]
            console.print("    than basic splats that are carved and blended alike: " + ", ".join(verdicts))
    for whose, judged in place["kpconv"].items():
        notes = [
            f"{judge} " + ", ".join(f"{kind} {value:.3f}" for kind, value in values.items())
            for judge, values in judged.items()
            if values
        ]
        console.print(f"  KPConv, {whose}: " + "; ".join(notes))
    if not place["findings"]:
        console.print("  no labels: the claim on thin structures cannot be judged here")
    console.print()


def _show_paper() -> None:
    for title, rows in PAPER.items():
        made = table(f"C: {title}", "model", "gen. (s)", "prim. (M)", "LiDAR (Hz)", "C2C (cm)")
        for name, (seconds, primitives, hertz, c2c) in rows.items():
            made.add_row(name, f"{seconds:.0f}", f"{primitives:.2f}", f"{hertz:.0f}", f"{c2c:g}")
        console.print(made)
    made = table(
        "C: thin structures of PC3D-Paris, C2C in cm (Tables 3 and 4)", "model", "fences", "poles", "signs", "avg."
    )
    for name, values in PAPER_THIN.items():
        made.add_row(name, *(f"{value:g}" for value in values))
    console.print(made)


def _cm(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def draw(result: dict[str, Any]) -> Figure:
    """For each place: thin C2C against thin beams hit both ways, or without labels C2C against beams that are right."""
    count = len(result["places"])
    made, axes = figure(4.6 * min(count, 3), 4.2 * ((count + 2) // 3), (count + 2) // 3, min(count, 3))
    flat = axes.reshape(-1)
    for axis in flat[count:]:
        axis.set_visible(False)
    for axis, place in zip(flat, result["places"], strict=False):
        judged = any(row["thin_c2c_m"] is not None for row in place["rows"])
        across, up = ("thin_c2c_m", "thin_f1") if judged else ("c2c_m", "heldout_right")
        for row in place["rows"]:
            if row[across] is None or row[up] is None:
                continue
            colour = next((c for word, c in _COLOURS.items() if row["model"].startswith(word)), GREY)
            axis.scatter(100 * row[across], 100 * row[up], s=12 + 20 * row["primitives"] / 1e6, color=colour, alpha=0.8)
            axis.annotate(row["model"], (100 * row[across], 100 * row[up]), fontsize=6.5, color=INK,
                          xytext=(3, 3), textcoords="offset points")  # fmt: skip
        axis.set_title(place["place"], fontsize=9)
        axis.set_xlabel("C2C of thin classes (cm)" if judged else "C2C (cm)", fontsize=8)
        axis.set_ylabel(
            "thin beams recovered and precise, F1 (%)" if judged else "held-out beams right (%)", fontsize=8
        )
    made.suptitle("Better is up and to the left; size is the number of primitives", fontsize=10.5, color=INK)
    return made


_COLOURS = {"mesh": ORANGE, "surfels": GREY, "KPConv": INK, "basic": GREY, "descriptors": BLUE, "labels": GREEN}

if __name__ == "__main__":
    main("c_tables", "Splats against meshes, and thin structures (C, Tables 1 to 6).", run, show, draw)
