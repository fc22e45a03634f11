"""D, 5.5, in reverse: with how few runs is a failure of the hidden car's test found?

Speed of the ego and time at which the car turns are searched over their whole ranges, in the streets and with the
traffic of each run's number. Random draws, a grid in a drawn order and CMA-ES get the same number of runs. The score
that CMA-ES lowers is the least distance and the time to collision, and the speed of the impact where there was one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.presenting import console, main, table
from resweep.drive.safety import HIDDEN_CAR, Campaign, search_failures
from resweep.drive.safety.search import METHODS, draw_coverage

BUDGET = 36


def run(fast: bool = False, cache: Path | None = None) -> dict[str, Any]:
    """Search in each way; the fast version has two runs of four seconds each. Ways in the file ``cache`` are kept."""
    kept: dict[str, Any] = json.loads(cache.read_text()) if cache is not None and cache.is_file() else {}
    campaign = Campaign(duration_s=4.0 if fast else None)
    for method in METHODS:
        if method in kept:
            continue
        found = search_failures(HIDDEN_CAR, method, 2 if fast else BUDGET, campaign, workers=1 if fast else 2)
        kept[method] = found
        if cache is not None:
            cache.write_text(json.dumps(kept))
    results = [kept[method] for method in METHODS]
    plain = [{key: value for key, value in result.items() if key != "rows"} for result in results]
    return {"rows": plain, "_results": results}


def show(result: dict[str, Any]) -> None:
    """Print what each way found."""
    made = table("Failures of the hidden car found by search", "way", "runs", "failures", "first in run", "least score")
    for row in result["rows"]:
        first = row["runs_to_first_failure"]
        made.add_row(
            row["method"], str(row["runs"]), str(row["failures"]), str(first or "-"), f"{row['least_score']:.2f}"
        )
    console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Which places of the parameter space each way looked at."""
    return draw_coverage(result["_results"], HIDDEN_CAR)


if __name__ == "__main__":
    main("d_search", "Failures of the hidden car found by search (after D, Figure 11).", run, show, draw)
