"""The default build, as a user calls it: sweeps a second, and processor seconds by stage.

``resweep build`` makes a world of each of several drives down a simulated street, labelled and recorded by an HDL-64E
(`benchmarks.long_street`). Beside them stands ``rs.build`` of ten recorded sweeps, SemanticKITTI 00 where it is at hand
or else a synthetic street, with its labels and without: there the beams decide what becomes a volume, which builds
trial worlds. Processor seconds are those of all threads, which a busy machine disturbs less than the clock; a stage's
share is of them.

python -m benchmarks.build [--sweeps 60,600] [--recorded-only] [--fast] [--json]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.table import Table

import resweep as rs
from benchmarks.long_street import write_drive
from benchmarks.report import Result, machine, parser, present, table
from experiments.c_places import DATA, known_street
from resweep.cli.app import main as run_command
from resweep.errors import ResweepError
from resweep.labels import NO_LABELS
from resweep.progress import Stages
from resweep.sweep import Sweep

TARGET = 2.0  # sweeps a second on two cores
SWEEPS, FAST_SWEEPS = (60, 600), (4,)
UNLABELLED_TARGET = 2.0  # times the processor seconds of the labelled build
FIRST_STAGE = "opening and preparing"
_RECORDED = DATA / "semantickitti_mini" / "sequences" / "00"


@dataclass
class StageClock:
    """Seconds of the processor (all threads) and of the clock, by the stages that a build's progress names."""

    processor_s: dict[str, float] = field(default_factory=dict)
    clock_s: dict[str, float] = field(default_factory=dict)
    _stage: str = FIRST_STAGE
    _since: tuple[float, float] = (0.0, 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the stages that begin meanwhile."""
        begin, self._since = Stages.begin, (time.process_time(), time.perf_counter())

        def noted(stages: Stages, name: str) -> None:
            self._end()
            self._stage = name
            begin(stages, name)

        Stages.begin = noted  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Stages.begin = begin  # type: ignore[method-assign]
            self._end()

    def _end(self) -> None:
        now = time.process_time(), time.perf_counter()
        for spent, to, since in zip((self.processor_s, self.clock_s), now, self._since, strict=True):
            spent[self._stage] = spent.get(self._stage, 0.0) + to - since
        self._since = now

    def figures(self, sweeps: int) -> Result:
        """What was counted, for a build of so many sweeps."""
        processor, clock = sum(self.processor_s.values()), sum(self.clock_s.values())
        return {
            "sweeps": sweeps,
            "sweeps_per_s": sweeps / clock,
            "processor_s": processor,
            "cores_busy": processor / clock,
            "processor_s_by_stage": dict(self.processor_s),
            "share_by_stage": {name: spent / processor for name, spent in self.processor_s.items()},
        }


def run(fast: bool = False, sweeps: Sequence[int] = SWEEPS, recorded: bool = True) -> Result:
    """Figures of the simulated drives of so many ``sweeps``, and of the recorded one if ``recorded``."""
    result: Result = {"benchmark": "build", "fast": fast, "target_sweeps_per_s": TARGET, **machine()}
    result["unlabelled_target_ratio"] = UNLABELLED_TARGET
    builds: dict[str, Result] = {}
    with TemporaryDirectory(prefix="resweep-build-") as folder:
        for count in sweeps:
            builds[f"street_{count}"] = found = build_drive(Path(folder), count, fast)
            result[f"sweeps_per_s_{count}"] = found["sweeps_per_s"]
            result["share_by_stage"] = found["share_by_stage"]
    if recorded:
        builds |= build_recorded(fast)
        result["unlabelled_ratio"] = builds["unlabelled"]["processor_s"] / builds["labelled"]["processor_s"]
    return {**result, "builds": builds}


def build_drive(folder: Path, sweeps: int, fast: bool) -> Result:
    """Figures of ``resweep build`` of a simulated drive."""
    log = write_drive(folder / f"drive{sweeps}", sweeps, fast=fast)
    world, clock = folder / f"{sweeps}.world", StageClock()
    try:
        with clock.running():
            run_command(["build", str(log), "-o", str(world)])
    except SystemExit as ended:  # as every command does
        if ended.code:
            raise ResweepError(f"resweep build {log}: ended with status {ended.code}; see its message above") from None
    return clock.figures(sweeps)


def build_recorded(fast: bool) -> dict[str, Result]:
    """Figures of ``rs.build`` of recorded sweeps with their labels and without."""
    log = known_street(36.0, 3, 450).log if fast or not _RECORDED.exists() else rs.open_log(_RECORDED)
    found = {}
    for name, each in (("labelled", log), ("unlabelled", strip_labels(log))):
        clock = StageClock()
        with clock.running():
            rs.build(each)
        found[name] = {"recording": log.name, **clock.figures(len(log))}
    return found


def strip_labels(log: rs.Log) -> rs.Log:
    """The log without labels and instances."""

    def strip(sweep: Sweep) -> Sweep:
        return replace(sweep, label=np.zeros_like(sweep.label), instance=np.zeros_like(sweep.instance))

    return log.map(strip, "strip labels", labels=NO_LABELS)


def tables(result: Result) -> list[Table]:
    """The builds, and the stages of each."""
    builds: dict[str, Result] = result["builds"]
    rows = [
        [name, *(found[figure] for figure in ("sweeps", "sweeps_per_s", "processor_s", "cores_busy"))]
        for name, found in builds.items()
    ]
    stages = list(dict.fromkeys(name for found in builds.values() for name in found["share_by_stage"]))
    shares = [[name, *(found["share_by_stage"].get(name, 0.0) for found in builds.values())] for name in stages]
    return [
        table(
            f"Default builds (target: ≥ {TARGET:g} sweeps a second on two cores)",
            ["", "sweeps", "sweeps a second", "processor s", "cores busy"],
            rows,
        ),
        table("Share of processor seconds by stage", ["", *builds], shares),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit status."""
    options = parser(__doc__)
    options.add_argument("--sweeps", default="", help="of the simulated drives, separated by commas; default: 60,600")
    options.add_argument("--recorded-only", action="store_true", help="leave the simulated drives out")
    options.add_argument("--drives-only", action="store_true", help="leave the recorded sweeps out")
    given = options.parse_args(arguments)
    default = FAST_SWEEPS if given.fast else SWEEPS
    sweeps = [int(count) for count in given.sweeps.split(",")] if given.sweeps else default
    drives = () if given.recorded_only else sweeps
    return present(partial(run, given.fast, drives, not given.drives_only), tables, given)


if __name__ == "__main__":
    sys.exit(main())
