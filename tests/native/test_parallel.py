"""The loop over chunks that all kernels run in."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any


def test_an_exception_in_a_thread_reaches_the_caller(compile_cpp: Any, tmp_path: Path) -> None:
    program = tmp_path / "parallel"
    done = compile_cpp("parallel.cpp", "-pthread", "-o", str(program))
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout.split("\n")) == (0, ["chunk 5", "chunk 5", "1000", ""])
