"""``resweep simulate``: a sensor through a world, to a log on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.pose import Array, Trajectory
    from resweep.sensors import Sensor


def simulate(
    world: Annotated[
        str,
        typer.Argument(
            metavar="WORLD",
            help="A mesh (OBJ, PLY, STL, GLB), a saved .world folder, or scene:courtyard, meadow, root or street.",
            show_default=False,
        ),
    ],
    sensor: Annotated[str, typer.Option("--sensor", "-s", help="A name from 'resweep sensors', or a YAML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to write the log to.")],
    poses: Annotated[
        str | None,
        typer.Option(
            "--poses", "-p", help="A TUM, KITTI or CSV file, a log's folder, or x,y,z\\[,yaw_deg] to stand still."
        ),
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="LOG", help="Drive where this log drove, instead of --poses.")
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="sweep (lossless), pcd, ply, las, laz, kitti, semantickitti, nuscenes or ros2."
        ),
    ] = "sweep",
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
    up: Annotated[str, typer.Option(metavar="AXIS", help="The mesh file's upward axis, y or z.")] = "z",
    rate: Annotated[float | None, typer.Option(metavar="HZ", help="Another rotation rate.")] = None,
    rays: Annotated[str | None, typer.Option(help="Rays a pulse: single, nine or random.")] = None,
    mode: Annotated[
        str | None, typer.Option(help="Returns: first, last, strongest, strongest-and-last or multiple.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Another field of the sensor; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same bytes.")] = 0,
    threads: Annotated[int, typer.Option(min=0, metavar="N", help="0 takes all cores.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log at OUT.")] = False,
) -> None:
    """Drive a sensor through a world and write what it measures.

    Examples:

      resweep simulate scene:street -s velodyne-hdl-32e -p 0,0,2 -o street

      resweep simulate hall.obj -s ouster-os1-64 -p drive.tum -o out --format pcd

      resweep simulate scene:meadow -s velodyne-vlp-16 -p 0,0,2.5 -o thin --set beam.rays=single

      resweep simulate seq00.world -s velodyne-hdl-32e --like kitti/sequences/00 --offset 0,0,-0.5 -o sim32
    """
    from resweep.cli.inputs import check_folder, check_world, mount, open_world, read_motion
    from resweep.cli.progress import Meter
    from resweep.io import write_log

    chosen = _sensor(sensor, {"rotation_rate_hz": rate, "beam.rays": rays, "receiver.mode": mode}, set_ or [])
    _check_format(format)
    check_folder(output, overwrite)
    if (poses is None) == (like is None):
        raise ResweepError("give either --poses or --like: the poses of the sensor, or a log to drive like")
    path = poses or like or ""
    motion = _sampled(mount(read_motion(path, pose_rate, standing), offset), path, chosen, sweeps)
    check_world(world)
    with Meter() as meter:
        meter.stage(f"reading {world}")
        place = open_world(world, seed, up)
        meter.stage("starting the tracer")
        from resweep.simulate import Simulator

        simulator = Simulator(place, chosen, seed=seed, threads=threads)
        _ = simulator.scene  # built here, so that the pace below is that of sweeping
        drive = meter.tracked(simulator.run(motion, sweeps=sweeps), chosen.sweep_period_s, f"sweeping {chosen.name}")
        write_log(drive, output, format=format, overwrite=overwrite, progress=False)
        seconds = meter.seconds
    pace = meter.sweeps / seconds
    many = "1 sweep" if meter.sweeps == 1 else f"{meter.sweeps:,} sweeps"
    typer.echo(f"{output}: {many} of {chosen.name} as {format}")
    typer.echo(f"{meter.returns:,} returns on {meter.beams:,} beams")
    typer.echo(
        f"{seconds:.1f} s with writing, {pace:.1f} sweeps a second, {pace * chosen.sweep_period_s:.2f} × real time"
    )


def _sensor(name: str, options: dict[str, object], words: list[str]) -> Sensor:
    """The sensor with what the options and the ``--set`` words change."""
    from resweep.cli.inputs import settings
    from resweep.sensors import load_sensor

    changes = {key: value for key, value in options.items() if value is not None}
    return load_sensor(name).with_(**{**changes, **settings(words)})


def _check_format(name: str) -> None:
    from resweep.errors import nearest_names
    from resweep.io import FORMATS

    writable = [entry.name for entry in FORMATS.values() if entry.write or entry.write_log]
    if name not in writable:
        raise ResweepError(f"--format '{name}': {nearest_names(name, writable)}")


def _sampled(motion: Trajectory | Array, word: str, sensor: Sensor, sweeps: int | None) -> Trajectory | Array:
    """``motion``, which must last for the sweeps; a single standing pose is repeated for each of them."""
    import numpy as np

    from resweep.pose import Trajectory
    from resweep.sensors import fire

    many = sweeps or 1
    if not isinstance(motion, Trajectory):
        if len(motion) == 1:
            return np.repeat(motion, many, axis=0)
        if many > len(motion):
            raise ResweepError(f"{word}: {len(motion)} poses to stand at, {many} sweeps are asked for; lower --sweeps")
        return motion
    lasts = motion.end - motion.start
    needed = (many - 1) * sensor.sweep_period_s + float(fire(sensor).time[-1])
    if lasts + 1e-6 * sensor.sweep_period_s < needed:
        asked = "a sweep" if many == 1 else f"{many} sweeps"
        raise ResweepError(
            f"{word}: the poses last {lasts:.3f} s, {asked} of '{sensor.name}' needs {needed:.3f} s; "
            "give longer poses or fewer --sweeps, or --standing to stand at each"
        )
    return motion
