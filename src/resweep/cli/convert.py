"""``resweep convert``: a sweep or a log into another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from resweep.errors import ResweepError


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A sweep file, or the folder of a log.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A file with a known suffix, or a new folder.")],
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Format of a log folder: sweep, pcd, ply, las, laz, kitti ...")
    ] = None,
    frame: Annotated[
        str | None, typer.Option(help="sensor (as fired), deskewed (motion undone) or world coordinates.")
    ] = None,
    poses: Annotated[Path | None, typer.Option(help="Poses to use in place of the input's own.")] = None,
    odometry: Annotated[bool, typer.Option("--odometry", help="Find the poses from the sweeps (KISS-ICP).")] = False,
    drop_nan: Annotated[bool, typer.Option("--drop-nan", help="Leave out points that hold NaN.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip sweeps that cannot be read, and say so.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
) -> None:
    """Convert a sweep file or a whole log to another format.

    Examples: resweep convert scan.pcd scan.laz --frame world;
    resweep convert kitti/sequences/00 out --format ply;
    resweep convert drive.bag drive --format sweep --odometry
    """
    from resweep.cli.inputs import open_recording, report_skipped
    from resweep.io import write_log, write_sweep
    from resweep.io.registry import format_of, sweep_suffixes

    options: dict[str, Any] = {"drop_nan": True} if drop_nan else {}
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
    log = open_recording(source, keep_going, poses=poses, **options)
    if odometry:
        from resweep.reconstruction import odometry as find_poses

        log = find_poses(log, progress=True)
    as_file = target.suffix.lower() in sweep_suffixes() and not target.is_dir()
    if as_file and len(log) == 1 and format in (None, format_of(target).name):
        if target.exists() and not overwrite:
            raise ResweepError(f"{target}: exists; choose another name or give --overwrite")
        kept = {} if format_of(target).facts is None else {"part_of": log}
        write_sweep(log[0], target, frame=frame, **kept)
        typer.echo(f"{target}: 1 sweep as {format_of(target).title}")
        return
    if format is None and as_file:
        raise ResweepError(
            f"{target}: one file cannot hold the {len(log)} sweeps of {source}; give a folder and --format"
        )
    if format is None and source.is_file():
        format_of(target)  # a file asks for a file: say which suffixes there are
    if format is None:
        raise ResweepError(f"{target}: give --format for the log's sweeps, one of {', '.join(sorted(_writable()))}")
    write_log(log, target, format=format, frame=frame, overwrite=overwrite)
    report_skipped(source, log)
    typer.echo(f"{target}: {len(log)} sweeps as {format}")


def _writable() -> list[str]:
    from resweep.io import FORMATS

    return [name for name, entry in FORMATS.items() if entry.write or entry.write_log]
