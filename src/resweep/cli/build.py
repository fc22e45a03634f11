"""``resweep build``: recordings into a world on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resweep.cli.options import METHOD_HELP, Labels
from resweep.cli.writing import locks
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.reconstruction import BuildConfig
    from resweep.worlds import World


@locks("output")
def build(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Recordings of one place.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="WORLD", help="The .world folder to write.")],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help=METHOD_HELP, show_default=False),
    ] = None,
    sweeps: Annotated[
        str | None, typer.Option(metavar="A:B", help="Only these sweeps of each log, as in Python.", show_default=False)
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="The logs' format, if it is not guessed.")
    ] = None,
    labels: Labels = None,
    poses: Annotated[Path | None, typer.Option(help="Poses to use in place of the log's own.")] = None,
    odometry: Annotated[
        bool, typer.Option("--odometry", help="Find the poses from the sweeps (KISS-ICP); replaces the log's own.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align/--no-align", help="Correct the poses of further logs onto the map of the first.")
    ] = True,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file of settings.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="One setting, such as map.drop_movable=true; repeatable."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip logs and sweeps that cannot be read or joined, and say so.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the world at WORLD.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep finished steps in WORLD.partial until the end.")
    ] = True,
) -> None:
    """Build a world from recordings, without what moved: splats over surfaces, permeable volumes in vegetation.

    A build that was stopped goes on where it was when it is called again with the same words.

    Examples:

      resweep build kitti/sequences/00 -o town.world --sweeps 0:150

      resweep build drive1 drive2 -o place.world --method splats-descriptors --set map.ego_radius_m=2.5

      resweep build drive.bag -o place.world --odometry
    """
    from resweep.cli.inputs import check_writable

    if output.exists() and not overwrite:
        raise ResweepError(f"{output}: exists; choose another name or give --overwrite")
    check_writable(output)
    chosen = _read_config(method, config, set_ or [])
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
    skipped: list[str] = []
    tolerant = skipped if keep_going else None
    recordings = _open_logs(logs, format, labels, poses, parse_slice(sweeps), tolerant)
    began = time.perf_counter()
    recordings = _find_poses(recordings, odometry)
    if align:
        recordings = _align(recordings, chosen, tolerant)
    world = _build_to(output, recordings, chosen, overwrite, resume)
    for line in skipped:
        typer.echo(line, err=True)
    _summarise(world, output, time.perf_counter() - began)


def _find_poses(recordings: list[Log], odometry: bool) -> list[Log]:
    """The logs with poses: their own, or found from their sweeps."""
    if odometry:
        from resweep.reconstruction import odometry as find_poses

        return [find_poses(log, progress=True) for log in recordings]
    for log in recordings:
        if len(log) > 1 or len(recordings) > 1:
            log.require_poses()
    return recordings


def _align(recordings: list[Log], config: BuildConfig, left_out: list[str] | None) -> list[Log]:
    """The logs with the poses of all but the first corrected, and what that changed on stderr."""
    from resweep.reconstruction import align
    from resweep.reconstruction.map.accumulate import find_mappable

    if len(recordings) < 2:
        return recordings
    labels = config.map.choose_labels(recordings[0])
    logs, shifts = align(
        recordings, keep=lambda sweep: find_mappable(sweep, config.map, labels), left_out=left_out, progress=True
    )
    for shift in shifts:
        typer.echo(str(shift), err=True)
    return logs


def _build_to(output: Path, recordings: list[Log], config: BuildConfig, overwrite: bool, resume: bool) -> World:
    """The world, written; checkpoints lie beside it until then."""
    from resweep.reconstruction import Checkpoints, join
    from resweep.reconstruction import build as estimate

    log = join(recordings)
    partial = output.with_name(output.name + ".partial")
    checkpoints = Checkpoints()
    if resume:
        checkpoints = Checkpoints.open(partial, log, config, lambda line: typer.echo(line, err=True))
    world = estimate(log, config, progress=True, resume=checkpoints)
    world.save(output, overwrite=overwrite)
    checkpoints.remove()
    return world


def _summarise(world: World, output: Path, seconds: float) -> None:
    size = world.bounds[1] - world.bounds[0]
    parts = " and ".join(f"{layer.n_primitives:,} {layer.name}" for layer in world.layers)
    typer.echo(f"{output}: {parts} over {size[0]:.0f} x {size[1]:.0f} m")
    typer.echo(f"from {world.meta['points']:,} points of {world.meta['sweeps']:,} sweeps, in {seconds:.1f} s")
    typer.echo(f"next: resweep simulate {output} --sensor velodyne-hdl-32e --poses 0,0,0 -o out")


def _read_config(method: str | None, file: Path | None, changes: list[str]) -> BuildConfig:
    """The settings of a file, with what the options change."""
    from resweep.cli.inputs import build_config
    from resweep.config import parse_yaml, read_text

    data: dict[str, Any] = {}
    if file is not None:
        data = parse_yaml(read_text(file, "a YAML file") or "{}", str(file), "settings as 'key: value' lines")
    of_file = data.pop("method", None)
    if method is None and of_file is not None:
        return build_config(str(of_file), changes, data, f"{file}: method")
    return build_config(method or "hybrid", changes, data)


def parse_slice(word: str | None) -> slice:
    """The sweeps that ``A:B`` or ``A:B:STEP`` names; all of them for None."""
    if word is None:
        return slice(None)
    try:
        parts = [int(part) if part.strip() else None for part in word.split(":")]
    except ValueError:
        parts = []
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] == 0):
        raise ResweepError(f"--sweeps '{word}': expected A:B or A:B:STEP, such as 0:150")
    return slice(*parts)


def _open_logs(
    paths: list[Path],
    format: str | None,
    labels: str | None,
    poses: Path | None,
    chosen: slice,
    skipped: list[str] | None,
) -> list[Log]:
    """The logs; with a list in ``skipped``, what cannot be read is noted there and left out."""
    from resweep.cli.inputs import open_recording
    from resweep.io.faults import describe_skipped

    opened = []
    for path in paths:
        try:
            log = open_recording(path, skipped is not None, format=format, poses=poses, labels=labels)
            if skipped is not None and (text := describe_skipped(log)) is not None:
                skipped.append(f"{path}: {text}")
            if len(log[chosen]) == 0:
                raise ResweepError(f"{path}: none of its {len(log)} sweeps is left by --sweeps; widen it")
            opened.append(log[chosen])
        except ResweepError as error:
            if skipped is None:
                raise
            skipped.append(f"skipped {error}")
    if not opened:
        raise ResweepError("no log could be read: " + "; ".join(skipped or []))
    return opened
