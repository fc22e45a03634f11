"""``resweep drive``: closed loops, a whole safety test or one run again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import typer

from resweep.cli.options import driving, outputs, running
from resweep.cli.shared.writing import locks


@locks("output")
def drive(
    what: driving.Driven,
    output: outputs.RunFolder,
    variants: driving.Variants = 1,
    world: driving.World = "",
    vehicle: driving.Vehicle = "passenger-car",
    sensor: driving.Sensor = "velodyne-vlp-16",
    nine: driving.Nine = False,
    autonomy: driving.Autonomy = "reference",
    goal: driving.Goal = "",
    duration: driving.Duration = 0.0,
    reactive: driving.Reactive = None,
    deadline: driving.Deadline = 0.0,
    timeout: driving.Timeout = 600.0,
    sweeps: driving.KeepSweeps = False,
    workers: running.Processes = 1,
    search: driving.Search = "",
    seed: running.Seed = 0,
    as_json: outputs.JsonOfFigures = False,
) -> None:
    """Drive variants of a scenario in a closed loop: sensors, autonomy, vehicle, new poses.

    OUT gets a folder for each variant with run.json (commands, states, events), summary.json and a map of successes. A
    stopped command goes on if it is run again. Given the folder of a run, it is driven once more by its recorded
    commands, with its sweeps: OUT is then a log.

    Examples:
      resweep drive hidden-car --variants 110 --workers 2 -o runs
      resweep drive runs/0042 -o failure && resweep view failure
      resweep drive hidden-car --search cmaes --variants 60 -o found
      resweep drive mine.yaml --world seq00.world --autonomy mystack:Planner -o runs
    """
    from resweep.drive.run import FILE
    from resweep.errors import ResweepError

    if (Path(what) / FILE).is_file():
        _replay(Path(what), output)
        return
    from resweep.drive.safety import Campaign, list_cases, run_campaign
    from resweep.drive.safety.campaign import CAMPAIGN, check_autonomy
    from resweep.drive.vehicles import load_vehicle
    from resweep.sensors import load_sensor

    if (Path(what) / CAMPAIGN).is_file():
        raise ResweepError(f"{what}: holds several runs; give one of them to drive it again, such as {what}/0000")
    load_vehicle(vehicle)  # mistakes are found before anything is driven
    load_sensor(sensor)
    check_autonomy(autonomy)
    campaign = Campaign(
        vehicle, sensor, "nine" if nine else "single", autonomy, sweeps, seed, _parse_goal(goal), duration or None,
        tuple(reactive or ()), deadline or None, timeout,
    )  # fmt: skip
    if search:
        _search(what, search, variants, campaign, output, workers, as_json)
        return
    cases = list_cases(what, variants, world, seed)
    summary = run_campaign(campaign, cases, output, workers)
    if len(summary["errors"]) == len(cases):
        raise ResweepError(summary["rows"][0]["detail"])
    if what == "hidden-car" and variants > 1:
        from resweep.drive.safety.success_map import draw_success

        draw_success(summary["rows"]).savefig(output / "success.png", dpi=150, facecolor="white")
    _print(summary, output, as_json)


def _parse_goal(text: str) -> tuple[float, float] | None:
    from resweep.errors import ResweepError

    if not text:
        return None
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ResweepError(f"--goal: expected X,Y, got '{text}'")
    return x, y


def _replay(folder: Path, output: Path) -> None:
    from resweep.drive.run import load_run
    from resweep.drive.safety.campaign import rebuild_loop
    from resweep.errors import OutputError

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output}: exists and is not empty; choose another name")
    recorded = load_run(folder)
    run = rebuild_loop(recorded).replay(recorded, output)
    sweeps = sum(len(log) for log in run.logs.values())
    typer.echo(f"{output}: {run.outcome} after {run.duration_s:.1f} s, {sweeps} sweeps")


def _search(what: str, method: str, budget: int, campaign: Any, output: Path, workers: int, as_json: bool) -> None:
    from resweep.drive.safety import HIDDEN_CAR, search_failures
    from resweep.drive.safety.search import draw_coverage
    from resweep.errors import OutputError, ResweepError
    from resweep.files import write_file

    if what != "hidden-car":
        raise ResweepError(f"--search: has ranges for hidden-car only, not for '{what}'")
    if output.exists() and any(output.iterdir()):
        raise OutputError(f"{output}: exists and is not empty; choose another folder")
    result = search_failures(HIDDEN_CAR, method, budget, campaign, campaign.seed, workers)  # type: ignore[arg-type]
    write_file(output / "search.json", (json.dumps(result, indent=1) + "\n").encode())
    draw_coverage([result], HIDDEN_CAR).savefig(output / "coverage.png", dpi=150, facecolor="white")
    if as_json:
        typer.echo(json.dumps(result))
        return
    first = result["runs_to_first_failure"]
    found = f"the first in run {first}" if first else "none"
    typer.echo(f"{output}: {method}, {result['runs']} runs, {result['failures']} failures, {found}")


def _print(summary: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary))
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
        typer.echo(f"  median of the least times to collision: {summary['median_ttc_s']:.1f} s")
