"""What an editor knows of the public names: mypy on a script as a user writes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="needs mypy")

SCRIPT = """\
import numpy as np
import resweep as rs

log = rs.open_log("kitti/sequences/00")
world = rs.build(log[:150], rs.HybridConfig())
world.save("seq00.world")
sensor = rs.load_sensor("velodyne-hdl-32e")
sim = rs.Simulator(world, sensor, seed=7)
sweep = sim.sweep(rs.from_xyz_rpy(0, 0, 2))
drive = sim.run(log.trajectory)
rs.write_log(drive, "out", format="semantickitti")
report = rs.evaluate(drive, log[150:])
followed = rs.odometry(log)
logs, shifts = rs.align([log, followed])
both = rs.join(logs)
labels = rs.load_labels("semantickitti")
reveal_type(log)
reveal_type(world)
reveal_type(sweep.points)
reveal_type(drive[0])
reveal_type(report)
reveal_type(both)
reveal_type(labels)
reveal_type(log.sensor)
"""
REVEALED = [
    "resweep.log.Log",
    "resweep.worlds.world.World",
    "numpy.ndarray",
    "resweep.sweep.Sweep",
    "resweep.evaluation.report.report.Report",
    "resweep.log.Log",
    "resweep.labels.LabelSet",
    "resweep.sensors.spec.Sensor | None",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts are, with one cache of mypy for all of them."""
    return tmp_path_factory.mktemp("scripts")


def check(name: str, script: str, folder: Path) -> tuple[int, str]:
    """Exit status and output of mypy --strict on a user's script."""
    file = folder / name
    file.write_text(script)
    args = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(folder / "cache")]
    done = subprocess.run([*args, str(file)], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_users_script_is_typed(folder: Path) -> None:
    code, shown = check("mine.py", SCRIPT, folder)
    assert code == 0, shown
    notes = [line for line in shown.splitlines() if "Revealed type" in line]
    assert len(notes) == len(REVEALED)
    for note, expected in zip(notes, REVEALED, strict=True):
        assert expected in note


def test_a_mistake_is_found_before_it_runs(folder: Path) -> None:
    code, shown = check("mistaken.py", 'import resweep as rs\nrs.build("kitti")\nrs.bild\n', folder)
    assert code == 1
    assert 'matches argument type "str"' in shown
    assert 'no attribute "bild"' in shown
