"""The same seed gives the same bytes, whatever the processor, its threads and the libraries' paths for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from resweep import _core
from tests.reproducible.variants import DISPATCHED, compare, list_variants, make_commands

PROGRAM = Path(__file__).with_name("stored.py")

# What each process runs with. OpenBLAS names its kernels by the processor they were written for: Nehalem's add up in
# another order and without fused multiply-adds.
ENVIRONMENTS = {
    "kernels of BLAS for another processor, none of NumPy's faster paths": {
        **{"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "3"},
        **{"THREADS": "3", "EMBREE_CONFIG": "max_isa=avx2,threads=5"},
        **({"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)} if DISPATCHED else {}),
    },
    "NumPy as on another processor, the threads that are usual": {"OTHER_PROCESSOR": "1"},
}
# What all others are compared with: one thread, Embree's too.
ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "THREADS": "1", "EMBREE_CONFIG": "isa=avx2,threads=1"}
QUICK, BUILT = ("patterns", "drive"), ("hybrid", "odometry")


@cache
def hashes(parts: tuple[str, ...], changes: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """The hash of every array that `stored.py` makes with these environment variables."""
    args = [sys.executable, str(PROGRAM), *parts]
    done = subprocess.run(args, env={**os.environ, **dict(changes)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def assert_same(name: str, parts: tuple[str, ...], **more: str) -> None:
    changes = ENVIRONMENTS[name]
    if not _core.has_avx2():
        pytest.skip("the promise is for processors with AVX2, which this one has not")
    # KISS-ICP multiplies poses with NumPy, and refuses those that are no rigid motions.
    run = parts if "OTHER_PROCESSOR" not in changes else tuple(part for part in parts if part != "odometry")
    alone = hashes(parts, tuple({**more, **ALONE}.items()))
    other = hashes(run, tuple({**more, **changes}.items()))
    assert len(alone) > 50
    assert {key for key in alone if key.partition(".")[0] in run} == other.keys()
    differ = [key for key, value in other.items() if alone[key] != value]
    assert not differ, f"{len(differ)} of {len(alone)} arrays differ: {differ[:10]}"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_same_bytes_with(name: str) -> None:
    assert_same(name, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [BUILT, ("methods",)])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_is_built_has_the_same_bytes_with(name: str, parts: tuple[str, ...]) -> None:
    assert_same(name, parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_world_of_a_recording_has_the_same_bytes_with(name: str, sample_data: Path) -> None:
    recording = sample_data / "semantickitti_mini" / "sequences" / "00"
    assert_same(name, ("log",), LOG=str(recording))


@pytest.mark.parametrize("command", ["scene-street", "build-tiles"])
def test_commands_write_the_same_bytes_in_any_variant(command: str, tmp_path: Path) -> None:
    assert not compare([command], ["all at once"], tmp_path, print)


@pytest.mark.slow
def test_every_command_writes_the_same_bytes_in_every_variant(tmp_path: Path) -> None:
    commands = make_commands(tmp_path / "inputs")
    assert not compare(commands, [name for name in list_variants() if name != "alone"], tmp_path, print, commands)


def test_packets_of_other_widths_are_no_default() -> None:
    from inspect import signature

    from resweep.simulate import Simulator
    from resweep.simulate.tracer import Tracer

    assert {signature(kind).parameters["packet"].default for kind in (Simulator, Tracer)} == {8}
