"""What ``resweep drive`` does: cases in closed loops, a search for failures, or one run again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.errors import OutputError, ResweepError
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from resweep.drive.safety import Campaign


def is_run(name: str) -> bool:
    """Whether a folder holds one run."""
    from resweep.drive.run import FILE

    return (Path(name) / FILE).exists()  # whatever it is: reading it says what is wrong


def drive_run(folder: Path, output: Path) -> None:
    """Drive a run once more by its recorded commands, with its sweeps."""
    from resweep.drive.safety.campaign import replay_run

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output}: exists and is not empty; choose another name")
    run = replay_run(folder, output)
    sweeps = sum(len(log) for log in run.logs.values())
    typer.echo(f"{output}: {run.outcome} after {run.duration_s:.1f} s, {sweeps} sweeps")


def check_driver(what: str, vehicle: str, sensor: str, autonomy: str) -> None:
    """Raise if a scenario cannot be driven so: mistakes are found before anything is driven."""
    from resweep.drive.safety.campaign import CAMPAIGN, check_autonomy
    from resweep.drive.vehicles import load_vehicle
    from resweep.sensors import load_sensor

    if (Path(what) / CAMPAIGN).is_file():
        raise ResweepError(f"{what}: holds several runs; give one of them to drive it again, such as {what}/0000")
    load_vehicle(vehicle)
    load_sensor(sensor)
    check_autonomy(autonomy)


def parse_goal(text: str) -> tuple[float, float] | None:
    """Where to drive to, (x, y) metres; None for no text."""
    if not text:
        return None
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ResweepError(f"--goal: expected X,Y, got '{text}'")
    return x, y


def drive_cases(
    what: str, variants: int, world: str, campaign: Campaign, output: Path, workers: int, as_json: bool
) -> None:
    """Drive variants of a scenario, and print how they ended."""
    from resweep.drive.safety import list_cases, run_campaign

    cases = list_cases(what, variants, world, campaign.seed)
    summary = run_campaign(campaign, cases, output, workers)
    if len(summary["errors"]) == len(cases):
        raise ResweepError(summary["rows"][0]["detail"])
    if what == "hidden-car" and variants > 1:
        from resweep.drive.safety.success_map import draw_success

        draw_success(summary["rows"]).savefig(output / "success.png", dpi=150, facecolor="white")
    _print(summary, output, as_json)


def search_cases(
    what: str, method: str, budget: int, campaign: Campaign, output: Path, workers: int, as_json: bool
) -> None:
    """Look for failures of hidden-car, and print how many were found."""
    from resweep.drive.safety import HIDDEN_CAR, search_failures
    from resweep.drive.safety.search import save_search

    if what != "hidden-car":
        raise ResweepError(f"--search: has ranges for hidden-car only, not for '{what}'")
    if output.exists() and any(output.iterdir()):
        raise OutputError(f"{output}: exists and is not empty; choose another folder")
    result = search_failures(HIDDEN_CAR, method, budget, campaign, campaign.seed, workers)  # type: ignore[arg-type]
    save_search(result, HIDDEN_CAR, output)
    if as_json:
        typer.echo(format_json(result))
        return
    first = result["runs_to_first_failure"]
    found = f"the first in run {first}" if first else "none"
    typer.echo(f"{output}: {method}, {result['runs']} runs, {result['failures']} failures, {found}")


def _print(summary: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(format_json(summary))
        return
    if len(summary["rows"]) == 1:
        row = summary["rows"][0]
        struck = f" with {row['with']}" if row["with"] else ""
        why = f" ({row['detail']})" if row["detail"] else ""
        typer.echo(f"{output}/{row['case']:04d}: {row['outcome']}{struck} after {row['duration_s']:.1f} s{why}")
        return
    failures = ", ".join(f"{number:04d}" for number in summary["failures"][:20]) or "none"
    more = f" and {len(summary['failures']) - 20} more" if len(summary["failures"]) > 20 else ""
    typer.echo(f"{output}: {summary['variants']} runs, {summary['success_rate']:.0%} without a collision")
    typer.echo(f"  failures: {failures}{more}")
    for row in summary["rows"]:
        if row["outcome"] == "error":
            typer.echo(f"  {row['case']:04d} could not be driven: {row['detail']}")
        elif row["detail"]:
            typer.echo(f"  {row['case']:04d} {row['outcome']}: {row['detail']}")
    if summary["unavoidable"]:
        typer.echo(f"  of these {len(summary['unavoidable'])} no braking from the first sight on could have avoided")
    if summary["struck_stationary"]:
        typer.echo(f"  in {len(summary['struck_stationary'])} the vehicle stood already, and an actor drove into it")
    for key, text in (("min_distance_m", "least distance"), ("median_distance_m", "median distance")):
        if summary[key] is not None:
            typer.echo(f"  {text}: {summary[key]:.2f} m")
    if summary["median_ttc_s"] is not None:
        typer.echo(f"  median of the minimum times to collision: {summary['median_ttc_s']:.1f} s")
