"""What every command has in common: examples, how much it says, JSON, what it made, completion and exit status."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from resweep.cli import app
from resweep.cli.shared.commands import suggest_file

# What each command makes or measures; None for those that do neither.
VERBS = {
    "demo": "a folder",
    "build": "a world",
    "objects": "a bank",
    "simulate": "a log",
    "scenario": "a scenario",
    "replay": "a log",
    "drive": "runs",
    "dataset": "a dataset",
    "evaluate": "figures",
    "compare": "figures",
    "judge": "figures",
    "view": "pictures or a page",
    "render": "a picture",
    "info": "facts",
    "convert": "a log",
    "merge": "a dataset",
    "sensors": "a spec",
    "label": "a log",
    "learn detector": "a model",
    "learn raydrop": "a model",
    "learn semantics": "a model",
    "learn segmenter": "a model",
}


def list_commands() -> dict[str, Any]:
    """All commands by what a user types, those of groups too."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found |= {name: command} if inner is None else {f"{name} {each}": inner[each] for each in inner}
    return found


def test_every_command_is_held_to_this() -> None:
    assert set(list_commands()) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_command_has_examples_and_says_as_much_as_asked(verb: str) -> None:
    command = list_commands()[verb]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {"--quiet", "-q", "--verbose", "-v", "--json"} <= options
    _, _, examples = command.help.partition("Example")
    lines = [line.strip() for line in examples.splitlines()]
    assert any(line.startswith(f"resweep {verb}") for line in lines)
    assert not any(";" in line for line in lines)  # one a line
    assert all(parameter.help for parameter in command.params)


def test_the_status_of_a_command_is_said(resweep: Any) -> None:
    shown = " ".join(resweep("--help").out.split())
    for args in ("0 done", "1 an error", "2 a command line", "130 interrupted"):
        assert args in shown


@pytest.fixture
def log(room: Path, resweep: Any) -> str:
    assert resweep("simulate", room, "-s", "velodyne-vlp-16", "-p", "0,0,0", "-o", "out", "--sweeps", "2").status == 0
    return "out"


def test_what_was_made_is_a_table_or_json(log: str, resweep: Any, room: Path) -> None:
    """The commands that are quick enough to run here; others end by the same function."""
    runs = {
        "log": ["convert", log, "as-ply", "--format", "ply"],
        "sweep": ["convert", f"{log}/000000.sweep", "one.pcd"],
        "picture": ["view", log, "-o", "seen.png"],
        "comparison": ["compare", "a.json", "b.json", "-o", "both.html"],
        "report": ["evaluate", log, log, "-o", "a.json"],
    }
    for what in ("log", "sweep", "picture", "report", "comparison"):
        result = resweep(*runs[what])
        assert result.status == 0, result.err
        head, *rows = result.out[result.out.index("output ") :].splitlines()
        assert head.split() == ["output", "path", "size"]
        assert rows[0].startswith(what)
        target = rows[0].split()[1]
        assert Path(target).exists()
        if what == "report":
            shutil.copy(target, "b.json")
        assert rows[0].split()[3] in ("bytes", "kB", "MB")
    drawn = resweep("render", room, "--size", "32x24", "-o", "room.png", "--json")
    made = json.loads(drawn.out.splitlines()[-1])
    assert made["outputs"] == [{"what": "picture", "path": "room.png", "bytes": Path("room.png").stat().st_size}]
    assert (made["width"], made["height"], made["view"]) == (32, 24, "shaded")
    scenario = json.loads(resweep("scenario", "hidden-car", "--json").out)
    assert scenario["actors"]


def test_a_mistyped_file_is_suggested(log: str, resweep: Any) -> None:
    result = resweep("info", "outt")
    assert result.status == 1
    assert result.err == "resweep: error: outt: no such file or folder; check the path; did you mean 'out'?\n"
    assert resweep("info", "entirely-else").err.endswith("no such file or folder; check the path\n")
    assert suggest_file("out: no sweep", ["out"]) == ""  # it is there
    assert "did you mean 'street'?" in resweep("demo", "stret").err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_shell_completes_commands_options_and_names(tmp_path: Path) -> None:
    program = tmp_path / "resweep"
    program.write_text(f"#!{sys.executable}\nfrom resweep.cli import main\nmain()\n")
    program.chmod(0o755)
    script = """
    eval "$(./resweep --show-completion bash)"
    complete_words() {
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _resweep_completion ./resweep; echo "${COMPREPLY[*]}"
    }
    complete_words resweep simu
    complete_words resweep simulate x --sens
    complete_words resweep simulate x --sensor velodyne-v
    """
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=600, cwd=tmp_path, check=False
    )
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["simulate", "--sensor", "velodyne-vlp-16 velodyne-vlp-32c velodyne-vls-128"]


def test_a_dry_run_prints_the_plan_and_writes_nothing(resweep: Any, log: str) -> None:
    result = resweep("build", log, "-o", "w.world", "--dry-run")
    assert result.status == 0, result.err
    assert "kind: HybridConfig" in result.out
    assert "expected to take about " in result.err
    plan = json.loads(
        resweep("build", log, "-o", "w.world", "--dry-run", "--json", "-m", "surfels").out.splitlines()[-1]
    )
    assert plan["kind"] == "SurfelConfig"
    assert not Path("w.world").exists()


def test_quick_is_for_what_is_built(resweep: Any, log: str) -> None:
    result = resweep("evaluate", log, log, "--quick")
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert "--quick: is how a world is built with --holdout" in result.err
    result = resweep("evaluate", log, "--holdout", "0", "--quick", "--refine", "full")
    assert "--quick leaves refinement out; give one of them" in result.err
