"""``resweep demo``: the main job in one command, or a meadow."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from resweep.cli.options import outputs, pictures, recordings, running, sensing
from resweep.cli.shared.outputs import name_command, print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError, nearest_names

if TYPE_CHECKING:
    from resweep.cli.demos.main_job import Done
    from resweep.log import Log


@locks("output")
def demo(
    place: pictures.DemoPlace = "street",
    output: outputs.DemoFolder = Path("demo-output"),
    log: recordings.OwnLog = None,
    sweeps: recordings.DemoSweeps = None,
    odometry: recordings.OdometryIfNone = False,
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
      resweep demo meadow
    """
    from resweep.cli.demos.main_job import SENSOR, make_main_job
    from resweep.cli.demos.meadow import make_meadow, report_meadow
    from resweep.cli.demos.record import check_replaceable
    from resweep.cli.shared.inputs import check_folder
    from resweep.sensors import load_sensor

    kind = _check_place(place)
    if kind == "meadow" and (log is not None or sensor is not None):
        raise ResweepError("demo meadow: has its own sensors and no log; leave out --log and --sensor")
    check_folder(output, overwrite)
    check_replaceable(output)
    if kind == "meadow":
        report_meadow(output, make_meadow(output, seed), seed)
        print_outputs([("demo", output)], as_json, seed=seed)
        return
    chosen = load_sensor(SENSOR if sensor is None else sensor)
    recorded = None if log is None else _open(log, sweeps, odometry)
    done = make_main_job(output, seed, chosen, recorded, sweeps)
    _report(output, done, log, as_json)
    if browser:
        _open_report(output)


def _check_place(word: str) -> Literal["street", "meadow"]:
    if word == "meadow":
        return "meadow"
    if word != "street":
        known = nearest_names(word, ("street", "meadow"))
        raise ResweepError(f"demo '{word}': no such demo; {known} Your own recording: --log PATH")
    return "street"


def _open(path: Path, sweeps: int | None, odometry: bool) -> Log:
    """The user's log, or the beginning of it."""
    from resweep.cli.shared.inputs import open_posed, report_skipped
    from resweep.register import odometry as find_poses

    log = open_posed(path, True)
    report_skipped(path, log)
    if len(log) < 3:
        raise ResweepError(f"{path}: holds {len(log)} sweeps; the demo needs at least 3, one of which is held out")
    most = recordings.DEMO_SWEEPS if sweeps is None else sweeps
    if len(log) > most:
        typer.echo(f"{path}: takes the first {most} of {len(log)} sweeps; --sweeps N takes more", err=True)
    log = log[:most]
    if odometry and not log.poses_known:
        log = find_poses(log, progress=True)
    log.require_poses("no world can be built from it")
    return log


def _report(output: Path, done: Done, log: Path | None, as_json: bool) -> None:
    from resweep.cli.demos.main_job import AGAIN, BANK, PICTURE, RECORDING, REPORT, WORLD

    for name, text in done.lines:
        typer.echo(f"{name + ':':13}{text}")
    recording = log if log is not None else output / RECORDING
    typer.echo(f"\nMade in {done.figures['seconds']:.0f} s; look first at the picture and the report:")
    places = (PICTURE, REPORT, RECORDING, WORLD, BANK, AGAIN)
    kinds = ("picture", "report", "recording", "world", "objects", "swept again")
    rows = [(kind, output / name) for kind, name in zip(kinds, places, strict=True) if (output / name).exists()]
    if not as_json:
        print_outputs(rows)
    resweep = name_command()
    typer.echo("\nTry next:")
    typer.echo(f"  {resweep} view {recording} {output / AGAIN}   # side by side in the browser")
    typer.echo(f"  {resweep} view {output / WORLD}   # drag a sensor through the world")
    if log is None:
        typer.echo(f"  {resweep} demo --log YOUR/LOG -o my-demo   # the same with your own recording")
    else:
        typer.echo(f"  {resweep} build {log} -o my.world   # the world of the whole recording")
    if as_json:
        print_outputs(rows, True, **done.figures)


def has_display() -> bool:
    """Whether a browser could be shown here: a terminal in front of a person, with a display."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_report(output: Path) -> None:
    import webbrowser

    from resweep.cli.demos.main_job import REPORT

    if has_display():
        webbrowser.open((output / REPORT).absolute().as_uri())
