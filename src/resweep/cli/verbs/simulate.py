"""``resweep simulate``: a sensor through a world, to a log on disk."""

from __future__ import annotations

from resweep.cli.options import outputs, recordings, running, sensing
from resweep.cli.shared.writing import LogTarget, check_format, describe_work, locks
from resweep.memory import parse_memory


@locks("output", reads=["world", "like", "realism"])
def simulate(
    world: sensing.World,
    output: outputs.LogFolder,
    sensor: sensing.SensorOrRecorded = None,
    poses: sensing.Poses = None,
    like: sensing.Like = None,
    scenario: sensing.Scenario = None,
    bank: sensing.BankOfScenario = None,
    format: outputs.FormatOfDrive = "sweep",
    points: outputs.Points = None,
    sweeps: sensing.SweepCount = None,
    standing: sensing.Standing = False,
    offset: sensing.Offset = None,
    pose_rate: sensing.PoseRate = None,
    up: sensing.Up = None,
    rate: sensing.Rate = None,
    noise: sensing.Noise = None,
    rays: sensing.Rays = None,
    mode: sensing.Mode = None,
    set_: sensing.Settings = None,
    realism: sensing.Realism = None,
    seed: running.Seed64 = 0,
    threads: running.Threads = 0,
    memory: running.Memory = None,
    keep_going: recordings.KeepGoingPoses = False,
    overwrite: outputs.OverwriteLog = False,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Drive a sensor through a world and write what it measures.

    With --like there are as many sweeps as in the log, each at the time and pose of its own. Unless a --sensor is
    named, the log's own beams are fired, empty ones included: 'resweep evaluate OUT LOG' then compares beam by beam.

    Range noise is the sensor's own unless --noise-m is given. Recorded beams have none of their own, since the surfaces
    of a world built from a recording hold its noise already.

    Stopped and started again with the same arguments, it goes on after the finished sweeps, which OUT.partial keeps.

    Examples:
      resweep simulate scene:street -s velodyne-hdl-32e -p 0,0,2 -o street
      resweep simulate hall.obj -s ouster-os1-64 -p drive.tum -o out --format pcd
      resweep simulate scene:meadow -s velodyne-vlp-16 -p 0,0,2.5 -o thin --set beam.rays=single
      resweep simulate seq00.world --like kitti/sequences/00 -o again
      resweep simulate seq00.world --like kitti/sequences/00 -o again --realism kitti.model
      resweep simulate seq00.world -s velodyne-hdl-32e --like kitti/sequences/00 --offset 0,0,-0.5 -o sim32
      resweep simulate scene:street -s velodyne-hdl-32e --scenario hidden-car -o hidden
    """
    given = describe_work(locals())
    bound = parse_memory(memory)
    from resweep.cli.shared.simulation import ChosenSensor, Course, print_simulation, simulate_drive
    from resweep.cli.shared.targets import check_folder

    course = Course(poses, like, scenario, bank, sweeps, standing, offset, pose_rate, keep_going)
    changes = {"rotation_rate_hz": rate, "beam.rays": rays, "receiver.mode": mode}
    choice = ChosenSensor(sensor, course, changes, noise, set_ or [], realism)
    check_format(format)
    target = LogTarget(output, format, overwrite, given, points)
    check_folder(output, overwrite)
    how = {"seed": seed, "threads": threads, "memory_bytes": bound}
    simulation = simulate_drive(world, up, course, choice, target, cluster, **how)
    print_simulation(simulation, choice, target, as_json)
