"""``resweep demo``: the main job in one command, or a meadow."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from resweep.cli.shared.completion import complete_sensors
from resweep.cli.shared.options import Json, parse_local, parse_path
from resweep.cli.shared.outputs import name_command, print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError, nearest_names

if TYPE_CHECKING:
    from resweep.cli.demos.main_job import Done
    from resweep.log import Log

MOST_SWEEPS = 60  # of a user's log: a demo is short


@locks("output")
def demo(
    place: Annotated[
        str, typer.Argument(metavar="[street|meadow]", help="street: the main job; meadow: grass and three sensors.")
    ] = "street",
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=parse_local, metavar="PATH", help="The folder to make.")
    ] = Path("demo-output"),
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            parser=parse_path,
            metavar="PATH",
            help="Your own recording, of any format, in place of the street.",
            show_default=False,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(min=3, metavar="N", help=f"Sweeps of the log to take; {MOST_SWEEPS} at most by default."),
    ] = None,
    odometry: Annotated[bool, typer.Option("--odometry", help="Find the poses of a log that has none.")] = False,
    sensor: Annotated[
        str | None,
        typer.Option("--sensor", "-s", autocompletion=complete_sensors, help="The other sensor; see resweep sensors."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Another seed, another place.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the report, where there is a display.")
    ] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")] = False,
    as_json: Json = False,
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
    most = MOST_SWEEPS if sweeps is None else sweeps
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
