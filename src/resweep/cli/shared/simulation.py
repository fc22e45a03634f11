"""What ``resweep simulate`` does: a sensor with changes, on the course that the options give, through a world."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.inputs import mount_sensor, parse_offset, parse_settings, read_motion
from resweep.cli.shared.progress import Tally
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.cli.shared.writing import LogTarget
    from resweep.log import Log
    from resweep.pose import Array, Trajectory
    from resweep.scenario import Actor, Bank, Scenario
    from resweep.sensors import Sensor
    from resweep.worlds import StreamedWorld, World

RECORDED = "recorded"  # the name of the beams of the log itself, in place of a sensor
_NOISE = "receiver.range_noise"


@dataclass(frozen=True)
class Course:
    """How a sensor moves: along poses, as a log did, or as the ego of a scenario among its actors."""

    poses: str | None
    like: str | None
    scenario: str | None
    bank: Path | None
    sweeps: int | None
    standing: bool
    offset: str | None
    pose_rate: float | None
    keep_going: bool

    def __post_init__(self) -> None:
        poses = self.poses if self.like is None else None  # with a log they are those of its sweeps
        if [poses, self.like, self.scenario].count(None) != 2 or (self.poses and self.scenario):
            raise ResweepError(
                "give one of --poses, --like and --scenario: the sensor's poses, a log to drive like, or a scenario"
            )
        if self.bank is not None and self.scenario is None:
            raise ResweepError("--bank: holds the objects of a scenario; give --scenario too")

    @property
    def source(self) -> str:
        """The file, log or scenario that is followed."""
        return self.scenario or self.like or self.poses or ""

    def open_like(self, sensor: str) -> Log | None:
        """The log to drive like, or its first sweeps; with poses of a file in place of its own, if given."""
        from resweep.cli.shared.inputs import open_posed, report_skipped
        from resweep.remote import find_path

        if self.like is None:
            return None
        # Another sensor takes the poses alone: no sweep is read for it, and no empty beam looked for.
        fired = sensor == RECORDED
        how: dict[str, Any] = {"poses_only": not fired, "empty_beams": fired}
        log = open_posed(find_path(self.like), self.keep_going, self.poses, self.pose_rate, **how)
        report_skipped(self.like, log)
        if len(log) > 1 or not fired:
            log.require_poses()
        if self.sweeps is not None and self.sweeps > len(log):
            raise ResweepError(f"{self.like}: holds {len(log)} sweeps, {self.sweeps} are asked for; lower --sweeps")
        if log.sensor_name == sensor:
            text = f"{sensor} fires its catalog pattern, not the beams of {self.like}; leave --sensor out to fire those"
            typer.echo(text, err=True)
        return log[: self.sweeps]

    def open_scenario(self) -> tuple[Scenario, Bank | None] | None:
        """The scenario and its bank, read and checked before any world is."""
        from resweep.scenario import load_bank, load_scenario

        if self.scenario is None:
            return None
        return load_scenario(self.scenario), None if self.bank is None else load_bank(self.bank)

    def read_poses(self, sensor: Sensor) -> Trajectory | Array | None:
        """The poses of the sensor; None where a log or a scenario has them."""
        if self.poses is None or self.like is not None:
            return None
        return self.mount(read_motion(self.poses, self.pose_rate, self.standing, self.keep_going), sensor)

    def mount(self, motion: Trajectory | Array, sensor: Sensor) -> Trajectory | Array:
        """The poses of the sensor on what moves, which must last for the sweeps; one pose is repeated for each."""
        import numpy as np

        from resweep.pose import Trajectory
        from resweep.sensors import fire

        motion, many = mount_sensor(motion, self.offset), self.sweeps or 1
        if not isinstance(motion, Trajectory):
            if len(motion) == 1:
                return np.repeat(motion, many, axis=0)
            if many > len(motion):
                stands = f"{self.source}: {len(motion)} poses to stand at"
                raise ResweepError(f"{stands}, {many} sweeps are asked for; lower --sweeps")
            return motion
        lasts = motion.end - motion.start
        needed = (many - 1) * sensor.sweep_period_s + float(fire(sensor).time[-1])
        if lasts + 1e-6 * sensor.sweep_period_s < needed:
            asked = "a sweep" if many == 1 else f"{many} sweeps"
            raise ResweepError(
                f"{self.source}: the poses last {lasts:.3f} s, {asked} of '{sensor.name}' needs {needed:.3f} s; "
                "give longer poses or fewer --sweeps, or --standing to stand at each"
            )
        return motion


class ChosenSensor:
    """The sensor that options name and change, and its learned model; checked before any log is read."""

    def __init__(
        self,
        name: str | None,
        course: Course,
        changes: dict[str, Any],
        noise: float | None,
        settings: list[str],
        model: Path | None,
    ) -> None:
        from resweep.sensors import load_sensor
        from resweep.simulate.realism import load_realism

        if name is None and course.like is None:
            raise ResweepError("--sensor: missing; give a name from 'resweep sensors', or a YAML file")
        self.name = name or RECORDED
        self.noise, self._settings = noise, settings
        if self.name == RECORDED:
            rate = changes["rotation_rate_hz"]
            _check_recorded(course, {"--offset": course.offset, "--standing": course.standing, "--rate": rate})
        self._own = None if self.name == RECORDED else load_sensor(self.name)
        self._changes = {**changes, **_choose_noise(noise, settings)}
        self.model = None if model is None else load_realism(model)

    def choose(self, like: Log | None) -> tuple[Sensor, Sensor]:
        """The sensor as it is changed, and as its spec has it, or the log ``like`` for recorded beams."""
        from resweep.simulate.recorded_sensor import make_recorded_sensor

        own = make_recorded_sensor(like) if self._own is None and like is not None else self._own
        assert own is not None
        changes = {key: value for key, value in self._changes.items() if value is not None}
        return own.with_(**{**changes, **parse_settings(self._settings)}), own


def _check_recorded(course: Course, options: dict[str, object]) -> None:
    """Raise if recorded beams are asked for without a log, or with an option that they do not have."""
    if course.like is None:
        raise ResweepError("--sensor recorded: fires the beams of a log; give that with --like LOG")
    for name, value in options.items():
        if value:
            raise ResweepError(
                f"{name}: recorded beams leave as they were recorded; leave it out, or name another --sensor"
            )


def _choose_noise(given: float | None, settings: list[str]) -> dict[str, object]:
    """The settings of range noise that ``--noise-m`` stands for, if it is given."""
    if given is None:
        return {}
    if any(text.split("=")[0].strip().startswith(_NOISE) for text in settings):
        raise ResweepError(f"--noise-m and --set {_NOISE}...: both set the range noise; give one of them")
    return {f"{_NOISE}_sigma_m": given, f"{_NOISE}_per_m": 0.0}


@dataclass(frozen=True)
class Simulation:
    """A drive that was simulated and written, and what was counted meanwhile."""

    drive: Log
    place: World | StreamedWorld
    tally: Tally
    noise: str
    what: str
    period_s: float
    seconds: float


def simulate_drive(
    world: str, up: str | None, course: Course, choice: ChosenSensor, target: LogTarget, cluster: str | None, **how: Any
) -> Simulation:
    """Drive the chosen sensor through a world and write the log; ``how``: seed, threads and memory_bytes."""
    from resweep.cli.shared.inputs import check_world, open_world, stream_world
    from resweep.cluster import open_workers
    from resweep.progress import open_progress
    from resweep.simulate.simulated_drive import SimulatedDrive

    like = course.open_like(choice.name)
    sensor, own = choice.choose(like)
    staged = course.open_scenario()
    motion = course.read_poses(sensor)
    check_world(world)
    with open_workers(cluster) as workers, open_progress() as progress:
        progress.start(f"reading {world}")
        actors: list[Actor] = []
        place: World | StreamedWorld
        if staged is None:
            place = stream_world(world, how["seed"], up, memory_bytes=how["memory_bytes"])
        else:  # actors are placed on the ground of the whole world
            place = whole = open_world(world, how["seed"], up, memory_bytes=how["memory_bytes"])
            progress.start("placing the actors")
            where, actors = staged[0].place(whole, staged[1])
            motion = course.mount(where, sensor)
        progress.start("starting the tracer")
        path: dict[str, Any] = {"motion": motion, "sweeps": course.sweeps}
        if like is not None:
            path = {"like": like, "recorded": choice.name == RECORDED, "standing": course.standing}
            path["offset"] = parse_offset(course.offset)
        plan = SimulatedDrive(world, sensor, up, tuple(actors), realism=choice.model, **path, **how)
        drive = plan.run(place, ready=cluster is None)  # so that the pace below is that of sweeping
        noise = _describe_noise(sensor, own)
        offset = {} if course.offset is None else {"offset_m": course.offset}
        drive = replace(drive, meta={**drive.meta, "range_noise": noise, "poses_from": course.source, **offset})
        tally = Tally(progress)
        what = f"the recorded beams of {course.like}" if choice.name == RECORDED else sensor.name
        many = len(drive)
        period = float(drive.times[-1] - drive.times[0]) / (many - 1) if many > 1 else sensor.sweep_period_s
        on_sweep = tally.begin(many, period, f"sweeping {what}")
        target.write(drive, progress=False, workers=workers, on_sweep=on_sweep)
        return Simulation(drive, place, tally, noise, what, period, tally.seconds)


def _describe_noise(sensor: Sensor, own: Sensor) -> str:
    """The range noise of a sensor, and that of its own spec where that differs."""

    def describe(receiver: Any) -> str:
        grows = receiver.range_noise_per_m
        return f"{1000 * receiver.range_noise_sigma_m:g} mm" + (f" + {1000 * grows:g} mm/m" if grows else "")

    now, before = describe(sensor.receiver), describe(own.receiver)
    return now if now == before else f"{now} (the sensor's own: {before})"


def print_simulation(simulation: Simulation, choice: ChosenSensor, target: LogTarget, as_json: bool) -> None:
    """Print how much was simulated, with which noise, and how fast."""
    from resweep.cli.shared.outputs import print_outputs
    from resweep.cli.shared.writing import name_resumed

    tally, total = simulation.tally, len(simulation.drive)
    pace, before = tally.sweeps / simulation.seconds, total - tally.sweeps
    many = "1 sweep" if total == 1 else f"{total:,} sweeps"
    typer.echo(f"{target.path}: {many} of {simulation.what} as {target.format}{name_resumed(before)}")
    noise = f"range noise {simulation.noise}"
    if choice.noise is None and choice.name == RECORDED:
        noise = f"{noise}: the world holds the recording's, --noise-m adds to it"
    if choice.model is not None and choice.model.card.noise is not None:
        noise = f"{noise}; the learned model adds its own"
    new = " of the new ones" if before else ""
    typer.echo(f"{tally.returns:,} returns on {tally.beams:,} beams{new}, {noise}")
    speed = f"{pace:.1f} sweeps a second, {pace * simulation.period_s:.2f} × real time"
    typer.echo(f"{simulation.seconds:.1f} s with writing, {speed}")
    tally.report_unknown(simulation.place)
    share = None if simulation.place.observed is None else tally.unknown_share
    counts = {"sweeps": tally.sweeps, "beams": tally.beams, "returns": tally.returns}
    facts = {"output": str(target.path), **counts, "unknown_share": share, "seconds": simulation.seconds}
    print_outputs([("log", target.path)], as_json, **facts)
