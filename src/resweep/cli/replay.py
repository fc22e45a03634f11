"""``resweep replay``: a recorded drive with its traffic, swept again by any sensor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from resweep.sweep import Sweep


def replay(
    path: Annotated[Path, typer.Argument(metavar="LOG", help="A log with tracked boxes.", show_default=False)],
    world: Annotated[str, typer.Option("--world", "-w", help="The world built from it, or any other.")],
    sensor: Annotated[str, typer.Option("--sensor", "-s", help="A name from 'resweep sensors', or a YAML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to write the log to.")],
    bank: Annotated[
        Path | None, typer.Option("--bank", help="The objects to draw from; without, those of the log itself.")
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log at OUT.")] = False,
) -> None:
    """Drive a recorded drive again: its poses, its boxes as moving objects, another sensor.

    The sweeps pair up with those of the log; OUT/objects.json has, by object and by class, the returns in
    each annotated box, real and simulated, and how far their ranges are apart. Compare the rest with
    'resweep evaluate OUT LOG'.

    Example:

      resweep replay kitti/2011_09_26_drive_0051_sync -w 0051.world -s velodyne-hdl-64e -o again
    """
    from resweep.cli.inputs import check_folder, check_world, open_world
    from resweep.cli.progress import Tally
    from resweep.evaluation.objects import compare_objects
    from resweep.io import open_log, write_log
    from resweep.log import Log
    from resweep.progress import open_progress
    from resweep.scenario import load_bank
    from resweep.scenario.actors import common_labels
    from resweep.scenario.replay import find_sweep_starts, replay_actors
    from resweep.sensors import fire, load_sensor

    chosen = load_sensor(sensor)
    check_folder(output, overwrite)
    check_world(world)
    real = open_log(path, empty_beams=False)[:sweeps]
    real.require_poses("it cannot be driven again")
    with open_progress() as progress:
        progress.start(f"reading {world}")
        place = open_world(world, seed)
        progress.start("gathering objects")
        if bank is None:
            from resweep.reconstruction import build_bank

            objects = build_bank(real)
        else:
            objects = load_bank(bank)
        actors, tracks, missing = replay_actors(real, place, objects)
        from resweep.simulate import Simulator

        simulator = Simulator(place, chosen, actors=actors, seed=seed)
        lasts = float(fire(chosen).time[-1])
        starts = find_sweep_starts(real, lasts)
        motion = real.trajectory.extended(lasts + chosen.sweep_period_s) if len(real) > 1 else None

        def load(at: int) -> Sweep:
            return simulator.sweep(real.poses[at] if motion is None else motion, start=float(starts[at]), index=at)

        meta = {"replay_of": str(path), "tracks": {str(key): value for key, value in tracks.items()}, "seed": seed}
        poses = real.poses if motion is None else motion.at(starts)
        drive = Log(load, starts, poses, chosen.name, sensor=chosen, labels=common_labels(place, actors), meta=meta)
        write_log(
            Tally(progress).count(drive, chosen.sweep_period_s, f"sweeping {chosen.name}"),
            output,
            format="sweep",
            overwrite=overwrite,
            progress=False,
        )
        progress.start("comparing the objects")
        figures = compare_objects(open_log(output), real)
    (output / "objects.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    typer.echo(f"{output}: {len(drive)} sweeps of {chosen.name} with {len(tracks)} objects")
    if missing:
        typer.echo(f"left out, the bank has none: {', '.join(missing)}")
    for name, row in figures["classes"].items():
        error = "-" if row["range_error_m"] is None else f"{row['range_error_m']:.3f} m"
        typer.echo(
            f"{name}: {row['objects']} objects, returns {row['real']:,} real, {row['sim']:,} simulated, "
            f"range error {error}"
        )
