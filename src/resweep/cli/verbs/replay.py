"""``resweep replay``: a recorded drive with its traffic, swept again by any sensor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from resweep.cli.options import outputs, recordings, running, sensing
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import describe_work, locks
from resweep.memory import parse_memory


@locks("output", reads=["path", "world", "realism"])
def replay(
    path: recordings.TrackedLog,
    world: sensing.WorldOfLog,
    sensor: sensing.Sensor,
    output: outputs.LogFolder,
    bank: sensing.BankOfLog = None,
    sweeps: recordings.FirstSweeps = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    realism: sensing.Realism = None,
    seed: running.Seed = 0,
    memory: running.Memory = None,
    overwrite: outputs.OverwriteLog = False,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Replay a recorded drive: its poses, its annotated objects as moving actors, another sensor.

    The sweeps pair up with those of the log. OUT/objects.json has, by object and by class, the number of returns in
    each annotated box, real and simulated, and the difference of their ranges. Compare the rest with
    'resweep evaluate OUT LOG'.

    Example:
      resweep replay kitti/2011_09_26_drive_0051_sync -w 0051.world -s velodyne-hdl-64e -o again
    """
    given = describe_work(locals())
    bound = parse_memory(memory)
    from resweep.cli.shared.inputs import check_folder, check_world, open_posed, stream_world
    from resweep.cli.shared.progress import Tally
    from resweep.cluster import open_workers
    from resweep.dataset import replay
    from resweep.evaluation.compare.objects import compare_objects
    from resweep.files import write_file
    from resweep.io import open_log, write_log
    from resweep.progress import open_progress
    from resweep.scenario import load_bank
    from resweep.sensors import load_sensor
    from resweep.simulate.realism import load_realism

    chosen = load_sensor(sensor)
    model = None if realism is None else load_realism(realism)
    check_folder(output, overwrite)
    check_world(world)
    recorded = open_posed(path, False, poses, pose_rate)
    objects = None if bank is None else load_bank(bank)
    with open_workers(cluster) as workers, open_progress() as progress:
        progress.start(f"reading {world}")
        place = stream_world(world, seed, memory_bytes=bound)
        progress.start("placing the objects")
        how: dict[str, Any] = {"bank": objects, "realism": model, "seed": seed, "sweeps": sweeps}
        again = replay(recorded, place, chosen, **how, world_name=world)
        tally, drive = Tally(progress), again.log
        add = tally.begin(len(drive), chosen.sweep_period_s, f"sweeping {chosen.name}")
        figures: dict[str, Any] = {}

        def compare(folder: Path) -> None:
            """Add the figures to the log before it appears: an OUT that exists is whole."""
            progress.start("comparing the objects")
            figures.update(compare_objects(open_log(folder), again.recorded))
            write_file(folder / "objects.json", (json.dumps(figures, indent=1) + "\n").encode())

        kept: dict[str, Any] = {
            "overwrite": overwrite,
            "resume": True,
            "made_from": given,
            "workers": workers,
            "on_sweep": add,
        }
        write_log(drive, output, format="sweep", progress=False, finish=compare, **kept)
    typer.echo(f"{output}: {len(drive)} sweeps of {chosen.name} with {len(again.tracks)} objects")
    unknown = tally.describe_unknown(place)
    if unknown is not None:
        typer.echo(unknown)
    tally.report_empty()
    if again.left_out:
        counts = ", ".join(f"{count} of category '{category}'" for category, count in again.left_out.items())
        typer.echo(f"left out, the bank has none: {counts}")
    for name, row in figures["classes"].items():
        error = "-" if row["range_error_m"] is None else f"{row['range_error_m']:.3f} m"
        typer.echo(
            f"{name}: {row['objects']} objects, returns {row['real']:,} real, {row['sim']:,} simulated, "
            f"range error {error}"
        )
    rows = [("log", output), ("figures", output / "objects.json")]
    print_outputs(rows, as_json, sweeps=len(drive), objects=len(again.tracks), classes=figures["classes"])
