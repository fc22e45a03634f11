"""``resweep convert``: a sweep or a log into another format."""

from __future__ import annotations

from resweep.cli.options import outputs, recordings
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import choose_points, describe_work, locks


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
    from resweep.cli.shared.conversion import Conversion, convert_log, convert_world, is_world
    from resweep.cli.shared.inputs import check_odometry, find_poses, open_posed, parse_cloud, report_unknown_sensor

    written = {} if intensity_scale is None else {"intensity_scale": intensity_scale}
    job = Conversion(source, target, format, frame, labels, from_labels, crs, overwrite, written)
    choose_points(points, format)  # a wrong name raises before the work
    options = parse_cloud(bounds, resolution, from_intensity_scale, "--from-intensity-scale")
    options |= {"drop_nan": True} if drop_nan else {}
    as_cloud = job.check_cloud()
    if is_world(source):
        of_logs = (format, frame, points, poses, pose_rate, from_labels, bounds, resolution, from_intensity_scale)
        facts = convert_world(job, as_cloud, odometry or any(value is not None for value in of_logs))
        print_outputs([("cloud", target)], as_json, **facts)
        return
    check_odometry(odometry, poses)
    log = open_posed(source, keep_going, poses, pose_rate, **options)
    log = find_poses(log) if odometry else log
    report_unknown_sensor(source, log)
    what, facts = convert_log(job, log, as_cloud, points, given)
    print_outputs([(what, target)], as_json, **facts)
