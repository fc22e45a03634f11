"""``resweep demo meadow``: three sensors through a meadow, with pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.demos.record import RECORD
from resweep.cli.shared.outputs import name_command, print_table
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from resweep.cli.demos.meadow_figures import Passage
    from resweep.labels import LabelSet
    from resweep.pose import Trajectory
    from resweep.progress import Progress
    from resweep.simulate import Simulator
    from resweep.sweep import Sweep

SWEEPS = 10
_SPEED_M_S, _HEIGHT_M = 5.0, 2.5
_CLOSE_UP = "livox-avia"
# Three ways to look at grass: many rings, two returns a beam, and a pattern that never repeats with three.
_SENSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "velodyne-hdl-64e": ("semantickitti", {}),
    "velodyne-vlp-16": ("pcd", {"receiver.mode": "strongest-and-last"}),
    "livox-avia": ("laz", {"receiver.mode": "multiple", "receiver.max_returns": 3}),
}


@dataclass(frozen=True)
class DemoDrive:
    """One sensor's part of the demo."""

    sensor: str
    format: str
    sweeps: int
    returns: int
    beams: int
    passage: Passage


def make_meadow(output: Path, seed: int, sweeps: int = SWEEPS) -> list[DemoDrive]:
    """Write the demo to the folder ``output``, whole or not at all."""
    from resweep.files import atomic_folder
    from resweep.io import write_poses
    from resweep.progress import open_progress
    from resweep.scenes import meadow
    from resweep.simulate import Simulator

    with open_progress() as progress, atomic_folder(output) as folder:
        progress.start("growing a meadow")
        place = Simulator(meadow(seed), next(iter(_SENSORS)), seed=seed)
        trajectory = _make_trajectory(sweeps)
        write_poses(trajectory, folder / "poses.txt")
        drives = []
        for name, (format, changes) in _SENSORS.items():
            from resweep.sensors import load_sensor

            simulator = place.with_sensor(load_sensor(name).with_(**changes))
            drives.append(_drive(simulator, trajectory, folder, format, sweeps, progress))
        record = {"seed": seed, "world": place.world.meta, "drives": [asdict(drive) for drive in drives]}
        (folder / RECORD).write_text(format_json(record, indent=1) + "\n")
    return drives


def _make_trajectory(sweeps: int) -> Trajectory:
    """Across the mown middle towards the wall, swinging a little, for ``sweeps`` tenths of a second."""
    import numpy as np

    from resweep.pose import Trajectory, from_xyz_rpy

    times = np.linspace(0.0, sweeps / 10, 4 * sweeps + 1)
    x = _SPEED_M_S * (times - times[-1] / 2)
    y, yaw = 0.4 * np.sin(0.8 * x), np.arctan(0.4 * 0.8 * np.cos(0.8 * x))
    return Trajectory(
        times, np.stack([from_xyz_rpy(a, b, _HEIGHT_M, yaw=c) for a, b, c in zip(x, y, yaw, strict=True)])
    )


def _drive(
    simulator: Simulator, trajectory: Trajectory, folder: Path, format: str, sweeps: int, progress: Progress
) -> DemoDrive:
    """Drive one sensor, write its log and pictures into ``folder``."""
    from resweep.cli.demos.meadow_figures import count_passage, draw_close_up
    from resweep.cli.shared.progress import Tally
    from resweep.io import write_log

    name = simulator.sensor.name
    log = simulator.run(trajectory, sweeps=sweeps)
    held = list(Tally(progress).count(log, simulator.sensor.sweep_period_s, f"sweeping {name}"))
    progress.start(f"writing {name}")
    write_log(log.with_sweeps(held, name=name), folder / name, format=format, progress=False)
    middle = len(held) // 2
    counted = count_passage(simulator, held[middle], trajectory, middle)
    progress.start(f"drawing {name}")
    _draw(held[middle], log.labels, folder)
    if name == _CLOSE_UP:
        draw_close_up(simulator.world, held, folder / "close-up.png", counted)
    returns, beams = sum(map(len, held)), sum(sweep.n_beams for sweep in held)
    return DemoDrive(name, format, len(held), returns, beams, counted)


def _draw(sweep: Sweep, labels: LabelSet, folder: Path) -> None:
    from resweep.viewer import birds_eye, range_image

    birds_eye(sweep, folder / f"{sweep.sensor}-above.png", labels=labels)
    range_image(sweep, folder / f"{sweep.sensor}-range.png", labels=labels)


def report_meadow(output: Path, drives: list[DemoDrive], seed: int) -> None:
    """Print what each sensor saw, how much of it from behind grass and wall, and what to try next."""
    rows = []
    for drive in drives:
        shares = f"{drive.passage.grass_share:.1%}", f"{drive.passage.wall_share:.1%}"
        rows.append((drive.sensor, drive.format, str(drive.sweeps), f"{drive.returns:,}", *shares))
    print_table(("sensor", "format"), ("sweeps", "returns", "behind grass", "behind wall"), rows)
    typer.echo("behind: of the middle sweep's beams that hit grass, or were aimed at the wall,")
    typer.echo("those that returned from behind it\n")
    typer.echo(f"Sweeps are in {output}/SENSOR, pictures beside them; look first at:")
    for picture in ("close-up.png", "velodyne-hdl-64e-above.png", "velodyne-hdl-64e-range.png", "livox-avia-range.png"):
        typer.echo(f"  {output / picture}")
    resweep = name_command()
    typer.echo("\nTry next:")
    typer.echo(f"  {resweep} info {output}/velodyne-vlp-16")
    typer.echo(f"  {resweep} view {output}/livox-avia")
    typer.echo(
        f"  {resweep} simulate scene:meadow --seed {seed} --sensor ouster-os1-128 --poses {output}/poses.txt -o ouster"
    )
