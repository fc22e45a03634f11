"""``resweep build``: recordings into a world on disk."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resweep.cli.shared.completion import complete_formats, complete_methods
from resweep.cli.shared.options import (
    METHOD_HELP,
    Bounds,
    Cluster,
    IntensityScale,
    Json,
    Labels,
    Memory,
    PoseRate,
    Poses,
    Refining,
    Resolution,
    parse_path,
)
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import OutputError, ResweepError
from resweep.memory import parse_memory

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.log import Log
    from resweep.pose import Array

_COUNTS = ("n_splats", "n_volumes", "n_faces")  # of a layer in the index of a world


@locks("output", reads=["logs"])
def build(
    logs: Annotated[
        list[Path],
        typer.Argument(parser=parse_path, metavar="LOG...", help="Recordings of one place.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=parse_path, metavar="WORLD", help="The .world folder to write.")
    ],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", autocompletion=complete_methods, help=METHOD_HELP, show_default=False),
    ] = None,
    sweeps: Annotated[
        str | None, typer.Option(metavar="A:B", help="Only these sweeps of each log, as in Python.", show_default=False)
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", autocompletion=complete_formats, help="The logs' format, if it is not guessed."),
    ] = None,
    labels: Labels = None,
    poses: Poses = None,
    pose_rate: PoseRate = None,
    bounds: Bounds = None,
    resolution: Resolution = None,
    scanner: Annotated[
        str | None,
        typer.Option(
            "--scanner",
            metavar="X,Y,Z",
            help="A cloud: where its scanner stood, in the cloud's coordinates; else it is found or assumed.",
            show_default=False,
        ),
    ] = None,
    intensity_scale: IntensityScale = None,
    odometry: Annotated[
        bool, typer.Option("--odometry", help="Find the poses from the sweeps (KISS-ICP); replaces the log's own.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align/--no-align", help="Correct the poses of further logs onto the map of the first.")
    ] = True,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file of settings.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="One setting, such as map.drop_movable=true; repeatable."),
    ] = None,
    drop_nan: Annotated[
        bool, typer.Option("--drop-nan", help="Leave out points whose coordinates are NaN or infinite.")
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Continue ground and façades where nothing was recorded; they are marked."),
    ] = False,
    refine: Refining = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip logs and sweeps that cannot be read or joined, and say so.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the world at WORLD.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep finished steps in WORLD.partial until the end.")
    ] = True,
    tile: Annotated[
        float | None,
        typer.Option(
            "--tile",
            min=2.0,
            max=10_000.0,
            metavar="M",
            help="Side of the tiles, metres; by default a short log is one tile, and a long one has tiles of 50 m.",
            show_default=False,
        ),
    ] = None,
    memory: Memory = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Build a world from recordings, without what moved: splats over surfaces, permeable volumes in vegetation.

    The ground of a long drive is divided into tiles that are built one by one, so that any length fits into memory. A
    build that was stopped goes on where it was when it is called again with the same arguments.

    Examples:

      resweep build kitti/sequences/00 -o town.world --sweeps 0:150

      resweep build drive1 drive2 -o place.world --method splats-descriptors --set map.ego_radius_m=2.5

      resweep build drive.bag -o place.world --odometry --refine full

      resweep build kitti/sequences/00 -o town.world --memory 4GB --cluster local:4

      resweep build tiles -o hill.world --bounds 448000,5411000,448200,5411200

      resweep build scan.laz -o room.world --scanner 0,0,0

      resweep build s3://drives/seq00 -o s3://maps/seq00.world
    """
    bound = parse_memory(memory)
    from resweep.build.pipeline import build as build_world
    from resweep.cli.shared.inputs import add_refinement, check_writable, parse_cloud
    from resweep.cluster import open_workers
    from resweep.prepare.clouds.place import is_cloud
    from resweep.register import join
    from resweep.worlds.store.generations import is_taken
    from resweep.worlds.store.save import check_name

    check_name(output)
    if is_taken(output) and not overwrite:
        raise OutputError(f"{output}: exists; choose another name or give --overwrite")
    check_writable(output)
    settings = [*(set_ or []), *_parse_scanner(scanner, len(logs)), *(["complete=true"] if complete else [])]
    chosen = _read_config(method, config, add_refinement(settings, refine))
    if odometry and poses is not None:
        raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
    skipped: list[str] = []
    tolerant = skipped if keep_going else None
    cloud = {**parse_cloud(bounds, resolution, intensity_scale), **({"drop_nan": True} if drop_nan else {})}
    opened = _open_logs(logs, format, labels, poses, pose_rate, cloud, parse_slice(sweeps), tolerant)
    began = time.perf_counter()
    recordings = _find_poses([log for _, log in opened], odometry)
    if align:
        recordings = _align(recordings, chosen, tolerant)
    log = join(recordings)
    with open_workers(cluster) as workers:
        build_world(log, chosen, output, tile_m=tile, memory=bound, workers=workers, overwrite=overwrite, resume=resume)
    for line in skipped:
        typer.echo(line, err=True)
    facts = _summarise(output, time.perf_counter() - began)
    placed = is_cloud(recordings[0], chosen.cloud)
    named = not (odometry or placed or format)
    like = _like(opened[0][0], recordings[0], parse_slice(sweeps)) if named else None
    given = {"--poses": poses, "--pose-rate": pose_rate}
    typer.echo(f"next: {_suggest_next(output, recordings[0], placed, like, given, bool(skipped))}")
    print_made([("world", output)], as_json, **facts)


