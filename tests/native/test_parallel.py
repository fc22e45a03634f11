"""The loop over chunks that all kernels run in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_an_exception_in_a_thread_reaches_the_caller(compile_cpp: Any, tmp_path: Path) -> None:
    program = tmp_path / "parallel"
    done = compile_cpp("parallel.cpp", "-pthread", "-o", str(program))
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout.split("\n")) == (0, ["chunk 5", "chunk 5", "1000", ""])


# No thread starts from here on: the limit counts those of the user, and root has none.
NO_THREADS = """
import os, resource, sys
import numpy as np, trimesh
import resweep as rs
from resweep.errors import ResweepError
ball = trimesh.creation.icosphere(subdivisions=5, radius=10.0)
simulator = rs.Simulator(rs.World([rs.Mesh(ball.vertices, ball.faces)]), "velodyne-vlp-16", threads=4)
if sys.argv[1] == "trace":
    simulator.scene
rs.sensors.fire(simulator.sensor)
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    print(len(simulator.sweep(np.eye(4))) > 20_000)
except ResweepError as error:
    print(error)
"""


def run_without_threads(step: str) -> str:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    args = [sys.executable, "-c", NO_THREADS, step]
    shown = subprocess.run(args, env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of threads is Linux's")
def test_a_sweep_is_traced_where_no_thread_starts() -> None:
    assert run_without_threads("trace") == "True"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of threads is Linux's")
def test_a_scene_that_needs_threads_gives_an_error_where_none_starts() -> None:
    assert "cannot be traced: Embree failed while building" in run_without_threads("build")
