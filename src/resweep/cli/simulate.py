"""``resweep simulate``: a sensor through a world, to a log on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resweep.cli.writing import describe_work, locks
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.pose import Array, Trajectory
    from resweep.scenario import Actor
    from resweep.sensors import Sensor
    from resweep.worlds import World

LIKE_NOISE_M = 0.005  # C, 6.3.4: sigma of the noise that SimKITTI32's ranges were given
_NOISE = "receiver.range_noise"


@locks("output")
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
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise-m",
            min=0.0,
            max=1.0,
            metavar="SIGMA",
            help="Range noise, one sigma in metres; with --like 0.005 unless given, else the sensor's own.",
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
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same bytes.")] = 0,
    threads: Annotated[int, typer.Option(min=0, metavar="N", help="0 takes all cores.")] = 0,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Leave out bad poses of a log, and say so.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log at OUT.")] = False,
) -> None:
    """Drive a sensor through a world and write what it measures.

    Stopped and started again with the same words, it goes on after the finished sweeps, which OUT.partial keeps.

    With --like the world is taken to be one that was recorded: its surfaces have the recording's noise, so that
    only 5 mm are added to ranges, as SimKITTI32 has it, and not the sensor's own noise once more.

    Examples:

      resweep simulate scene:street -s velodyne-hdl-32e -p 0,0,2 -o street

      resweep simulate hall.obj -s ouster-os1-64 -p drive.tum -o out --format pcd

      resweep simulate scene:meadow -s velodyne-vlp-16 -p 0,0,2.5 -o thin --set beam.rays=single

      resweep simulate seq00.world -s velodyne-hdl-32e --like kitti/sequences/00 --offset 0,0,-0.5 -o sim32

      resweep simulate scene:street -s velodyne-hdl-32e --scenario hidden-car -o hidden
    """
    given = describe_work(locals())
    from resweep.cli.inputs import check_folder, check_world, mount_sensor, open_world, read_motion
    from resweep.cli.progress import Tally
    from resweep.io import write_log
    from resweep.progress import open_progress

    options: dict[str, object] = {"rotation_rate_hz": rate, "beam.rays": rays, "receiver.mode": mode}
    chosen = _load_sensor(sensor, {**options, **_choose_noise(noise, like, set_ or [])}, set_ or [])
    _check_format(format)
    check_folder(output, overwrite)
    if [poses, like, scenario].count(None) != 2:
        raise ResweepError(
            "give one of --poses, --like and --scenario: the sensor's poses, a log to drive like, or a scenario"
        )
    if bank is not None and scenario is None:
        raise ResweepError("--bank: holds the objects of a scenario; give --scenario too")
    path = poses or like or ""
    staged = None if scenario is None else _Staged(scenario, bank)
    motion = (
        None
        if staged
        else _check_motion(
            mount_sensor(read_motion(path, pose_rate, standing, keep_going), offset), path, chosen, sweeps
        )
    )
    check_world(world)
    with open_progress() as progress:
        progress.start(f"reading {world}")
        place = open_world(world, seed, up)
        actors: list[Actor] = []
        if staged is not None:
            progress.start("placing the actors")
            where, actors = staged.place(place)
            path = str(scenario)
            motion = _check_motion(mount_sensor(where, offset), path, chosen, sweeps)
        assert motion is not None
        progress.start("starting the tracer")
        from resweep.simulate import Simulator

        simulator = Simulator(place, chosen, actors=actors, seed=seed, threads=threads)
        _ = simulator.scene  # built here, so that the pace below is that of sweeping
        drive = simulator.run(motion, sweeps=sweeps)
        drive = replace(drive, meta={**drive.meta, **_collect_provenance(chosen, sensor, path, offset)})
        tally = Tally(progress)
        drive = tally.count(drive, chosen.sweep_period_s, f"sweeping {chosen.name}")
        write_log(drive, output, format=format, overwrite=overwrite, progress=False, resume=given)
        seconds = tally.seconds
    pace = tally.sweeps / seconds
    many = "1 sweep" if len(drive) == 1 else f"{len(drive):,} sweeps"
    before = len(drive) - tally.sweeps
    there = f", {before:,} of them from before" if before else ""
    typer.echo(f"{output}: {many} of {chosen.name} as {format}{there}")
    new = " of the new ones" if before else ""
    typer.echo(
        f"{tally.returns:,} returns on {tally.beams:,} beams{new}, range noise {_describe_noise(chosen, sensor)}"
    )
    typer.echo(
        f"{seconds:.1f} s with writing, {pace:.1f} sweeps a second, {pace * chosen.sweep_period_s:.2f} × real time"
    )


class _Staged:
    """A scenario and its bank, read and checked before any world is."""

    def __init__(self, word: str, bank: Path | None) -> None:
        from resweep.scenario import load_bank, load_scenario

        self.scenario = load_scenario(word)
        self.bank = None if bank is None else load_bank(bank)

    def place(self, world: World) -> tuple[Trajectory, list[Actor]]:
        """The sensor's trajectory and the actors in a world."""
        return self.scenario.place(world, self.bank)


def _choose_noise(given: float | None, like: str | None, words: list[str]) -> dict[str, object]:
    """The settings of range noise that ``--noise-m`` or ``--like`` stands for; ``--set`` has the last word."""
    set_too = any(word.split("=")[0].strip().startswith(_NOISE) for word in words)
    if given is not None and set_too:
        raise ResweepError(f"--noise-m and --set {_NOISE}...: both set the range noise; give one of them")
    if set_too or (given is None and like is None):
        return {}
    sigma = LIKE_NOISE_M if given is None else given
    return {f"{_NOISE}_sigma_m": sigma, f"{_NOISE}_per_m": 0.0}


def _describe_noise(sensor: Sensor, name: str) -> str:
    from resweep.sensors import load_sensor

    def describe(receiver: Any) -> str:
        grows = receiver.range_noise_per_m
        return f"{1000 * receiver.range_noise_sigma_m:g} mm" + (f" + {1000 * grows:g} mm/m" if grows else "")

    now, own = describe(sensor.receiver), describe(load_sensor(name).receiver)
    return now if now == own else f"{now} (the sensor's own: {own})"


def _collect_provenance(sensor: Sensor, name: str, poses: str, offset: str | None) -> dict[str, Any]:
    """What the log's record says of this run, beside the whole sensor and the world."""
    facts = {"range_noise": _describe_noise(sensor, name), "poses_from": poses}
    return facts if offset is None else {**facts, "offset_m": offset}


def _load_sensor(name: str, options: dict[str, object], words: list[str]) -> Sensor:
    """The sensor with what the options and the ``--set`` words change."""
    from resweep.cli.inputs import parse_settings
    from resweep.sensors import load_sensor

    changes = {key: value for key, value in options.items() if value is not None}
    return load_sensor(name).with_(**{**changes, **parse_settings(words)})


def _check_format(name: str) -> None:
    from resweep.errors import nearest_names
    from resweep.io import FORMATS

    writable = [entry.name for entry in FORMATS.values() if entry.write or entry.write_log]
    if name not in writable:
        raise ResweepError(f"--format '{name}': {nearest_names(name, writable)}")


def _check_motion(motion: Trajectory | Array, word: str, sensor: Sensor, sweeps: int | None) -> Trajectory | Array:
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
