"""The main job from end to end: a recorded drive, its world, another sensor in that, and how close it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.demos.record import RECORD
from resweep.errors import ResweepError
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from resweep.evaluation import Report
    from resweep.log import Log
    from resweep.progress import Progress
    from resweep.scenario import Actor, Bank
    from resweep.sensors import Sensor
    from resweep.sweep import Sweep
    from resweep.worlds import World

SENSOR = "ouster-os1-128"
PICTURE, REPORT, WORLD, BANK = "demo.png", "report.html", "place.world", "objects"
RECORDING, AGAIN = "recording", "swept-again"
_STEPS = 6


@dataclass
class DemoResults:
    """What the demo wrote and measured; ``figures`` are for the record, the rest for the lines at the end."""

    recorded: str
    figures: dict[str, Any] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    _last: tuple[float, float] = field(default_factory=lambda: (time.perf_counter(), time.process_time()))

    def note_time(self, step: str) -> None:
        """Keep the seconds, and those of the processor, since the last step."""
        now = time.perf_counter(), time.process_time()
        taken = {"seconds": round(now[0] - self._last[0], 2), "cpu_seconds": round(now[1] - self._last[1], 2)}
        self.figures.setdefault("steps", {})[step] = taken
        self._last = now


def make_main_job(
    output: Path,
    seed: int,
    sensor: Sensor,
    log: Log | None = None,
    sweeps: int | None = None,
    quick: bool = False,
) -> DemoResults:
    """Write the demo of the synthetic street, or of ``log``, to the folder ``output``, whole or not at all.

    ``sweeps`` of the street are recorded, if given. One sweep, in the middle, is held out of the world, which is built
    without what takes long if ``quick``.
    """
    from resweep.files import atomic_folder
    from resweep.progress import open_progress

    begun = time.perf_counter()
    with atomic_folder(output) as folder:
        results = DemoResults("a synthetic street" if log is None else str(log.meta.get("path", log.name)))
        log = _record(folder, seed, sweeps) if log is None else log
        results.lines.append(("recorded", _describe_recording(log)))
        results.note_time("record")
        held = len(log) // 2
        world, report = _build_and_compare(log, held, folder, quick)
        results.note_time("build and compare")
        bank = _cut_out(log, folder, results)
        results.note_time("cut out")
        with open_progress() as progress:
            again, added = _sweep_again(log, world, bank, sensor, seed, folder, results, progress)
            results.note_time("sweep again")
            _report_step(6, "drawing")
            progress.start("drawing")
            _draw(log[held], log, world, again, added, held, folder / PICTURE)
        results.note_time("draw")
        _measure(results, world, report, held)
        results.figures |= {"seed": seed, "sensor": sensor.name, "seconds": round(time.perf_counter() - begun, 1)}
        (folder / RECORD).write_text(format_json(results.figures, indent=1) + "\n", encoding="utf-8")
    return results


def _report_step(step: int, what: str) -> None:
    typer.echo(f"{step}/{_STEPS}  {what}", err=True)


def _record(folder: Path, seed: int, sweeps: int | None) -> Log:
    from resweep.cli.demos.street import SENSOR as RECORDER
    from resweep.cli.demos.street import SWEEPS, record_street
    from resweep.cli.shared.progress import Tally
    from resweep.io import open_log, write_log
    from resweep.progress import open_progress

    _report_step(1, f"recording a drive with traffic in a synthetic street, by a {RECORDER}")
    drive = record_street(seed, SWEEPS if sweeps is None else sweeps)
    with open_progress() as progress:
        assert drive.sensor is not None
        counted = Tally(progress).count(drive, drive.sensor.sweep_period_s, "recording")
        write_log(counted, folder / RECORDING, progress=False)
    return open_log(folder / RECORDING)


def _describe_recording(log: Log) -> str:
    boxes = log[0].boxes
    objects = "" if boxes is None else f", {len(boxes)} annotated objects in the first"
    metres = log.trajectory.length_m if len(log) > 1 else 0.0
    return f"{len(log)} sweeps of {log.sensor_name or 'an unknown sensor'} over {metres:.0f} m{objects}"


def _build_and_compare(log: Log, held: int, folder: Path, quick: bool) -> tuple[World, Report]:
    """The world of all sweeps but one, saved, and how it compares with that one."""
    from resweep.build import HybridConfig, MapConfig
    from resweep.build.pipeline import build
    from resweep.evaluation.holdout import holdout

    # Boxes say which cars drive; labels of a simulated drive do not.
    config = HybridConfig(map=MapConfig(moving="boxes" if log[held].boxes is not None else "auto"), quick=quick)
    built: list[World] = []

    def build_world(rest: Log) -> World:
        _report_step(2, f"building a world from the other {len(rest)} sweeps alone")
        built.append(build(rest, config))
        built[0].save(folder / WORLD)
        _report_step(3, f"comparing held-out sweep {held} with what was really there")
        return built[0]

    report = holdout(log, [held], build=build_world, progress=False)
    report.save(folder / REPORT)
    return built[0], report


def _cut_out(log: Log, folder: Path, results: DemoResults) -> Bank | None:
    """The objects of the log as a bank, saved; None where the log has no boxes, or none of its objects will do."""
    from resweep.objects import build_bank

    _report_step(4, "cutting objects out of the recording")
    try:
        bank = build_bank(log, progress=True)
    except ResweepError as error:
        results.lines.append(("objects", f"none cut out: {error}"))
        return None
    bank.save(folder / BANK)
    counts = ", ".join(f"{len(names)} {category}" for category, names in bank.categories.items())
    results.lines.append(("objects", f"{counts} cut out of the recording"))
    results.figures["objects"] = {category: len(names) for category, names in bank.categories.items()}
    return bank


def _sweep_again(
    log: Log,
    world: World,
    bank: Bank | None,
    sensor: Sensor,
    seed: int,
    folder: Path,
    results: DemoResults,
    progress: Progress,
) -> tuple[Sweep, int | None]:
    """The other sensor through the world, written; the sweep of the held-out pose, and the added car's instance."""
    from resweep.cli.shared.progress import Tally
    from resweep.io import open_log, write_log
    from resweep.scenario.replay_actors import replay_actors
    from resweep.simulate import Simulator

    _report_step(5, f"sweeping the world again by a {sensor.name}, with its traffic and one car more")
    actors: list[Actor] = [] if bank is None else list(replay_actors(log, world, bank).actors)
    added, what = _add_car(log, world, bank, actors)
    drive = Simulator(world, sensor, actors=actors if added is None else [*actors, added], seed=seed).run_like(log)
    tally = Tally(progress)
    write_log(tally.count(drive, sensor.sweep_period_s, f"sweeping {sensor.name}"), folder / AGAIN, progress=False)
    unknown = f"{tally.unknown_share:.1%} of its beams look where nothing was recorded"
    results.lines.append(("swept again", f"{tally.sweeps} sweeps, {tally.returns:,} returns; {what}; {unknown}"))
    results.figures["again"] = {"sweeps": tally.sweeps, "returns": tally.returns, "unknown_share": tally.unknown_share}
    held = open_log(folder / AGAIN)[len(log) // 2]
    if added is not None:
        results.figures["again"]["returns_on_added"] = int((held.instance == added.instance).sum())
    return held, None if added is None else added.instance


def _add_car(log: Log, world: World, bank: Bank | None, actors: list[Actor]) -> tuple[Actor | None, str]:
    from resweep.cli.demos.added_car import add_car
    from resweep.scenario.builtin import builtin_bank

    try:
        return add_car(log, world, builtin_bank() if bank is None else bank, actors), "one car added"
    except ResweepError as error:
        return None, f"no car added ({error})"


def _draw(real: Sweep, log: Log, world: World, again: Sweep, added: int | None, held: int, path: Path) -> None:
    from resweep.viewer.triptych import Panel, draw_sweep, draw_world, place_behind, triptych

    pose = place_behind(real.pose)
    more = " and one car more (orange)" if added is not None else ""
    triptych(
        (
            Panel(
                draw_sweep(real, log.labels, pose),
                "recorded",
                f"sweep {held} of {log.sensor_name or 'the log'}: {len(real):,} returns",
            ),
            Panel(
                draw_world(world, pose),
                "the world built from the other sweeps",
                f"{world.n_primitives:,} splats and permeable volumes",
            ),
            Panel(
                draw_sweep(again, world.labels, pose, added),
                "swept again by another sensor",
                f"{again.sensor}: {len(again):,} returns{more}",
            ),
        ),
        path,
    )


def _measure(results: DemoResults, world: World, report: Report, held: int) -> None:
    """Add the world and the comparison to the lines and figures."""

    def value(name: str) -> float:
        found = report.metrics.get(name)
        return float("nan") if found is None else float(found)

    kinds = ", ".join(f"{layer.n_primitives:,} {layer.kind}" for layer in world.layers)
    results.lines.insert(1, ("world", f"{kinds}, built in {value('build_s'):.0f} s"))
    results.lines.append(
        (
            "compared",
            f"held-out sweep {held}: {100 * value('range_median_m'):.1f} cm median range error, "
            f"{value('recovered_0.10m'):.1%} of its returns within 10 cm, return F1 {value('return_f1'):.3f}",
        )
    )
    results.figures["metrics"] = report.metrics
    results.figures["primitives"] = world.n_primitives
