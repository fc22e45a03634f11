"""What ``resweep replay`` does: a recorded drive swept again, and its objects compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.progress import Tally

if TYPE_CHECKING:
    from resweep.cli.shared.writing import LogTarget
    from resweep.dataset import Replay
    from resweep.log import Log
    from resweep.sensors import Sensor

_FIGURES = "objects.json"


def replay_drive(
    recorded: Log, world: str, sensor: Sensor, target: LogTarget, memory_bytes: int, cluster: str | None, **how: Any
) -> tuple[Replay, dict[str, Any]]:
    """Sweep a recorded drive again and write it with figures of its objects; those of each class are returned.

    ``how`` are options of `resweep.dataset.replay`, among them ``seed``. Prints what was counted.
    """
    from resweep.cli.shared.inputs import stream_world
    from resweep.cluster import open_workers
    from resweep.dataset import replay
    from resweep.evaluation.compare.objects import write_object_figures
    from resweep.progress import open_progress

    figures: dict[str, Any] = {}
    with open_workers(cluster) as workers, open_progress() as progress:
        progress.start(f"reading {world}")
        place = stream_world(world, how["seed"], memory_bytes=memory_bytes)
        progress.start("placing the objects")
        again = replay(recorded, place, sensor, **how, world_name=world)
        tally = Tally(progress)
        add = tally.begin(len(again.log), sensor.sweep_period_s, f"sweeping {sensor.name}")

        def compare(folder: Path) -> None:
            """Add the figures to the log before it appears: an OUT that exists is whole."""
            progress.start("comparing the objects")
            figures.update(write_object_figures(folder, again.recorded, folder / _FIGURES))

        target.write(again.log, progress=False, workers=workers, on_sweep=add, finish=compare)
    typer.echo(f"{target.path}: {len(again.log)} sweeps of {sensor.name} with {len(again.tracks)} objects")
    tally.report_unknown(place)
    return again, figures["classes"]


def print_replay(again: Replay, classes: dict[str, Any], target: LogTarget, as_json: bool) -> None:
    """Print which objects were left out, and the figures of each class."""
    if again.left_out:
        counts = ", ".join(f"{count} of category '{category}'" for category, count in again.left_out.items())
        typer.echo(f"left out, the bank has none: {counts}")
    for name, row in classes.items():
        error = "-" if row["range_error_m"] is None else f"{row['range_error_m']:.3f} m"
        returns = f"returns {row['real']:,} real, {row['sim']:,} simulated"
        typer.echo(f"{name}: {row['objects']} objects, {returns}, range error {error}")
    rows = [("log", target.path), ("figures", target.path / _FIGURES)]
    print_outputs(rows, as_json, sweeps=len(again.log), objects=len(again.tracks), classes=classes)
