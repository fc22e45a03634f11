"""What ``resweep simulate`` is given: a sensor with changes, a scenario, a motion that lasts long enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from resweep.cli.shared.inputs import parse_settings
from resweep.errors import ResweepError, nearest_names

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.pose import Array, Trajectory
    from resweep.scenario import Actor
    from resweep.sensors import Sensor
    from resweep.worlds import World

_NOISE = "receiver.range_noise"


def change_sensor(sensor: Sensor, options: dict[str, object], settings: list[str]) -> Sensor:
    """The sensor with what the options and ``--set`` change."""
    changes = {key: value for key, value in options.items() if value is not None}
    return sensor.with_(**{**changes, **parse_settings(settings)})


def choose_noise(given: float | None, settings: list[str]) -> dict[str, object]:
    """The settings of range noise that ``--noise-m`` stands for, if it is given."""
    if given is None:
        return {}
    if any(text.split("=")[0].strip().startswith(_NOISE) for text in settings):
        raise ResweepError(f"--noise-m and --set {_NOISE}...: both set the range noise; give one of them")
    return {f"{_NOISE}_sigma_m": given, f"{_NOISE}_per_m": 0.0}


def describe_noise(sensor: Sensor, own: Sensor) -> str:
    """The range noise of a sensor, and that of its own spec where that differs."""

    def describe(receiver: Any) -> str:
        grows = receiver.range_noise_per_m
        return f"{1000 * receiver.range_noise_sigma_m:g} mm" + (f" + {1000 * grows:g} mm/m" if grows else "")

    now, before = describe(sensor.receiver), describe(own.receiver)
    return now if now == before else f"{now} (the sensor's own: {before})"


def collect_provenance(sensor: Sensor, own: Sensor, poses: str, offset: str | None) -> dict[str, Any]:
    """What the log's record says of this run, beside the whole sensor and the world."""
    facts = {"range_noise": describe_noise(sensor, own), "poses_from": poses}
    return facts if offset is None else {**facts, "offset_m": offset}


class StagedScenario:
    """A scenario and its bank, read and checked before any world is."""

    def __init__(self, word: str, bank: Path | None) -> None:
        from resweep.scenario import load_bank, load_scenario

        self.scenario = load_scenario(word)
        self.bank = None if bank is None else load_bank(bank)

    def place(self, world: World) -> tuple[Trajectory, list[Actor]]:
        """The sensor's trajectory and the actors in a world."""
        return self.scenario.place(world, self.bank)


def check_format(name: str) -> None:
    """Raise if no log can be written in the format of that name."""
    from resweep.io import FORMATS

    writable = [entry.name for entry in FORMATS.values() if entry.write or entry.write_log]
    if name not in writable:
        raise ResweepError(f"--format '{name}': {nearest_names(name, writable)}")


def choose_points(points: str | None, format: str | None) -> dict[str, Any]:
    """The option of the writer of ``format`` that ``--points`` gives; a wrong name raises before the work."""
    from resweep.io.ros.point_layouts import POINTS

    if points is None:
        return {}
    if format != "ros2":
        raise ResweepError(f"--points {points}: lays out the points of a bag; give --format ros2 too")
    if points not in POINTS:
        raise ResweepError(f"--points '{points}': {nearest_names(points, POINTS)}")
    return {"points": points}


def check_motion(motion: Trajectory | Array, word: str, sensor: Sensor, sweeps: int | None) -> Trajectory | Array:
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


def find_period(drive: Log, sensor: Sensor) -> float:
    """Seconds from one sweep of a drive to the next; of a single one, what it lasts."""
    return float(drive.times[-1] - drive.times[0]) / (len(drive) - 1) if len(drive) > 1 else sensor.sweep_period_s
