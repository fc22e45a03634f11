"""Figures of a run of a safety test: its row in the summary, and whether any braking could have avoided a contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resweep.drive.command import BRAKE
from resweep.drive.loop import Loop
from resweep.drive.nearness import Nearness
from resweep.drive.run import Run
from resweep.drive.safety.cases import Case


def describe_run(case: Case, run: Run) -> dict[str, Any]:
    """The row of a run. ``min_distance_m`` and ``min_ttc_s`` are those to the actor that the case watches.

    Where it watches none they are those to any actor, as ``min_distance_any_m`` and ``min_ttc_any_s`` always are.
    ``detail`` is the reason why the autonomy ended the run, where it did. ``stationary`` marks that the vehicle was at
    rest when an actor, which follows its script, drove into it.
    """
    hits = [event for event in run.events if event["kind"] == "collision"]
    figures: dict[str, Any] = run.figures()
    near = run.actors.get(case.watched, Nearness()).to_plain() if case.watched else {}
    return {
        "case": case.number,
        **case.parameters,
        "outcome": run.outcome,
        "detail": _explain(run),
        "success": not hits and run.outcome in ("time", "goal"),
        "with": hits[0]["with"] if hits else None,
        "impact_mps": hits[0].get("speed_mps") if hits else None,
        "stationary": bool(hits) and hits[0].get("speed_mps") == 0.0,
        **figures,
        "min_distance_any_m": figures["min_distance_m"],
        "min_ttc_any_s": figures["min_ttc_s"],
        **near,
    }


def _explain(run: Run) -> str:
    """What went wrong first, where the autonomy ended the run; empty elsewhere."""
    if run.outcome not in ("gave-up", "no-answer"):
        return ""
    return next((str(event["detail"]) for event in run.events if event.get("detail")), "")


def is_avoidable(loop: Loop, run: Run) -> bool:
    """Whether a run that struck an actor would have ended without a contact by the hardest braking.

    The run is driven again by its own commands, without LiDARs, until the first observation with three returns of the
    actor that was struck; from then on the vehicle brakes as hard as it can. ``loop`` needs no LiDARs and no autonomy.
    """
    struck = next(event["with"] for event in run.events if event["kind"] == "collision")
    seen_s = run.actors.get(struck.removeprefix("actor "), Nearness()).first_seen_s
    if seen_s is None:
        return False
    episode = loop.episode()
    episode.begin()
    commands = [decision.command for decision in run.decisions]
    while not episode.outcome:
        early = episode.time_s < seen_s - 1e-9
        episode.step(commands[episode.number] if early else BRAKE)
        if not early and episode.state.speed == 0.0 and episode.time_s > run.duration_s:
            break
    return episode.outcome != "collision"


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of all cases, and the rows. Distances and times to collision are those of `describe_run`."""
    gaps = _sort(rows, "min_distance_m")
    succeeded = [row for row in rows if row["success"]]
    unavoidable = [row["case"] for row in rows if row.get("avoidable") is False]
    judged = len(rows) - len(unavoidable)
    return {
        "variants": len(rows),
        "success_rate": len(succeeded) / len(rows),
        "success_rate_avoidable": len(succeeded) / judged if judged else None,
        "failures": [row["case"] for row in rows if not row["success"]],
        "unavoidable": unavoidable,
        "struck_stationary": [row["case"] for row in rows if row.get("stationary")],
        "errors": [row["case"] for row in rows if row["outcome"] == "error"],
        "min_distance_m": gaps[0] if gaps else None,
        "min_distance_any_m": min(_sort(rows, "min_distance_any_m"), default=None),
        "min_distance_success_m": min(_sort(succeeded, "min_distance_m"), default=None),
        "median_distance_m": _find_median(gaps),
        "median_ttc_s": _find_median(_sort(rows, "min_ttc_s")),
        "median_deceleration_mps2": _find_median(_sort(succeeded, "max_deceleration_mps2")),
        "median_jerk_mps3": _find_median(_sort(succeeded, "max_jerk_mps3")),
        "rows": list(rows),
    }


def _sort(rows: Sequence[dict[str, Any]], key: str) -> list[float]:
    return sorted(row[key] for row in rows if row.get(key) is not None)


def _find_median(values: list[float]) -> float | None:
    return values[len(values) // 2] if values else None
