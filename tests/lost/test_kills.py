"""Commands killed at a few random moments lose nothing; ``python -m tests.lost`` kills them at a hundred."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("verb", ["build", "dataset", "simulate", "replay"])
def test_a_killed_command_leaves_a_whole_output_and_goes_on_to_the_same_bytes(verb: str) -> None:
    words = ["--verb", verb, "--moments", "3", "--seed", "5", "--sweeps", "2", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.lost", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert found["moments"] == 3
    assert found["phases"] == {"run": 1, "work": 1, "publication": 1}
