"""D, 5.5 and Figure 11: a car that a bus hides turns into the ego's lane, in 110 variants.

D varies the ego's speed and the time at which the car turns, over places and traffic, and reports that the neural
motion planner under test succeeds in 90 % of the cases on average. Under test here is the reference stack
(`resweep.drive.planners.Avoider`) with a VLP-16, one ray a pulse. A run succeeds if nothing is struck in 12 s.
Distances and times to collision are those to the car that was hidden; the bus passes a metre beside the ego in every
case. Each failure is driven once more with the hardest braking from the first three returns of the car on: what that
cannot avoid either, no stack could. Settings of the stack were chosen on the cases of CHOSEN_ON, and at which speed
it passes others on cases of another seed, 1, which has other streets and traffic. Two other rules for it were dropped:
one, which did not ask how fast the vehicle already is, when it succeeded in 87 % of these 110, one on cases of seed 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.presenting import console, main, table
from resweep.drive.safety import Campaign, list_cases, run_campaign
from resweep.drive.safety.success_map import draw_success

CHOSEN_ON = (5, 15, 55, 65, 76, 94, 105, 109)
GROUPS_MPS = ((0.0, 99.0), (6.0, 8.0), (9.0, 11.0), (12.0, 14.0), (15.0, 16.0))  # speeds, first and last, of the table
FAST, FAST_S = (61, 71), 6.5
PAPER_RATE = 0.90


def run(fast: bool = False, cache: Path | None = None, autonomy: str = "reference") -> dict[str, Any]:
    """Drive all variants; runs in the folder ``cache`` are kept, and are those of ``resweep drive hidden-car``.

    The fast version drives the first seconds of two of them, in which the car turns early.
    """
    cases = list_cases("hidden-car", 110)
    if fast:
        cases = [cases[at] for at in FAST]
    campaign = Campaign(autonomy=autonomy, duration_s=FAST_S if fast else None)
    summary = run_campaign(campaign, cases, cache, 1 if fast else 2)
    others = [row for row in summary["rows"] if row["case"] not in CHOSEN_ON]
    summary["success_rate_not_chosen_on"] = sum(row["success"] for row in others) / len(others)
    summary["paper_success_rate"] = PAPER_RATE
    summary["groups"] = [_describe_group(summary["rows"], *speeds) for speeds in GROUPS_MPS]
    summary["_rows"] = summary["rows"]
    return summary


def _describe_group(rows: list[dict[str, Any]], first: float, last: float) -> dict[str, Any]:
    """Figures of the cases with speeds from ``first`` to ``last``, m/s; None where there is no case."""
    own = [row for row in rows if first <= row["speed_mps"] <= last]
    gaps = [row["min_distance_m"] for row in own if row["success"] and row["min_distance_m"] is not None]
    speeds = [row["mean_speed_mps"] for row in own if "mean_speed_mps" in row]
    medians = {key: _find_median(own, key) for key in ("min_ttc_s", "max_deceleration_mps2", "max_jerk_mps3")}
    return {
        "speeds_mps": [first, last],
        "cases": len(own),
        "success_rate": sum(row["success"] for row in own) / len(own) if own else None,
        "failures": sum(not row["success"] for row in own),
        "avoidable": sum(row.get("avoidable") is True for row in own),
        "stationary": sum(row.get("stationary") is True for row in own),
        "min_distance_m": min(gaps, default=None),
        "near": sum(row.get("min_distance_m") is not None for row in own),
        "mean_speed_mps": sum(speeds) / len(speeds) if speeds else None,
        **medians,
    }


def show(result: dict[str, Any]) -> None:
    """Print successes by speed."""
    rows = result["rows"]
    made = table(
        f"{result['variants']} variants of the hidden car",
        "speed", "cases", "success", "avoidable\nfailures", "least distance\nof successes", "median\nTTC",
        "hardest braking\nmedian", "jerk\nmedian", "seen before\nthe end",
    )  # fmt: skip
    for speed in sorted({row["speed_mps"] for row in rows}):
        own = [row for row in rows if row["speed_mps"] == speed]
        made.add_row(
            f"{speed:.0f} m/s",
            str(len(own)),
            f"{sum(row['success'] for row in own) / len(own):.0%}",
            str(sum(row.get("avoidable") is True for row in own)),
            _least([row for row in own if row["success"]], "min_distance_m", "m"),
            _median(own, "min_ttc_s", "s"),
            _median(own, "max_deceleration_mps2", "m/s²"),
            _median(own, "max_jerk_mps3", "m/s³"),
            _median([{"s": row["duration_s"] - row["first_seen_s"]} for row in own if _was_struck(row)], "s", "s"),
        )
    console.print(made)
    console.print(
        f"Success: {result['success_rate']:.0%} of all, {result['success_rate_not_chosen_on']:.0%} of those that no "
        f"setting was chosen on; D's planner: {PAPER_RATE:.0%}. Failures: {result['failures']}; of these not even "
        f"braking from the first sight on avoids {result['unavoidable']}; in {result['struck_stationary']} the ego "
        "stood already, and the car, which follows its script, drove into it."
    )
    console.print(
        f"Least distance of successes to the car: {_format(result['min_distance_success_m'])}, to anything: "
        f"{_least([row for row in rows if row['success']], 'min_distance_any_m', 'm')}."
    )


def _was_struck(row: dict[str, Any]) -> bool:
    return not row["success"] and row.get("first_seen_s") is not None


def _format(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} m"


def _least(rows: list[dict[str, Any]], key: str, unit: str) -> str:
    values = [row[key] for row in rows if row.get(key) is not None]
    return f"{min(values):.2f} {unit}" if values else "-"


def _find_median(rows: list[dict[str, Any]], key: str) -> float | None:
    values = sorted(row[key] for row in rows if row.get(key) is not None)
    return float(values[len(values) // 2]) if values else None


def _median(rows: list[dict[str, Any]], key: str, unit: str) -> str:
    value = _find_median(rows, key)
    return "-" if value is None else f"{value:.1f} {unit}"


def draw(result: dict[str, Any]) -> Figure:
    """The map of success over speed and trigger time."""
    return draw_success(result["_rows"])


if __name__ == "__main__":
    main("d_hidden_car", "The hidden car (D, Figure 11).", run, show, draw)
