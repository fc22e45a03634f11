"""A campaign: all cases of a safety test, driven in several processes, each kept as it ends."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from resweep import _core
from resweep.drive.autonomy.messages import WHAT
from resweep.drive.autonomy.sockets import SocketAutonomy
from resweep.drive.config import AnswerRules, LoopConfig
from resweep.drive.idm import Idm
from resweep.drive.loop import Loop
from resweep.drive.planners import Avoider, Navigator
from resweep.drive.run import FILE, Run, load_run
from resweep.drive.safety.assessment import describe_run, is_avoidable, summarise
from resweep.drive.safety.cases import STREETS, Case, open_place
from resweep.drive.sensing.rig import Rig
from resweep.drive.vehicles import Vehicle
from resweep.errors import InputError, OutputError, ResweepError, nearest_names
from resweep.files import write_file
from resweep.files.partial import discard_leftover
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import read_plain_text
from resweep.optional import require
from resweep.progress import track
from resweep.scenario import Scenario
from resweep.sensors import load_sensor
from resweep.work import cache
from resweep.worlds import World

SUMMARY, CAMPAIGN = "summary.json", "campaign.json"
REFERENCE = "reference"
TCP = "tcp:"
_STACKS: dict[str, Callable[[], Any]] = {REFERENCE: Avoider, "navigator": Navigator}


@dataclass(frozen=True)
class Campaign:
    """How cases are driven: by which vehicle, LiDAR and autonomy, and what is kept.

    ``autonomy`` is a name that `make_autonomy` takes. ``rays`` of a pulse are ``single``, as D has it, or ``nine``.
    With ``sweeps`` the sweeps of every run are kept; else runs are replayed to get them. ``goal`` (x, y) and
    ``duration_s`` are those of `LoopConfig`, ``deadline_s`` and ``timeout_s`` those of `AnswerRules`; ``reactive`` are
    the actors of the scenario that drive by the Intelligent Driver Model.
    """

    vehicle: str = "passenger-car"
    sensor: str = "velodyne-vlp-16"
    rays: str = "single"
    autonomy: str = REFERENCE
    sweeps: bool = False
    seed: int = 0
    goal: tuple[float, float] | None = None
    duration_s: float | None = None
    reactive: tuple[str, ...] = ()
    deadline_s: float | None = None
    timeout_s: float = AnswerRules().timeout_s

    def drive(self, case: Case, output: Path | None = None) -> Run:
        """The run of a case; one that was finished before is read."""
        if output is not None and (output / FILE).is_file():
            discard_leftover(output)
            return load_run(output)
        autonomy = make_autonomy(self.autonomy)
        try:
            return self.make_loop(case, autonomy).run(output, keep_sweeps=self.sweeps)
        finally:
            if isinstance(autonomy, SocketAutonomy):
                autonomy.close()

    def make_loop(self, case: Case, autonomy: Any, rig: Rig | None = None) -> Loop:
        """The loop of a case; with the campaign's LiDAR unless another ``rig`` is given."""
        scenario = Scenario(**case.scenario)
        return Loop(
            _open_world(case.world, case.world_seed),
            self.vehicle,
            load_sensor(self.sensor).with_(**{"beam.rays": self.rays}) if rig is None else rig,
            autonomy,
            scenario=scenario,
            reactive={name: Idm() for name in self.reactive},
            config=LoopConfig(
                duration_s=self.duration_s or scenario.duration_s,
                goal=self.goal,
                answers=AnswerRules(deadline_s=self.deadline_s, timeout_s=self.timeout_s),
            ),
            seed=self.seed,
            world_name=f"{case.world} {case.world_seed}",
        )


@cache(STREETS)
def _open_world(text: str, seed: int) -> World:
    return open_place(text, seed)


