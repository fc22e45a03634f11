"""``resweep demo``: the main job in one command, or a meadow."""

from __future__ import annotations

from pathlib import Path

from resweep.cli.options import building, outputs, pictures, recordings, running, sensing
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks


@locks("output")
def demo(
    place: pictures.DemoPlace = "street",
    output: outputs.DemoFolder = Path("demo-output"),
    log: recordings.OwnLog = None,
    sweeps: recordings.DemoSweeps = None,
    odometry: recordings.OdometryIfNone = False,
    quick: building.QuickDemo = False,
    sensor: sensing.OtherSensor = None,
    seed: running.SeedOfPlace = 0,
    browser: pictures.BrowserOfReport = True,
    overwrite: outputs.OverwriteDemo = False,
    as_json: outputs.Json = False,
) -> None:
    """Record a drive, build its world, sweep that again by another sensor, and compare.

    Takes about a minute and needs no data: a drive with traffic is recorded in a synthetic street. With --log it is
    your own recording.

    Examples:
      resweep demo
      resweep demo --log kitti/sequences/00 --sensor velodyne-vlp-16 -o my-demo
      resweep demo --log kitti/sequences/00 --quick -o first-look
      resweep demo meadow
    """
    from resweep.cli.demos.main_job import SENSOR, make_main_job
    from resweep.cli.demos.meadow import make_meadow, report_meadow
    from resweep.cli.demos.own_recording import open_own
    from resweep.cli.demos.record import check_place, check_replaceable
    from resweep.cli.demos.results import open_report, print_results
    from resweep.cli.shared.targets import check_folder
    from resweep.sensors import load_sensor

    check_place(place, of_street=log is not None or sensor is not None or quick)
    check_folder(output, overwrite)
    check_replaceable(output)
    if place == "meadow":
        report_meadow(output, make_meadow(output, seed), seed)
        print_outputs([("demo", output)], as_json, seed=seed)
        return
    chosen = load_sensor(SENSOR if sensor is None else sensor)
    recorded = None if log is None else open_own(log, sweeps or recordings.DEMO_SWEEPS, odometry)
    results = make_main_job(output, seed, chosen, recorded, sweeps, quick)
    print_results(output, results, log, as_json)
    if browser:
        open_report(output)
