"""Commands that are killed, started twice or meet a fault lose nothing: short runs of ``python -m tests.crash``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def disturb(*args: str) -> dict[str, list[dict[str, Any]]]:
    """What ``python -m tests.crash`` finds; in a process of its own, since it forks."""
    line = [sys.executable, "-m", "tests.crash", "--sweeps", "2", "--json", *args]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def verbs(*names: str) -> list[str]:
    return [word for name in names for word in ("--verb", name)]


@pytest.mark.parametrize("names", [["simulate"], pytest.param(["build", "dataset"], marks=pytest.mark.slow)])
def test_killed_commands_leave_whole_outputs_and_go_on_to_the_same_bytes(names: list[str]) -> None:
    found = disturb(*verbs(*names), "--moments", "3", "--seed", "5")["kills"]
    assert [item["verb"] for item in found] == names
    for item in found:
        assert item["wrong"] == []
        assert item["phases"] == {"run": 1, "work": 1, "publication": 1}


def test_of_two_commands_one_refuses_and_faults_leave_the_old_output() -> None:
    found = disturb(*verbs("convert"), "--pairs", "1", "--faults")
    assert [item["verb"] for item in found["pairs"]] == ["convert"]
    check(found)
    said = {(item["verb"], item["fault"]): item["said"] for item in found["faults"] if not item["skipped"]}
    assert "Permission denied" in said["convert", "lost permission"]
    assert "no such file" in said["convert", "vanished input 000001.sweep"]
    assert "truncated" in said["convert", "shrunk input 000001.sweep"]
    assert "was changed while it was read" in said["convert", "changed input 000001.sweep"]


@pytest.mark.slow
def test_no_command_loses_anything() -> None:
    found = disturb("--moments", "6", "--pairs", "2", "--faults", "--seed", "7")
    check(found)
    assert {item["verb"] for item in found["kills"]} >= {"build", "dataset", "simulate"}
    assert all(item["moments"] == 6 for item in found["kills"])


def check(found: dict[str, list[dict[str, Any]]]) -> None:
    assert [item for items in found.values() for item in items if item["wrong"]] == []
    for pair in found["pairs"]:
        assert "finished" in pair["ended"]
    assert all(item["said"].startswith("resweep: error: ") for item in found["faults"] if not item["skipped"])
