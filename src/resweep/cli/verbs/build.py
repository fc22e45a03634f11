"""``resweep build``: recordings into a world on disk."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.shared.completion import complete_formats, complete_methods
from resweep.cli.shared.options import (
    METHOD_HELP,
    Bounds,
    Cluster,
    IntensityScale,
    Json,
    Labels,
    Memory,
    PoseRate,
    Poses,
    Refining,
    Resolution,
    parse_path,
)
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import OutputError, ResweepError
from resweep.memory import parse_memory


@locks("output", reads=["logs"])
def build(
    logs: Annotated[
        list[Path],
        typer.Argument(parser=parse_path, metavar="LOG...", help="Recordings of one place.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=parse_path, metavar="WORLD", help="The .world folder to write.")
    ],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", autocompletion=complete_methods, help=METHOD_HELP, show_default=False),
    ] = None,
    sweeps: Annotated[
        str | None, typer.Option(metavar="A:B", help="Only these sweeps of each log, as in Python.", show_default=False)
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", autocompletion=complete_formats, help="The logs' format, if it is not guessed."),
    ] = None,
    labels: Labels = None,
    poses: Poses = None,
    pose_rate: PoseRate = None,
    bounds: Bounds = None,
    resolution: Resolution = None,
    scanner: Annotated[
        str | None,
        typer.Option(
            "--scanner",
            metavar="X,Y,Z",
            help="A cloud: where its scanner stood, in the cloud's coordinates; else it is found or assumed.",
            show_default=False,
        ),
    ] = None,
    intensity_scale: IntensityScale = None,
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
    drop_nan: Annotated[
        bool, typer.Option("--drop-nan", help="Leave out points whose coordinates are NaN or infinite.")
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Continue ground and façades where nothing was recorded; they are marked."),
    ] = False,
    refine: Refining = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip logs and sweeps that cannot be read or joined, and say so.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the world at WORLD.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep finished steps in WORLD.partial until the end.")
    ] = True,
    tile: Annotated[
        float | None,
        typer.Option(
            "--tile",
            min=2.0,
            max=10_000.0,
            metavar="M",
            help="Side of the tiles, metres; by default a short log is one tile, and a long one has tiles of 50 m.",
            show_default=False,
        ),
    ] = None,
    memory: Memory = None,
    cluster: Cluster = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan of the build, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Build a world from recordings, without what moved: splats over surfaces, permeable volumes in vegetation.

    The ground of a long drive is divided into tiles that are built one by one, so that any length fits into memory. A
    build that was stopped goes on where it was when it is called again with the same arguments.

    Examples:

      resweep build kitti/sequences/00 -o town.world --sweeps 0:150

      resweep build drive1 drive2 -o place.world --method splats-descriptors --set map.ego_radius_m=2.5

      resweep build drive.bag -o place.world --odometry --refine full

      resweep build drive.bag -o place.world --dry-run

      resweep build kitti/sequences/00 -o town.world --memory 4GB --cluster local:4

      resweep build tiles -o hill.world --bounds 448000,5411000,448200,5411200

      resweep build scan.laz -o room.world --scanner 0,0,0

      resweep build s3://drives/seq00 -o s3://maps/seq00.world
    """
    bound = parse_memory(memory)
    from resweep.build.pipeline import build as build_world
    from resweep.build.plan import resolve
    from resweep.build.recordings import join_recordings
    from resweep.cli.shared.facts import print_built
    from resweep.cli.shared.inputs import add_refinement, check_writable, parse_cloud, parse_scanner, read_build_config
    from resweep.cli.shared.next_command import name_drive, suggest_simulation
    from resweep.cli.shared.shared_recordings import open_logs, parse_slice
    from resweep.cluster import open_workers
    from resweep.prepare.clouds.place import is_cloud
    from resweep.worlds.store.generations import is_taken
    from resweep.worlds.store.save import check_name

    check_name(output)
    if is_taken(output) and not overwrite and not dry_run:
        raise OutputError(f"{output}: exists; choose another name or give --overwrite")
    check_writable(output)
    settings = [*(set_ or []), *parse_scanner(scanner, len(logs)), *(["complete=true"] if complete else [])]
    chosen = read_build_config(method, config, add_refinement(settings, refine))
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
    skipped: list[str] = []
    tolerant = skipped if keep_going else None
    cloud = {**parse_cloud(bounds, resolution, intensity_scale), **({"drop_nan": True} if drop_nan else {})}
    opened = open_logs(logs, format, labels, poses, pose_rate, cloud, parse_slice(sweeps), tolerant)
    began = time.perf_counter()
    recordings = [log for _, log in opened]
    log, shifts = join_recordings(recordings, chosen, odometry=odometry, align=align, left_out=tolerant)
    for shift in shifts:
        typer.echo(str(shift), err=True)
    if dry_run:
        plan = resolve(log, chosen, tile_m=tile, memory=bound, progress=True)
        typer.echo(json.dumps(plan.to_dict()) if as_json else str(plan).rstrip())
        return
    with open_workers(cluster) as workers:
        build_world(log, chosen, output, tile_m=tile, memory=bound, workers=workers, overwrite=overwrite, resume=resume)
    for line in skipped:
        typer.echo(line, err=True)
    facts = print_built(output, time.perf_counter() - began)
    placed = is_cloud(recordings[0], chosen.cloud)
    named = not (odometry or placed or format)
    like = name_drive(opened[0][0], recordings[0], parse_slice(sweeps)) if named else None
    given = {"--poses": poses, "--pose-rate": pose_rate}
    typer.echo(f"next: {suggest_simulation(output, log, placed, like, given, bool(skipped))}")
    print_outputs([("world", output)], as_json, **facts)
