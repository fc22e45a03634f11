"""``resweep build``: recordings into a world on disk."""

from __future__ import annotations

import json
import time

import typer

from resweep.cli.options import building, outputs, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import OutputError, ResweepError
from resweep.memory import parse_memory


@locks("output", reads=["logs"])
def build(
    logs: recordings.Logs,
    output: outputs.World,
    method: building.Method = None,
    sweeps: recordings.SweepsOfEach = None,
    format: recordings.FormatOfLogs = None,
    labels: recordings.Labels = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    bounds: recordings.Bounds = None,
    resolution: recordings.Resolution = None,
    scanner: building.Scanner = None,
    intensity_scale: recordings.IntensityScale = None,
    odometry: recordings.OdometryReplaces = False,
    align: building.Align = True,
    config: building.Config = None,
    set_: building.Settings = None,
    drop_nan: recordings.DropBadPoints = False,
    complete: building.Complete = False,
    refine: building.Refine = None,
    keep_going: recordings.KeepGoingLogs = False,
    overwrite: outputs.OverwriteWorld = False,
    resume: outputs.Resume = True,
    tile: building.Tile = None,
    memory: running.Memory = None,
    cluster: running.Cluster = None,
    dry_run: outputs.DryRun = False,
    as_json: outputs.Json = False,
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