def _parse_scanner(word: str | None, logs: int) -> list[str]:
    """The setting that ``--scanner`` stands for, as ``--set`` would give it."""
    import math

    from resweep.cli.shared.inputs import parse_numbers

    if word is None:
        return []
    values = parse_numbers(word)
    if values is None or len(values) != 3 or not all(map(math.isfinite, values)):
        raise ResweepError(f"--scanner '{word}': expected X,Y,Z in the cloud's coordinates, metres, such as 0,0,1.8")
    if logs > 1:
        raise ResweepError(
            f"--scanner: is where the scanner of one cloud stood, and {logs} are given; build them one by one"
        )
    return [f"cloud.scanner=[{','.join(repr(value) for value in values)}]"]


def _find_poses(recordings: list[Log], odometry: bool) -> list[Log]:
    """The logs with poses: their own, or found from their sweeps."""
    if odometry:
        from resweep.register import odometry as find_poses

        return [find_poses(log, progress=True) for log in recordings]
    for log in recordings:
        if len(log) > 1 or len(recordings) > 1:
            log.require_poses()
    return recordings


def _align(recordings: list[Log], config: BuildConfig, left_out: list[str] | None) -> list[Log]:
    """The logs with the poses of all but the first corrected, and what that changed on stderr."""
    from resweep.map.accumulate import find_mappable
    from resweep.register import align

    if len(recordings) < 2:
        return recordings
    labels = config.map.choose_labels(recordings[0])
    logs, shifts = align(
        recordings, keep=lambda sweep: find_mappable(sweep, config.map, labels), left_out=left_out, progress=True
    )
    for shift in shifts:
        typer.echo(str(shift), err=True)
    return logs


def _summarise(output: Path, seconds: float) -> dict[str, Any]:
    """Say what a world holds and what it was made from; returns that for ``--json``."""
    from resweep.worlds.store.index import read_index

    index = read_index(output)
    low, high = index["bounds"]
    counts = [(layer.get(name), layer["name"]) for layer in index["layers"] for name in _COUNTS]
    parts = " and ".join(f"{count:,} {name}" for count, name in counts if count)
    typer.echo(f"{output}: {parts} over {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m")
    meta = index["meta"]
    if "scanner" in meta:
        typer.echo(f"{meta['scanner']}")
    typer.echo(f"from {meta['points']:,} points of {meta['sweeps']:,} sweeps, in {seconds:.1f} s")
    layers = {str(name): count for count, name in counts if count}
    return {"layers": layers, "points": meta["points"], "sweeps": meta["sweeps"], "seconds": round(seconds, 3)}


