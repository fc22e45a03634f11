"""``resweep replay``: a recorded drive with its traffic, swept again by any sensor."""

from __future__ import annotations

from resweep.cli.options import outputs, recordings, running, sensing
from resweep.cli.shared.writing import LogTarget, describe_work, locks
from resweep.memory import parse_memory


@locks("output", reads=["path", "world", "realism"])
def replay(
    path: recordings.TrackedLog,
    world: sensing.WorldOfLog,
    sensor: sensing.Sensor,
    output: outputs.LogFolder,
    bank: sensing.BankOfLog = None,
    sweeps: recordings.FirstSweeps = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    realism: sensing.Realism = None,
    ideal: sensing.Ideal = False,
    seed: running.Seed = 0,
    memory: running.Memory = None,
    overwrite: outputs.OverwriteLog = False,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Replay a recorded drive: its poses, its annotated objects as moving actors, another sensor.

    The sweeps pair up with those of the log. OUT/objects.json has, by object and by class, the number of returns in
    each annotated box, real and simulated, and the difference of their ranges. Compare the rest with
    'resweep evaluate OUT LOG'.

    Example:
      resweep replay kitti/2011_09_26_drive_0051_sync -w 0051.world -s velodyne-hdl-64e -o again
    """
    given = describe_work(locals())
    bound = parse_memory(memory)
    from resweep.cli.shared.inputs import check_world, open_posed
    from resweep.cli.shared.replaying import print_replay, replay_drive
    from resweep.cli.shared.targets import check_folder
    from resweep.scenario import load_bank
    from resweep.sensors import load_sensor
    from resweep.simulate.realism import load_realism

    chosen = load_sensor(sensor)
    model = None if realism is None else load_realism(realism)
    check_folder(output, overwrite)
    check_world(world)
    recorded = open_posed(path, False, poses, pose_rate)
    objects = None if bank is None else load_bank(bank)
    target = LogTarget(output, "sweep", overwrite, given)
    how = {"bank": objects, "realism": model, "noise": not ideal, "seed": seed, "sweeps": sweeps}
    again, classes = replay_drive(recorded, world, chosen, target, bound, cluster, **how)
    print_replay(again, classes, target, as_json)
