"""Autonomies without Resweep, in C++ and in plain Python, drive in processes of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resweep import World
from resweep.drive import Loop, LoopConfig, Observation, Rig, Run, SocketAutonomy

CLIENTS = Path(__file__).resolve().parents[2] / "examples" / "clients"


def brake(observation: Observation) -> tuple[float, float]:
    """What both clients do."""
    near = 0
    for scan in observation.scans["lidar"]:
        x, y, z = scan.points.T
        near += int(((x > 3) & (x < 12) & (np.abs(y) < 1) & (z > -1.3)).sum())
    return (-5.0 if near > 3 else 0.0, 0.0)


def drive(world: World, rig: Rig, autonomy: object) -> Run:
    start, config = (20.0, 0.0, 0.0), LoopConfig(duration_s=3.0)
    return Loop(world, "passenger-car", rig, autonomy, start=start, speed_mps=8.0, config=config).run()


@pytest.mark.parametrize("language", ["c++", "python"])
def test_a_client_without_resweep_drives_as_a_function_here(
    yard: World, rig: Rig, tmp_path: Path, language: str
) -> None:
    command = [sys.executable, "-I", str(CLIENTS / "brake.py")]
    if language == "c++":
        compiler = shutil.which("c++") or shutil.which("g++")
        if compiler is None:
            pytest.skip("no C++ compiler")
        flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([compiler, *flags, str(CLIENTS / "brake.cpp"), "-o", str(tmp_path / "brake")], check=True)
        command = [str(tmp_path / "brake")]
    link = SocketAutonomy()
    host, port = link.address
    with subprocess.Popen([*command, host, str(port)], stdout=subprocess.PIPE, text=True) as client:
        run = drive(yard, rig, link)
        output, _ = client.communicate(timeout=60)
    link.close()
    assert output == "time\n"
    assert run.states[-1, 5] == 0.0  # it stands before the wall
    assert run.to_bytes() == drive(yard, rig, brake).to_bytes()
