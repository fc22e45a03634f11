"""``resweep evaluate``: simulated sweeps against real ones."""

from __future__ import annotations

from resweep.cli.options import building, outputs, recordings, running, sensing
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError
from resweep.memory import parse_memory


@locks("output", reads=["sim", "real"])
def evaluate(
    sim: recordings.Simulated,
    real: recordings.Real = None,
    output: outputs.Report = None,
    per_class: building.PerClass = False,
    accumulate: building.Accumulate = False,
    holdout: building.Holdout = None,
    every: building.HoldoutEvery = None,
    method: building.MethodOfHoldout = "hybrid",
    set_: building.SettingsOfHoldout = None,
    refine: building.Refine = None,
    quick: building.QuickOfHoldout = False,
    realism: sensing.Realism = None,
    ideal: sensing.Ideal = False,
    labels: recordings.Labels = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    odometry: recordings.OdometryOfHoldout = False,
    keep_going: recordings.KeepGoing = False,
    memory: running.Memory = None,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Compare simulated sweeps with real ones, in true metres.

    Logs of equal length are compared sweep by sweep, others by nearest time. c2c_m is to all sweeps of REAL as one
    cloud, c2c_sweep_m to the paired sweep. With --holdout a world is built from the other sweeps of one real log, and
    the held-out beams are fired again in it, as resweep simulate --like does: the figures are those of drawn returns,
    each sweep registered to the world by its pose. A second table has other placements, and most likely returns.
    Stopped and started again with the same arguments, it goes on after the finished stages of that build, which
    OUT.partial keeps. With --realism the drawn returns are as a learned model says,
    with --ideal they have no noise.

    Examples:
      resweep evaluate out kitti/sequences/00 -o report.html
      resweep evaluate out/000000.pcd real.pcd --per-class --json
      resweep evaluate kitti/sequences/00 --holdout 5 --method surfels
      resweep evaluate drive.bag --holdout-every 10 --odometry
    """
    bound = parse_memory(memory)
    from resweep.cli.shared.evaluation import compare_logs, hold_out, print_report, refuse, save_report
    from resweep.cli.shared.inputs import add_refinement, build_config, check_odometry
    from resweep.cli.shared.targets import check_page
    from resweep.labels import load_labels

    if labels is not None:
        load_labels(labels)  # a wrong name raises before the work
    check_page(output, "a report")
    how = {"poses": poses, "pose_rate": pose_rate, "labels": labels}
    shown = {"accumulate": accumulate, "memory": bound}
    held = holdout is not None or every is not None
    if not held:
        refuse("--odometry", odometry, "needs --holdout; sweeps are compared in their own frames without it")
        refuse("--quick", quick, "is how a world is built with --holdout; SIM was simulated before")
        refuse("--ideal", ideal, "changes what is simulated with --holdout; SIM was simulated before")
        refuse("--realism", realism, "changes what is simulated with --holdout; SIM was simulated before")
        report = compare_logs(sim, real, keep_going, how, cluster, **shown)
    else:
        if real is not None:
            raise ResweepError("--holdout takes one log, the real one; leave out REAL or --holdout")
        refuse("--cluster", cluster, "compares two logs; with --holdout one process builds and compares")
        check_odometry(odometry, poses)
        config = build_config(method, add_refinement(set_, refine, quick))  # a mistake raises before anything is read
        report = hold_out(
            sim, keep_going, how, odometry, realism, holdout, every, config, output, noise=not ideal, **shown
        )
    save_report(report, output, held)
    print_report(report, output, per_class, as_json)