def make_autonomy(text: str) -> Any:
    """The autonomy that ``text`` names.

    ``reference`` is `planners.Avoider`, ``navigator`` `planners.Navigator`, ``tcp:PORT`` or ``tcp:HOST:PORT`` another
    process that connects there, and ``MODULE:NAME`` a class or a callable that Python can import.
    """
    if text in _STACKS:
        return _STACKS[text]()
    if text.startswith(TCP):
        return SocketAutonomy(*_parse_address(text))
    module, _, name = text.partition(":")
    if not name:
        raise ResweepError(
            f"autonomy '{text}': give a stack, {TCP}PORT, or MODULE:NAME of a class or a function; "
            f"{nearest_names(text, _STACKS)}"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ResweepError(f"autonomy '{text}': cannot be imported ({error})") from error
    except Exception as error:  # whatever the user's module raises
        raise ResweepError(f"autonomy '{text}': its module fails ({type(error).__name__}: {error})") from error
    if not isinstance(found, type):
        return found
    try:
        return found()
    except Exception as error:  # whatever the user's class raises
        raise ResweepError(f"autonomy '{text}': cannot be created ({type(error).__name__}: {error})") from error


def check_autonomy(text: str) -> None:
    """Raise if `make_autonomy` would refuse ``text``, before anything is driven; no port is opened."""
    if text.startswith(TCP):
        _parse_address(text)
        require("msgpack", WHAT)
    else:
        make_autonomy(text)


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.removeprefix(TCP).rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ResweepError(f"autonomy '{text}': expected {TCP}PORT or {TCP}HOST:PORT")
    return host or "127.0.0.1", int(port)


def run_case(campaign: Campaign, folder: str, case: Case) -> dict[str, Any]:
    """The row of a case in the summary; a case that cannot be driven is a row with its error."""
    try:
        run = campaign.drive(case, Path(folder) / case.name if folder else None)
    except ResweepError as error:
        return {
            "case": case.number, **case.parameters, "outcome": "error", "success": False, "detail": str(error),
        }  # fmt: skip
    row = describe_run(case, run)
    if run.outcome == "collision" and str(row["with"]).startswith("actor "):
        row["avoidable"] = is_avoidable(campaign.make_loop(case, None, Rig()), run)
    return row


def run_campaign(
    campaign: Campaign, cases: Sequence[Case], output: Path | None = None, workers: int = 1
) -> dict[str, Any]:
    """Drive all cases, and sum them up; the summary is kept beside the runs.

    A campaign that was stopped goes on: cases that were finished are read. Results do not depend on ``workers``.
    """
    if workers > 1 and campaign.autonomy.startswith(TCP):
        raise ResweepError(f"workers: {workers}; an autonomy over a socket drives one run at a time, give 1")
    if output is not None:
        _check_folder(output, campaign, cases)
        if all((output / case.name / FILE).is_file() for case in cases):
            workers = 1  # they are only read
    task = partial(run_case, campaign, "" if output is None else str(output))
    rows = list(map_cases(task, cases, workers))
    summary = summarise(rows)
    if output is not None:
        write_file(output / SUMMARY, (format_json(summary, indent=1) + "\n").encode())
    return summary


def _check_folder(output: Path, campaign: Campaign, cases: Sequence[Case]) -> None:
    """Record the campaign of a folder; a folder of another campaign is an error."""
    wanted = parse_json(format_json({"campaign": asdict(campaign), "cases": [asdict(case) for case in cases]}))
    file = output / CAMPAIGN
    if file.is_file():
        try:
            known = parse_json(read_plain_text(file))
        except ValueError as error:
            raise InputError(f"{file}: damaged ({error}); choose another folder") from error
        if known == wanted:
            return
        if any(output.glob(f"*/{FILE}")) or any(output.glob("*.partial")):
            raise OutputError(f"{output}: holds runs of other cases or settings; choose another folder")
        # Nothing was driven with those settings: they were corrected.
    elif output.is_dir() and any(output.iterdir()):
        raise OutputError(f"{output}: exists and is no campaign; choose another folder or empty it first")
    write_file(file, (format_json(wanted, indent=1) + "\n").encode())


def map_cases(task: Callable[[Case], dict[str, Any]], cases: Sequence[Case], workers: int) -> Iterator[dict[str, Any]]:
    """The task of every case, in their order, here or in several processes of one thread each."""
    if workers <= 1:
        for case in track(cases, "driving"):
            yield task(case)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker) as pool:
        futures = [pool.submit(task, case) for case in cases]
        try:
            for future in track(futures, "driving"):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _start_worker() -> None:
    """Several workers run side by side, each on one thread. Ctrl-C ends them at once: unfinished runs go on later."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _core.set_thread_limit(1)


def rebuild_loop(run: Run, where: str = "run") -> Loop:
    """The loop of a saved run whose world has a name; to replay it. Errors name ``where`` the run came from."""
    settings = run.settings
    name = str(settings.get("world", ""))
    if not name or settings.get("actors"):
        raise ResweepError(f"{where}: it does not name its world, or had actors of its own; replay it with its Loop")
    word, _, seed = name.rpartition(" ")
    try:
        vehicle, rig = Vehicle(**settings["vehicle"]), Rig(**settings["rig"])
        known: dict[str, Any] = {
            "scenario": None if settings["scenario"] is None else Scenario(**settings["scenario"]),
            "reactive": {actor: Idm(**item) for actor, item in settings.get("reactive", {}).items()},
            "config": LoopConfig(**settings["config"]),
            "start": settings["start"],
            "speed_mps": settings["start_speed_mps"],
            "seed": settings["seed"],
        }
        return Loop(_open_world(word or name, int(seed) if word else 0), vehicle, rig, **known, world_name=name)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ResweepError(f"{where}: its settings are damaged ({error}); run the drive again") from error


def replay_run(folder: str | Path, output: Path) -> Run:
    """Drive the run in ``folder`` once more by its recorded commands, and write it with its sweeps to ``output``."""
    recorded = load_run(folder)
    return rebuild_loop(recorded, str(Path(folder) / FILE)).replay(recorded, output)
