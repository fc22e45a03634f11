"""A C++ compiler, for the tests that compile a part of the core on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CORE = HERE.parents[1] / "cpp"

Compile = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def compile_cpp() -> Compile:
    """Run the compiler on a file of this folder with the core's include root, and return how it went."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), "c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("needs a C++ compiler: c++, g++, clang++ or CXX")
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", f"-I{CORE}"]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # of a sanitizer

    def run(file: str, *options: str) -> subprocess.CompletedProcess[str]:
        call = [*command, *options, str(HERE / file)]
        return subprocess.run(call, capture_output=True, text=True, check=False, env=environment)

    return run
