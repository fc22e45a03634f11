"""``resweep simulate``: a sensor through a world, to a log on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resweep.cli.shared.completion import complete_formats, complete_sensors
from resweep.cli.shared.options import Cluster, Json, Memory, Points, Realism, choose_points, parse_path
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import describe_work, locks
from resweep.errors import ResweepError
from resweep.memory import parse_memory

if TYPE_CHECKING:
    from resweep.scenario import Actor
    from resweep.worlds import StreamedWorld, World


@locks("output", reads=["world", "like", "realism"])
def simulate(
    world: Annotated[
        str,
        typer.Argument(
            metavar="WORLD",
            help="A mesh (OBJ, PLY, STL, GLB), a saved .world folder, or scene:courtyard, meadow, root or street.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=parse_path, metavar="OUT", help="The folder to write the log to.")
    ],
    sensor: Annotated[
        str | None,
        typer.Option(
            "--sensor",
            "-s",
            autocompletion=complete_sensors,
            help="A name from 'resweep sensors', a YAML file, or recorded: the beams of the --like log themselves, "
            "which is the default with --like.",
            show_default=False,
        ),
    ] = None,
    poses: Annotated[
        str | None,
        typer.Option(
            "--poses",
            "-p",
            help="A TUM, KITTI or CSV file, a log's folder, or x,y,z\\[,yaw_deg] to stand still; with --like, a file "
            "of poses for its sweeps.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="LOG", help="Drive as this log drove: its sweeps, their times and poses."),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", metavar="S", help="A YAML file of ego and actors, or hidden-car, animals or construction."
        ),
    ] = None,
    bank: Annotated[
        Path | None, typer.Option("--bank", help="The bank with the scenario's objects; without, plain ones.")
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            autocompletion=complete_formats,
            help="sweep (lossless), pcd, ply, las, laz, kitti, semantickitti, nuscenes or ros2.",
        ),
    ] = "sweep",
    points: Points = None,
    sweeps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after N sweeps.", show_default=False)
    ] = None,
    standing: Annotated[
        bool, typer.Option("--standing", help="Stand still at each pose instead of driving along them.")
    ] = False,
    offset: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="Where the sensor sits in the frame of the poses, metres.")
    ] = None,
    pose_rate: Annotated[
        float | None, typer.Option(min=1e-3, metavar="HZ", help="Poses a second, for KITTI files without times.")
    ] = None,
    up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="The mesh file's upward axis, y or z; unless given y for glTF and GLB, z for all others.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="HZ", help="Another rotation rate.")] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise-m",
            min=0.0,
            max=1.0,
            metavar="SIGMA",
            help="Range noise, one sigma in metres, in place of the sensor's own; recorded beams have none.",
            show_default=False,
        ),
    ] = None,
    rays: Annotated[str | None, typer.Option(help="Rays a pulse: single, nine or random.")] = None,
    mode: Annotated[
        str | None, typer.Option(help="Returns: first, last, strongest, strongest-and-last or multiple.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Another field of the sensor; may be repeated."),
    ] = None,
    realism: Realism = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same bytes.")] = 0,
    threads: Annotated[int, typer.Option(min=0, metavar="N", help="0 takes all cores.")] = 0,
    memory: Memory = None,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Leave out bad poses of a log, and say so.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log at OUT.")] = False,
    cluster: Cluster = None,
    as_json: Json = False,
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
    from resweep.cli.shared.inputs import (
        check_folder,
        check_world,
        mount_sensor,
        open_world,
        parse_offset,
        read_motion,
        stream_world,
    )
    from resweep.cli.shared.like import RECORDED, check_recorded, open_like
    from resweep.cli.shared.progress import Tally
    from resweep.cli.shared.simulation import (
        StagedScenario,
        change_sensor,
        check_format,
        check_motion,
        choose_noise,
        collect_provenance,
        describe_noise,
        find_period,
    )
    from resweep.cluster import open_workers
    from resweep.io import write_log
    from resweep.progress import open_progress
    from resweep.sensors import load_sensor
    from resweep.simulate.realism import load_realism
    from resweep.simulate.recorded_sensor import make_recorded_sensor
    from resweep.simulate.simulated_drive import SimulatedDrive

    if [poses if like is None else None, like, scenario].count(None) != 2 or (poses and scenario):
        raise ResweepError(
            "give one of --poses, --like and --scenario: the sensor's poses, a log to drive like, or a scenario"
        )
    if bank is not None and scenario is None:
        raise ResweepError("--bank: holds the objects of a scenario; give --scenario too")
    if sensor is None and like is None:
        raise ResweepError("--sensor: missing; give a name from 'resweep sensors', or a YAML file")
    name = sensor or RECORDED
    check_recorded(name, like, {"--offset": offset, "--standing": standing, "--rate": rate})
    own = None if name == RECORDED else load_sensor(name)
    settings = {"rotation_rate_hz": rate, "beam.rays": rays, "receiver.mode": mode, **choose_noise(noise, set_ or [])}
    model = None if realism is None else load_realism(realism)
    check_format(format)
    layout = choose_points(points, format)
    check_folder(output, overwrite)
    path = like or poses or ""
    log = None if like is None else open_like(like, name, poses, pose_rate, sweeps, keep_going)
    own = make_recorded_sensor(log) if own is None and log is not None else own
    assert own is not None
    chosen = change_sensor(own, settings, set_ or [])
    staged = None if scenario is None else StagedScenario(scenario, bank)
    motion = None
    if poses is not None and log is None:
        motion = mount_sensor(read_motion(path, pose_rate, standing, keep_going), offset)
        motion = check_motion(motion, path, chosen, sweeps)
    check_world(world)
    with open_workers(cluster) as workers, open_progress() as progress:
        progress.start(f"reading {world}")
        actors: list[Actor] = []
        place: World | StreamedWorld
        if staged is None:
            place = stream_world(world, seed, up, memory_bytes=bound)
        else:  # actors are placed on the ground of the whole world
            place = whole = open_world(world, seed, up, memory_bytes=bound)
            progress.start("placing the actors")
            where, actors = staged.place(whole)
            path = str(scenario)
            motion = check_motion(mount_sensor(where, offset), path, chosen, sweeps)
        progress.start("starting the tracer")
        course: dict[str, Any] = {"motion": motion, "sweeps": sweeps}
        if log is not None:
            course = {"like": log, "recorded": name == RECORDED, "offset": parse_offset(offset), "standing": standing}
        plan = SimulatedDrive(
            world, chosen, up, tuple(actors), seed, threads, memory_bytes=bound, realism=model, **course
        )
        drive = plan.run(place, ready=cluster is None)  # so that the pace below is that of sweeping
        drive = replace(drive, meta={**drive.meta, **collect_provenance(chosen, own, path, offset)})
        tally = Tally(progress)
        what = f"the recorded beams of {like}" if name == RECORDED else chosen.name
        add = tally.begin(len(drive), find_period(drive, chosen), f"sweeping {what}")
        kept: dict[str, Any] = {
            "overwrite": overwrite,
            "resume": True,
            "made_from": given,
            "workers": workers,
            "on_sweep": add,
        }
        write_log(drive, output, format=format, progress=False, **kept, **layout)
        seconds = tally.seconds
    pace = tally.sweeps / seconds
    many = "1 sweep" if len(drive) == 1 else f"{len(drive):,} sweeps"
    before = len(drive) - tally.sweeps
    there = f", {before:,} of them from before" if before else ""
    typer.echo(f"{output}: {many} of {what} as {format}{there}")
    noise_of = f"range noise {describe_noise(chosen, own)}"
    if noise is None and name == RECORDED:
        noise_of = f"{noise_of}: the world holds the recording's, --noise-m adds to it"
    if model is not None and model.card.noise is not None:
        noise_of = f"{noise_of}; the learned model adds its own"
    new = " of the new ones" if before else ""
    typer.echo(f"{tally.returns:,} returns on {tally.beams:,} beams{new}, {noise_of}")
    typer.echo(
        f"{seconds:.1f} s with writing, {pace:.1f} sweeps a second, {pace * find_period(drive, chosen):.2f} × real time"
    )
    unknown = tally.describe_unknown(place)
    if unknown is not None:
        typer.echo(unknown)
    tally.report_empty()
    share = None if place.observed is None else tally.unknown_share
    counts = {"sweeps": tally.sweeps, "beams": tally.beams, "returns": tally.returns}
    print_outputs([("log", output)], as_json, output=str(output), **counts, unknown_share=share, seconds=seconds)
