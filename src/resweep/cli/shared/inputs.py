"""What commands are given: worlds, logs, poses and settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.errors import InputError, ResweepError
from resweep.remote import find_path
from resweep.scenes.opening import check_world as check_world
from resweep.scenes.opening import open_world as open_world
from resweep.scenes.opening import stream_world as stream_world

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.log import Log
    from resweep.pose import Array, Trajectory

_ASSUMED_RATE_HZ = 10.0


def parse_numbers(text: str) -> list[float] | None:
    """The numbers in ``1,2.5,-3``, or None if it is anything else."""
    try:
        return [float(part) for part in text.split(",")] if "," in text else None
    except ValueError:
        return None


def parse_cloud(
    bounds: str | None, resolution: float | None, intensity_scale: float | None = None, scale_option: str = ""
) -> dict[str, Any]:
    """Options of `open_log` that ``--bounds``, ``--resolution`` and the scale of intensities give, if any.

    ``scale_option`` is the name of the last, where it is not ``--intensity-scale``.
    """
    import math

    found: dict[str, Any] = {}
    if bounds is not None:
        values = parse_numbers(bounds)
        if values is None or len(values) not in (4, 6) or any(map(math.isnan, values)):
            raise ResweepError(f"--bounds '{bounds}': expected X0,Y0,X1,Y1 or X0,Y0,X1,Y1,Z0,Z1 in metres")
        if any(
            low > high for low, high in ((values[0], values[2]), (values[1], values[3]), tuple(values[4:] or (0, 0)))
        ):
            raise ResweepError(f"--bounds '{bounds}': the lower corner comes first, as in X0,Y0,X1,Y1,Z0,Z1")
        found["bounds"] = tuple(values)
    for name, option, value in (
        ("resolution", "--resolution", resolution),
        ("intensity_scale", scale_option or "--intensity-scale", intensity_scale),
    ):
        if value is not None:
            if not (math.isfinite(value) and value > 0):
                raise ResweepError(f"{option} {value:g}: expected a number above zero")
            found[name] = value
    return found


def open_recording(path: Path, keep_going: bool, **options: Any) -> Log:
    """The log in ``path``: bad sweeps raise when they are read, or with ``keep_going`` are left out.

    ``options`` are those of `open_log`.
    """
    from resweep.io import open_log
    from resweep.io.folders.faults import refuse_empty

    log = open_log(path, keep_going=keep_going, **options)
    return log if keep_going else refuse_empty(log, path)


def open_posed(
    path: Path,
    keep_going: bool,
    poses: str | Path | None = None,
    pose_rate: float | None = None,
    *,
    poses_only: bool = False,
    **options: Any,
) -> Log:
    """The log in ``path`` with the poses that ``--poses`` and ``--pose-rate`` give, if any: for every command.

    With ``poses_only`` its sweeps are not looked at, even to ``keep_going``.
    """
    from resweep.io import open_log

    if poses is not None:
        options |= {"poses": poses, "pose_rate_hz": pose_rate}
    elif pose_rate is not None:
        options["rate_hz"] = pose_rate
    if poses_only:
        return open_log(path, keep_going="poses" if keep_going else False, **options)
    return open_recording(path, keep_going, **options)


def check_odometry(odometry: bool, poses: Path | None) -> None:
    """Raise if poses are to be found that are given."""
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")


def find_poses(log: Log) -> Log:
    """The log with poses that are found from its sweeps."""
    from resweep.register import odometry

    return odometry(log, progress=True)


def report_skipped(path: Path | str, log: Log) -> None:
    """Print on stderr how many sweeps of a log were left out when it was opened, and why, if any were."""
    from resweep.io.folders.faults import describe_skipped

    if (text := describe_skipped(log)) is not None:
        typer.echo(f"{path}: {text}", err=True)


def report_unknown_sensor(path: Path | str, log: Log) -> None:
    """Print on stderr that a cloud does not tell where its sensor was, if so."""
    from resweep.viewer.describe import SENSOR_UNKNOWN

    if not log.sensor_position_known:
        typer.echo(f"{path}: {SENSOR_UNKNOWN}", err=True)


def read_motion(text: str, rate_hz: float | None, standing: bool, keep_going: bool = False) -> Trajectory | Array:
    """The poses that ``text`` gives: a `Trajectory`, or (n, 4, 4) where the sensor stands at each.

    ``text`` is a poses file, the folder of a log, or ``x,y,z[,yaw_deg]`` for one fixed pose. With
    ``keep_going``, bad poses of a log are left out.
    """
    from resweep.io import load_poses

    if (values := parse_numbers(text)) is not None:
        return _parse_pose(text, values)
    path = find_path(text)
    if not path.exists():
        raise InputError(f"{text}: no such poses file; give a file, a log's folder, or x,y,z[,yaw_deg]")
    if path.is_dir():
        log = open_posed(path, keep_going, pose_rate=rate_hz, poses_only=True)
        report_skipped(text, log)
        log.require_poses()
        log.require_beams("it gives no poses")
        return log.poses if standing else log.trajectory
    if standing:  # the times of a KITTI file matter only to a sensor that moves
        return load_poses(path, rate_hz=rate_hz or _ASSUMED_RATE_HZ).poses
    return load_poses(path, rate_hz=rate_hz)


def _parse_pose(text: str, values: list[float]) -> Array:
    import math

    from resweep.pose import from_xyz_rpy

    if len(values) not in (3, 4):
        raise ResweepError(f"poses '{text}': {len(values)} numbers; one pose is x,y,z or x,y,z,yaw_deg")
    if not all(map(math.isfinite, values)):
        raise ResweepError(f"poses '{text}': every number must be finite")
    x, y, z, yaw_deg = (*values, 0.0)[:4]
    return from_xyz_rpy(x, y, z, yaw=math.radians(yaw_deg))[None]


def mount_sensor(motion: Trajectory | Array, text: str | None) -> Trajectory | Array:
    """Poses of a sensor mounted ``text`` = ``x,y,z`` metres from the frame that ``motion`` moves."""
    from resweep.pose import Trajectory

    T_frame_sensor = parse_offset(text)
    if T_frame_sensor is None:
        return motion
    return motion.offset(T_frame_sensor) if isinstance(motion, Trajectory) else motion @ T_frame_sensor


def parse_offset(text: str | None) -> Array | None:
    """``T_frame_sensor`` (4, 4) of ``x,y,z`` metres; None for None."""
    from resweep.pose import from_xyz_rpy

    if text is None:
        return None
    values = parse_numbers(text)
    if values is None or len(values) != 3 or not all(abs(value) < 1e9 for value in values):
        raise ResweepError(f"--offset '{text}': expected three numbers x,y,z in metres, such as 0,0,1.73")
    x, y, z = values
    return from_xyz_rpy(x, y, z)


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Dotted sensor fields from settings such as ``receiver.range_noise_sigma_m=0.02``, values as in YAML."""
    import yaml

    changes: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ResweepError(f"--set '{text}': expected FIELD=VALUE, such as beam.rays=single")
        try:
            changes[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ResweepError(f"--set '{text}': the value is not valid YAML") from error
    return changes


def build_config(
    method: str, settings: list[str], given: dict[str, Any] | None = None, where: str = "--method"
) -> BuildConfig:
    """The settings of a method, with dotted fields changed by settings such as ``map.ego_radius_m=2``.

    ``given`` are fields to begin with; ``where`` tells in an error where the method was named.
    """
    from resweep.build.methods import method_config

    return method_config(method, nest_settings(settings, given), where)


def read_build_config(method: str | None, file: Path | None, changes: list[str]) -> BuildConfig:
    """The settings of a file, with what the options change."""
    from resweep.config import parse_yaml, read_text

    data: dict[str, Any] = {}
    if file is not None:
        data = parse_yaml(read_text(file, "a YAML file") or "{}", str(file), "settings as 'key: value' lines")
    of_file = data.pop("method", None)
    if method is None and of_file is not None:
        return build_config(str(of_file), changes, data, f"{file}: method")
    return build_config(method or "hybrid", changes, data)


def parse_scanner(text: str | None, logs: int) -> list[str]:
    """The setting that ``--scanner`` stands for, as ``--set`` would give it."""
    import math

    if text is None:
        return []
    values = parse_numbers(text)
    if values is None or len(values) != 3 or not all(map(math.isfinite, values)):
        raise ResweepError(f"--scanner '{text}': expected X,Y,Z in the cloud's coordinates, metres, such as 0,0,1.8")
    if logs > 1:
        raise ResweepError(
            f"--scanner: is where the scanner of one cloud stood, and {logs} are given; build them one by one"
        )
    return [f"cloud.scanner=[{','.join(repr(value) for value in values)}]"]


def add_refinement(settings: list[str] | None, refine: str | None, quick: bool = False) -> list[str]:
    """The settings of ``--set`` with what ``--refine`` and ``--quick`` give, if they are given."""
    if quick and refine not in (None, "none"):
        raise ResweepError(f"--quick --refine {refine}: --quick leaves refinement out; give one of them")
    return [*(settings or []), *([] if refine is None else [f"refine={refine}"]), *(["quick=true"] if quick else [])]


def nest_settings(settings: list[str], given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Fields from settings such as ``map.ego_radius_m=2``, dots as levels, put over those ``given``."""
    data: dict[str, Any] = dict(given or {})
    for key, value in parse_settings(settings).items():
        *path, last = key.split(".")
        level = data
        for part in path:
            level = level.setdefault(part, {})
            if not isinstance(level, dict):
                raise ResweepError(f"--set '{key}': '{part}' has no parts")
        level[last] = value
    return data
