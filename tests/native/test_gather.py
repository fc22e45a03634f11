"""Returns are gathered while others are traced, also where a thread fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

CORE = Path(__file__).resolve().parents[2] / "cpp"
PARTS = ("trace/gather.cpp", "trace/pulses.cpp", "core/motion.cpp", "core/random.cpp")


SLOW = pytest.mark.slow  # to compile


@pytest.mark.parametrize(
    "sanitizer", ["", pytest.param("address,undefined", marks=SLOW), pytest.param("thread", marks=SLOW)]
)
def test_threads_that_wait_for_blocks_go_on_when_one_fails(compile_cpp: Any, tmp_path: Path, sanitizer: str) -> None:
    program = tmp_path / "gather"
    parts = [str(CORE / part) for part in PARTS]
    checks = [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-g"] if sanitizer else []
    done = compile_cpp("gather.cpp", *parts, "-O0", "-pthread", *checks, "-o", str(program))
    if sanitizer and done.returncode and "san" in done.stderr:
        pytest.skip(f"the compiler has no sanitizer '{sanitizer}'")
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=60)
    assert (shown.returncode, shown.stdout.split()) == (0, ["8192", "went", "on"]), shown.stderr
