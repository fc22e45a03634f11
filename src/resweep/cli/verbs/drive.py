"""``resweep drive``: closed loops, a whole safety test or one run again."""

from __future__ import annotations

from pathlib import Path

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
    from resweep.cli.shared.driving import check_driver, drive_cases, drive_run, is_run, parse_goal, search_cases

    if is_run(what):
        drive_run(Path(what), output)
        return
    check_driver(what, vehicle, sensor, autonomy)
    from resweep.drive.safety import Campaign

    rays, limits = "nine" if nine else "single", (deadline or None, timeout)
    driven = (parse_goal(goal), duration or None, tuple(reactive or ()))
    campaign = Campaign(vehicle, sensor, rays, autonomy, sweeps, seed, *driven, *limits)
    if search:
        search_cases(what, search, variants, campaign, output, workers, as_json)
    else:
        drive_cases(what, variants, world, campaign, output, workers, as_json)
