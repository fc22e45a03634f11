"""What ``resweep build`` does: recordings that are read together, their world, and what to do with that next."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.inputs import open_posed
from resweep.errors import OutputError, ResweepError
from resweep.files.strict_json import format_json
from resweep.progress import write_line

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.build.time_estimate import TimeEstimate
    from resweep.log import Log
    from resweep.pose import Array


def check_world_folder(output: Path, overwrite: bool) -> None:
    """Raise if no world can be written at ``output``."""
    from resweep.cli.shared.targets import check_writable
    from resweep.worlds.store.generations import is_taken
    from resweep.worlds.store.save import check_name

    check_name(output)
    if is_taken(output) and not overwrite:
        raise OutputError(f"{output}: exists; choose another name or give --overwrite")
    check_writable(output)


def parse_slice(text: str | None) -> slice:
    """The sweeps that ``A:B`` or ``A:B:STEP`` names; all of them for None."""
    if text is None:
        return slice(None)
    try:
        parts = [int(part) if part.strip() else None for part in text.split(":")]
    except ValueError:
        parts = []
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] == 0):
        raise ResweepError(f"--sweeps '{text}': expected A:B or A:B:STEP, such as 0:150, or 5:6 for sweep 5 alone")
    return slice(*parts)


class Recordings:
    """The logs that a world is built from, or those sweeps of them; ``how`` are options of `open_posed`.

    With ``keep_going`` what cannot be read or joined is left out, and noted in ``skipped``.
    """

    def __init__(self, paths: list[Path], chosen: slice, keep_going: bool, how: dict[str, Any]) -> None:
        self.skipped: list[str] = []
        self._chosen, self._keep_going, self._how = chosen, keep_going, how
        self._found_poses = False
        self._began = time.perf_counter()
        self.logs: list[tuple[Path, Log]] = []
        for path in paths:
            try:
                self.logs.append((path, self._open(path)))
            except ResweepError as error:
                if not keep_going:
                    raise
                self.skipped.append(f"skipped {error}")
        if not self.logs:
            raise ResweepError("no log could be read: " + "; ".join(self.skipped))

    def _open(self, path: Path) -> Log:
        from resweep.io.folders.faults import describe_skipped

        log = open_posed(path, self._keep_going, **self._how)
        if self._keep_going and (text := describe_skipped(log)) is not None:
            self.skipped.append(f"{path}: {text}")
        if len(log[self._chosen]) == 0:
            raise ResweepError(f"{path}: none of its {len(log)} sweeps is left by --sweeps; widen it")
        return log[self._chosen]

    def join(self, config: BuildConfig, odometry: bool, align: bool) -> Log:
        """One log of all of them, with poses that are found or aligned if asked for; prints how they moved."""
        from resweep.build.recordings import join_recordings

        self._began, self._found_poses = time.perf_counter(), odometry
        left_out = self.skipped if self._keep_going else None
        logs = [log for _, log in self.logs]
        joined, shifts = join_recordings(logs, config, odometry=odometry, align=align, left_out=left_out)
        for shift in shifts:
            typer.echo(str(shift), err=True)
        return joined

    @property
    def seconds(self) -> float:
        """Seconds since they began to be joined."""
        return time.perf_counter() - self._began

    def suggest(self, output: Path, log: Log, config: BuildConfig) -> str:
        """The command that sweeps the new world: as the first log drove, else from the first pose of all."""
        from resweep.prepare.clouds.place import is_cloud

        (path, first), how = self.logs[0], self._how
        placed = is_cloud(first, config.cloud)
        named = not (self._found_poses or placed or how["format"])
        like = _name_drive(path, first, self._chosen) if named else None
        command = ["resweep", "simulate", str(output)]
        if like is None:
            command += ["--sensor", "velodyne-hdl-32e", "--poses", _name_start(log, placed)]
        else:
            given = {"--poses": how["poses"], "--pose-rate": how["pose_rate"]}
            command += like
            command += [str(part) for name, value in given.items() if value is not None for part in (name, value)]
            command += ["--keep-going"] if self.skipped else []
        return shlex.join([*command, "-o", "out"])


def print_plan(log: Log, config: BuildConfig, as_json: bool, cluster: str | None, **options: Any) -> None:
    """Print how a world would be built; what could not be built so is an error here too."""
    from resweep.build.pipeline import list_stages, prepare
    from resweep.build.plan import resolve
    from resweep.build.refusals import check_tiles_for_workers
    from resweep.build.time_estimate import estimate_time

    plan = resolve(log, config, progress=True, **options)
    if cluster is not None:
        check_tiles_for_workers(plan.config, plan.stationary)
    typer.echo(format_json(plan.to_dict()) if as_json else str(plan).rstrip())
    report_estimate(estimate_time(prepare(log, plan), plan, list_stages(plan)), config, planned=True)


def report_estimate(estimate: TimeEstimate, config: BuildConfig, planned: bool = False) -> None:
    """Print how long a build takes where that is only ``planned``, and what would take less if it is long."""
    if planned:
        write_line(str(estimate))
    if estimate.is_long:
        quick = "" if config.quick else "--quick (no refinement, no azimuth bias) is for a first look; "
        plan = "" if planned else "; --dry-run only prints the plan"
        write_line(f"long build: {quick}fewer sweeps (--sweeps A:B) take less{plan}")


def build_world(
    recordings: Recordings, log: Log, config: BuildConfig, output: Path, cluster: str | None, **options: Any
) -> dict[str, Any]:
    """Build the world of what was joined to ``log``, and print what it holds; returns that for ``--json``."""
    from resweep.build.pipeline import build
    from resweep.cluster import open_workers

    with open_workers(cluster) as workers:
        on_estimate = partial(report_estimate, config=config)
        build(log, config, output, workers=workers, on_estimate=on_estimate, **options)
    for line in recordings.skipped:
        typer.echo(line, err=True)
    facts = _print_world(output, recordings.seconds)
    typer.echo(f"next: {recordings.suggest(output, log, config)}")
    return facts


def _print_world(output: Path, seconds: float) -> dict[str, Any]:
    """Print what a new world holds and from what it was built; returns that for ``--json``."""
    from resweep.worlds.store.index import read_index
    from resweep.worlds.store.memory_sizes import count_rows

    index = read_index(output)
    low, high = index["bounds"]
    layers = Counter[str]()  # both layers that complete a world have one name
    for layer in index["layers"]:
        layers[layer["name"]] += count_rows(layer)
    parts = " and ".join(f"{count:,} {name}" for name, count in layers.items())
    typer.echo(f"{output}: {parts} over {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m")
    meta = index["meta"]
    if "scanner" in meta:
        typer.echo(f"{meta['scanner']}")
    typer.echo(f"from {meta['points']:,} points of {meta['sweeps']:,} sweeps, in {seconds:.1f} s")
    return {"layers": layers, "points": meta["points"], "sweeps": meta["sweeps"], "seconds": round(seconds, 3)}


def _name_drive(path: Path, log: Log, chosen: slice) -> list[str] | None:
    """The options that drive like the sweeps that were built from; None where no option names them."""
    start, stop, step = chosen.start or 0, chosen.stop, chosen.step or 1
    if log.cloud != "no" or not (log.poses_known and log.beams_known) or start != 0 or step != 1:
        return None
    return ["--like", str(path), *([] if stop is None else ["--sweeps", str(len(log))])]


def _name_start(log: Log, is_cloud: bool) -> str:
    """A pose to stand at: the first of a log, or a place in the middle of a cloud."""
    import numpy as np

    pose = log.poses[0]
    yaw_deg = np.degrees(np.arctan2(pose[1, 0], pose[0, 0]))
    start = _find_middle(log) if is_cloud else pose[:3, 3]
    return ",".join(f"{value:.2f}" for value in (*start, yaw_deg))


def _find_middle(log: Log) -> Array:
    """A place (3,) in the middle of a cloud, 1.8 m above the lowest points around it."""
    import numpy as np

    points = log[len(log) // 2].world_points()
    middle = np.median(points, axis=0)
    near = points[
        np.argsort(np.abs(points[:, :2] - middle[:2]).max(axis=1), kind="stable")[: max(100, len(points) // 50)]
    ]
    return np.array([*middle[:2], np.quantile(near[:, 2], 0.05) + 1.8])