def _like(path: Path, log: Log, chosen: slice) -> list[str] | None:
    """The words that drive like the sweeps that were built from; None where no option names them."""
    start, stop, step = chosen.start or 0, chosen.stop, chosen.step or 1
    if log.cloud != "no" or not (log.poses_known and log.beams_known) or start != 0 or step != 1:
        return None
    return ["--like", str(path), *([] if stop is None else ["--sweeps", str(len(log))])]


def _suggest_next(
    output: Path, log: Log, is_cloud: bool, like: list[str] | None, given: Mapping[str, object], keep_going: bool
) -> str:
    """A command that sweeps the new world and meets it: as the log drove, else from its first pose."""
    import numpy as np

    words = ["resweep", "simulate", str(output)]
    if like is not None:
        words += like
        words += [str(word) for name, value in given.items() if value is not None for word in (name, value)]
        words += ["--keep-going"] if keep_going else []
    else:
        pose = log.poses[0]
        yaw_deg = np.degrees(np.arctan2(pose[1, 0], pose[0, 0]))
        seat = _find_seat(log) if is_cloud else pose[:3, 3]
        place = ",".join(f"{value:.2f}" for value in (*seat, yaw_deg))
        words += ["--sensor", "velodyne-hdl-32e", "--poses", place]
    return shlex.join([*words, "-o", "out"])


def _find_seat(log: Log) -> Array:
    """A place (3,) in the middle of a cloud, 1.8 m above the lowest points around it."""
    import numpy as np

    points = log[len(log) // 2].world_points()
    middle = np.median(points, axis=0)
    near = points[
        np.argsort(np.abs(points[:, :2] - middle[:2]).max(axis=1), kind="stable")[: max(100, len(points) // 50)]
    ]
    return np.array([*middle[:2], np.quantile(near[:, 2], 0.05) + 1.8])


def _read_config(method: str | None, file: Path | None, changes: list[str]) -> BuildConfig:
    """The settings of a file, with what the options change."""
    from resweep.cli.shared.inputs import build_config
    from resweep.config import parse_yaml, read_text

    data: dict[str, Any] = {}
    if file is not None:
        data = parse_yaml(read_text(file, "a YAML file") or "{}", str(file), "settings as 'key: value' lines")
    of_file = data.pop("method", None)
    if method is None and of_file is not None:
        return build_config(str(of_file), changes, data, f"{file}: method")
    return build_config(method or "hybrid", changes, data)


def parse_slice(word: str | None) -> slice:
    """The sweeps that ``A:B`` or ``A:B:STEP`` names; all of them for None."""
    if word is None:
        return slice(None)
    try:
        parts = [int(part) if part.strip() else None for part in word.split(":")]
    except ValueError:
        parts = []
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] == 0):
        raise ResweepError(f"--sweeps '{word}': expected A:B or A:B:STEP, such as 0:150")
    return slice(*parts)


def _open_logs(
    paths: list[Path],
    format: str | None,
    labels: str | None,
    poses: Path | None,
    pose_rate: float | None,
    cloud: Mapping[str, Any],
    chosen: slice,
    skipped: list[str] | None,
) -> list[tuple[Path, Log]]:
    """The logs and where they are; with a list in ``skipped``, what cannot be read is noted there and left out."""
    from resweep.cli.shared.inputs import open_posed
    from resweep.io.folders.faults import describe_skipped

    opened = []
    for path in paths:
        try:
            log = open_posed(path, skipped is not None, poses, pose_rate, format=format, labels=labels, **cloud)
            if skipped is not None and (text := describe_skipped(log)) is not None:
                skipped.append(f"{path}: {text}")
            if len(log[chosen]) == 0:
                raise ResweepError(f"{path}: none of its {len(log)} sweeps is left by --sweeps; widen it")
            opened.append((path, log[chosen]))
        except ResweepError as error:
            if skipped is None:
                raise
            skipped.append(f"skipped {error}")
    if not opened:
        raise ResweepError("no log could be read: " + "; ".join(skipped or []))
    return opened
