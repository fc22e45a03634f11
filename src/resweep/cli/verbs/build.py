"""``resweep build``: recordings into a world on disk."""

from __future__ import annotations

from resweep.cli.options import building, outputs, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
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
    quick: building.Quick = False,
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
      resweep build drive.bag -o place.world --quick
      resweep build drive.bag -o place.world --dry-run
      resweep build kitti/sequences/00 -o town.world --memory 4GB --cluster local:4
      resweep build tiles -o hill.world --bounds 448000,5411000,448200,5411200
      resweep build scan.laz -o room.world --scanner 0,0,0
      resweep build s3://drives/seq00 -o s3://maps/seq00.world
    """
    bound = parse_memory(memory)
    from resweep.cli.shared.building import Recordings, build_world, check_world_folder, parse_slice, print_plan
    from resweep.cli.shared.inputs import add_refinement, check_odometry, parse_cloud, parse_scanner, read_build_config

    check_world_folder(output, overwrite or dry_run)
    settings = [*(set_ or []), *parse_scanner(scanner, len(logs)), *(["complete=true"] if complete else [])]
    chosen = read_build_config(method, config, add_refinement(settings, refine, quick))
    check_odometry(odometry, poses)
    cloud = {**parse_cloud(bounds, resolution, intensity_scale), **({"drop_nan": True} if drop_nan else {})}
    how = {"poses": poses, "pose_rate": pose_rate, "format": format, "labels": labels, **cloud}
    given = Recordings(logs, parse_slice(sweeps), keep_going, how)
    joined = given.join(chosen, odometry, align)
    if dry_run:
        print_plan(joined, chosen, as_json, cluster, tile_m=tile, memory=bound)
        return
    kept = {"tile_m": tile, "memory": bound, "overwrite": overwrite, "resume": resume}
    facts = build_world(given, joined, chosen, output, cluster, **kept)
    print_outputs([("world", output)], as_json, **facts)
