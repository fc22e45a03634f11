"""``--memory``: bounds that cannot hold are reported before any work, and a long drive takes what a short one takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.io import open_log
from resweep.memory import find_spare_memory
from resweep.worlds import Splats, World
from resweep.worlds.store.memory_sizes import count_bytes, estimate_memory

SENSOR = "velodyne-vlp-16"
PLAN = "worlds: [big.world]\nsensors: [velodyne-vlp-16]\nscenarios: [hidden-car]\nsweeps: 1\n"


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A saved world of 40,000 splats: some megabytes with its native scene."""
    rng = np.random.default_rng(0)
    normal = np.tile([0.0, 0.0, 1.0], (40_000, 1))
    splats = Splats(rng.uniform(-50, 50, (40_000, 3)), normal, np.full(40_000, 0.1))
    return World([splats]).save(tmp_path / "big.world")


def test_the_size_of_a_saved_world_is_known_without_reading_it(big: Path, tmp_path: Path) -> None:
    assert count_bytes(big) >= 40_000 * 7 * 4
    assert estimate_memory(big) == count_bytes(big) + 40_000 * 165
    assert estimate_memory(tmp_path / "nothing") == 0


@pytest.mark.parametrize(
    "args",
    [
        ["simulate", "big.world", "-s", SENSOR, "--scenario", "hidden-car", "-o", "out"],
        ["dataset", "plan.yaml", "-o", "out"],
    ],
    ids=lambda args: args[0],
)
def test_a_world_beyond_the_bound_is_reported_in_one_line(
    big: Path, resweep: Any, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    Path("plan.yaml").write_text(PLAN)
    monkeypatch.setattr("resweep.memory.measure_resident_memory", lambda: 275_000_000)
    result = resweep(*args, "--memory", "300MB", "-q")
    assert result.status != 0
    assert result.err.count("\n") == 1
    assert "memory of 300.0 MB is too small: the world big.world takes" in result.err
    assert "give at least" in result.err
    assert not Path("out").exists()


@pytest.mark.parametrize("verb", ["simulate", "dataset", "replay", "evaluate"])
def test_a_wrong_size_is_reported_before_the_work(resweep: Any, big: Path, verb: str) -> None:
    args = {
        "simulate": ["big.world", "-s", SENSOR, "-p", "0,0,2", "-o", "out"],
        "dataset": ["edge-cases", "-o", "out"],
        "replay": ["big.world", "-w", "big.world", "-s", SENSOR, "-o", "out"],
        "evaluate": ["big.world", "big.world"],
    }[verb]
    result = resweep(verb, *args, "--memory", "4XB")
    assert result.status != 0
    assert "memory '4XB': expected a size such as 4GB" in result.err
    assert not Path("out").exists()


def test_the_bound_changes_no_byte_and_no_resumed_work(resweep: Any, big: Path) -> None:
    args = ["simulate", big, "-s", SENSOR, "-p", "0,0,2", "--rays", "single", "-q"]
    assert resweep(*args, "-o", "one").status == 0
    assert resweep(*args, "-o", "two", "--memory", "3GB").status == 0
    assert open_log("one")[0].range.tobytes() == open_log("two")[0].range.tobytes()


def test_what_is_left_is_reported_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resweep.memory.measure_resident_memory", lambda: 200_000_000)
    assert find_spare_memory(1_000_000_000, 300_000_000, "it") == 500_000_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from the system")
def test_simulating_takes_no_more_memory_for_more_sweeps(room: Path, tmp_path: Path) -> None:
    peaks = [_simulate_peak_mb(room, tmp_path, sweeps) for sweeps in (3, 20)]
    assert peaks[1] < peaks[0] + 12


def _simulate_peak_mb(room: Path, folder: Path, sweeps: int) -> float:
    """Peak memory in megabytes of simulating so many sweeps in a process of its own."""
    lines = [f"{0.1 * at:.3f} {0.01 * at:.3f} 0 0 0 0 0 1" for at in range(sweeps + 2)]
    (folder / "poses.tum").write_text("\n".join(lines) + "\n")
    args = [room, "-s", SENSOR, "-p", folder / "poses.tum", "--sweeps", sweeps, "-o", folder / f"out{sweeps}"]
    args += ["--rays", "single", "-q"]
    code = "import sys; from resweep.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, "simulate", *map(str, args)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss / 1e3
