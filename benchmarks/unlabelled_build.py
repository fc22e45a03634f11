"""The default build of one recording with its labels and without them, in processor time.

Without labels the beams decide what becomes a volume (`hybrid/evidence.py`), which builds trial worlds. The recording
is SemanticKITTI 00 where it is at hand, else a synthetic street. Each build is timed in processor seconds of all its
threads, which a busy machine disturbs less than the clock.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from dataclasses import replace

import numpy as np
from rich.table import Table

import resweep as rs
from benchmarks.report import Result, machine, main, table
from experiments.c_places import DATA, known_street
from resweep.labels import NO_LABELS
from resweep.sweep import Sweep

TARGET = 2.0
_PATH = DATA / "semantickitti_mini" / "sequences" / "00"
# Functions of the build that do not call each other; seconds of the clock under a profiler, to compare with each other.
STEPS = {
    "calibrating": ("poses/calibrate.py", "calibrate"),
    "reading": ("map/accumulate.py", "accumulate_observed"),
    "evidence": ("hybrid/hybrid.py", "find_permeable"),
    "fitting": ("hybrid/hybrid.py", "fit_classes"),
    "refining": ("refine/refine.py", "refine"),
    "seen": ("map/seen.py", "record_seen"),
}


def run(fast: bool = False, threads: int = 0) -> Result:
    """Processor seconds of both builds, their ratio, and the share of their steps."""
    log = known_street(36.0, 3, 450).log if fast or not _PATH.exists() else rs.open_log(_PATH)
    result: Result = {"benchmark": "unlabelled_build", "fast": fast, "target_ratio": TARGET, **machine()}
    result["recording"] = log.name
    for name, each in (("labelled", log), ("unlabelled", strip_labels(log))):
        begun = time.process_time()
        with cProfile.Profile() as profile:
            rs.build(each, progress=False)
        result[f"{name}_processor_s"] = time.process_time() - begun
        result[f"{name}_steps_s"] = _time_steps(profile)
    result["ratio"] = result["unlabelled_processor_s"] / result["labelled_processor_s"]
    return result


def strip_labels(log: rs.Log) -> rs.Log:
    """The log without labels and instances."""

    def strip(sweep: Sweep) -> Sweep:
        return replace(sweep, label=np.zeros_like(sweep.label), instance=np.zeros_like(sweep.instance))

    return log.map(strip, "strip labels", labels=NO_LABELS)


def _time_steps(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds of the clock in each of the STEPS."""
    spent = dict.fromkeys(STEPS, 0.0)
    for (path, _, function), (_, _, _, cumulative, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        for step, (file, name) in STEPS.items():
            if function == name and path.endswith(file):
                spent[step] += cumulative
    return spent


def tables(result: Result) -> list[Table]:
    """Both builds and their steps."""
    kinds = ("labelled", "unlabelled")
    return [
        table(
            f"{result['recording']}: unlabelled takes {result['ratio']:.2f} of labelled (target: ≤ {TARGET:g})",
            ["", "processor s"],
            [[kind, result[f"{kind}_processor_s"]] for kind in kinds],
        ),
        table(
            "Steps, seconds of the clock",
            ["", *kinds],
            [[step, *(result[f"{kind}_steps_s"][step] for kind in kinds)] for step in STEPS],
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
