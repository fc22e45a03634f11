"""``resweep convert``: a sweep or a log into another format."""

from __future__ import annotations

from typing import Any

import typer

from resweep.cli.options import outputs, recordings
from resweep.cli.shared.clouds import SUFFIX, check_cloud, is_world, log_to_cloud, world_to_cloud
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import describe_work, locks
from resweep.errors import OutputError, ResweepError


@locks("target", reads=["source"])
def convert(
    source: recordings.LogOrWorld,
    target: outputs.Converted,
    format: outputs.FormatOfFolder = None,
    frame: outputs.Frame = None,
    points: outputs.Points = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    labels: outputs.MappedLabels = None,
    from_labels: recordings.FromLabels = None,
    odometry: recordings.Odometry = False,
    intensity_scale: outputs.IntensityScale = None,
    bounds: recordings.Bounds = None,
    resolution: recordings.Resolution = None,
    from_intensity_scale: recordings.FromIntensityScale = None,
    crs: outputs.Crs = None,
    drop_nan: recordings.DropNan = False,
    keep_going: recordings.KeepGoing = False,
    overwrite: outputs.Overwrite = False,
    as_json: outputs.Json = False,
) -> None:
    """Convert a sweep file or a whole log to another format, or a log or world to one cloud (COPC).

    Stopped and started again with the same arguments, it goes on after the finished sweeps, which OUT.partial keeps.

    Examples:
      resweep convert scan.pcd scan.laz --frame world
      resweep convert kitti/sequences/00 out --format ply
      resweep convert drive.bag drive --format sweep --odometry
      resweep convert drive out --format ros2 --points ouster
      resweep convert kitti/sequences/00 out --format sweep --labels nuscenes-lidarseg
      resweep convert kitti/sequences/00 town.copc.laz
      resweep convert seq00.world seq00.copc.laz
      resweep convert tiles hill.laz --bounds 448000,5411000,448100,5411100
    """
    given = describe_work(locals())
    from resweep.cli.shared.inputs import open_posed, parse_cloud, report_skipped, report_unknown_sensor
    from resweep.cli.shared.label_options import map_log_labels, print_lost_labels
    from resweep.cli.shared.progress import Tally
    from resweep.cli.shared.simulation import choose_points
    from resweep.io import write_log, write_sweep
    from resweep.io.registry import find_format, list_sweep_suffixes
    from resweep.labels import load_labels
    from resweep.progress import SilentProgress

    for word in (labels, from_labels):
        if word is not None:
            load_labels(word)  # a wrong name is said before the work
    layout = choose_points(points, format)
    options = parse_cloud(bounds, resolution, from_intensity_scale, "--from-intensity-scale")
    if drop_nan:
        options["drop_nan"] = True
    written: dict[str, Any] = {} if intensity_scale is None else {"intensity_scale": intensity_scale}
    as_cloud = check_cloud(target, format, frame, crs, overwrite)
    if is_world(source):
        of_logs = (format, frame, points, poses, pose_rate, from_labels, bounds, resolution, from_intensity_scale)
        if not as_cloud or any(value is not None for value in of_logs) or odometry:
            raise ResweepError(f"{source}: is a world; it is converted to {SUFFIX} alone, without options of logs")
        count = world_to_cloud(source, target, labels, crs, **written)
        print_outputs([("cloud", target)], as_json, points=count)
        return
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
    log = open_posed(source, keep_going, poses, pose_rate, **options)
    if odometry:
        from resweep.register import odometry as find_poses

        log = find_poses(log, progress=True)
    report_unknown_sensor(source, log)
    seen: set[int] = set()
    found = log.labels if from_labels is None else load_labels(from_labels)
    log = map_log_labels(log, source, labels, from_labels, seen)
    if as_cloud:
        count = log_to_cloud(log, target, labels, crs, **written)
        report_skipped(source, log)
        print_outputs([("cloud", target)], as_json, points=count)
        return
    as_file = target.suffix.lower() in list_sweep_suffixes() and not target.is_dir()
    if as_file and len(log) == 1 and format in (None, find_format(target).name):
        if target.exists() and not overwrite:
            raise OutputError(f"{target}: exists; choose another name or give --overwrite")
        kept = {} if find_format(target).facts is None else {"part_of": log}
        write_sweep(log[0], target, frame=frame, **kept, **written)
        typer.echo(f"{target}: 1 sweep as {find_format(target).title}")
        print_lost_labels(found, log, seen)
        print_outputs([("sweep", target)], as_json, sweeps=1)
        return
    if format is None and as_file:
        raise OutputError(
            f"{target}: one file cannot hold the {len(log)} sweeps of {source}; give a folder and --format, "
            f"or a name that ends in {SUFFIX} for one cloud"
        )
    if format is None and source.is_file():
        find_format(target)  # a file asks for a file: say which suffixes there are
    if format is None:
        raise ResweepError(f"{target}: give --format for the log's sweeps, one of {', '.join(sorted(_writable()))}")
    tally = Tally(SilentProgress())
    log = tally.count(log, 0.0, "converting")
    write_log(
        log, target, format=format, frame=frame, overwrite=overwrite, resume=True, made_from=given, **written, **layout
    )
    report_skipped(source, log)
    before = len(log) - tally.sweeps
    there = f", {before:,} of them from before" if before else ""
    typer.echo(f"{target}: {len(log)} sweeps as {format}{there}")
    print_lost_labels(found, log, seen, " of the new ones" if before else "")
    print_outputs([("log", target)], as_json, sweeps=len(log))


def _writable() -> list[str]:
    from resweep.io import FORMATS

    return [name for name, entry in FORMATS.items() if entry.write or entry.write_log]
