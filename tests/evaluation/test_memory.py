"""Comparing takes as much memory for a long drive as for a short one, and gives the same figures in little of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.evaluation import evaluate
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sweep import Sweep

# A drive of one sweep again and again, a metre further each time: it is made as it is read, so that all that grows is
# what the comparison holds.
_SCRIPT = """
import json, sys
from dataclasses import replace
import numpy as np
from pathlib import Path
from resweep.evaluation import evaluate
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sweep import Sweep

count, memory = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
points = rng.normal(0, (15.0, 6.0, 1.0), (20_000, 3)) + (0, 0, 20)
poses = np.stack([from_xyz_rpy(float(at), 0, 0) for at in range(count)])

def drive(noise_m):
    sweep = Sweep.from_points(points + rng.normal(0, noise_m, points.shape), pose=poses[0], label=np.ones(len(points)))
    return Log(lambda at: replace(sweep, pose=poses[at]), 0.1 * np.arange(count), poses)

report = evaluate(drive(0.02), drive(0.0), memory=memory)
fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({"mb": int(fields["VmHWM"].split()[0]) / 1e3, "sweeps": len(report.per_sweep)}))
"""


def peak_mb(sweeps: int, memory: str) -> float:
    """Peak memory in megabytes of comparing a drive in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(sweeps), memory], capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["sweeps"] == sweeps
    return float(figures["mb"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_the_sweeps() -> None:
    short, long = peak_mb(10, "256MB"), peak_mb(30, "256MB")
    assert long < short + 40
    assert long < 256


@pytest.fixture
def drive(make_sweep: Callable[..., Sweep], rng: np.random.Generator) -> Callable[[float], Log]:
    """A function: a drive of 12 sweeps with so much noise."""

    def made(noise_m: float) -> Log:
        poses = [from_xyz_rpy(3.0 * at, 0, 0) for at in range(12)]
        ranges = [rng.uniform(3, 30, 720) for _ in poses]
        label = np.arange(720) % 3
        return Log.from_sweeps(
            [
                replace(make_sweep(values + rng.normal(0, noise_m, 720), label=label), pose=pose, timestamp=0.1 * at)
                for at, (values, pose) in enumerate(zip(ranges, poses, strict=True))
            ]
        )

    return made


def test_figures_do_not_depend_on_memory(drive: Callable[[float], Log], monkeypatch: pytest.MonkeyPatch) -> None:
    sim, real = drive(0.1), drive(0.0)
    whole = evaluate(sim, real, accumulate=True)
    monkeypatch.setattr("resweep.evaluation.pair_totals.find_spare_memory", lambda *_: 100_000)
    monkeypatch.setattr("resweep.evaluation.metrics.column.MAX_NUMBERS", 100)
    assert evaluate(sim, real, accumulate=True).to_json() == whole.to_json()


def test_a_bound_below_one_pair_is_reported_before_the_work(drive: Callable[[float], Log]) -> None:
    sim, real = drive(0.1), drive(0.0)
    reads: list[int] = []
    counted = real.map(lambda sweep, at: reads.append(at) or sweep, indexed=True)
    with pytest.raises(ResweepError, match=r"memory of 256.0 MB is too small.*give at least") as caught:
        _evaluate_holding(sim, counted, 250_000_000)
    assert "\n" not in str(caught.value)
    assert reads == [0]


def _evaluate_holding(sim: Log, real: Log, size: int) -> None:
    """Compare in a process that seems to hold ``size`` bytes already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("resweep.memory.measure_resident_memory", lambda: size)
        evaluate(sim, real, memory="256MB")
