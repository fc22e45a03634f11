"""The command itself: help, version, start, and how everything that goes wrong ends."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import resweep as package
from resweep.cli import app, main
from resweep.cli.shared.commands import RESUMABLE

VERBS = sorted(command.callback.__name__ for command in app.registered_commands if command.callback)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)


def test_every_verb_of_the_design_is_there() -> None:
    assert {"demo", "simulate", "view", "info", "convert", "sensors"} <= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_shows_an_example_of_itself(verb: str, resweep: Any) -> None:
    shown = resweep(verb, "--help")
    assert shown.status == 0
    assert f"resweep {verb} " in shown.out[shown.out.index("Example") :] + " "


def test_help_lists_the_verbs_and_is_what_a_bare_command_gives(resweep: Any) -> None:
    shown = resweep("--help")
    assert shown.status == 0
    assert all(f" {verb} " in shown.out for verb in VERBS)
    assert "resweep demo" in shown.out
    assert resweep().out == shown.out


def test_version(resweep: Any) -> None:
    assert resweep("--version").out == f"resweep {package.__version__}\n"


def test_starting_loads_nothing_heavy() -> None:
    heavy = ["matplotlib", "scipy", "trimesh", "zarr", "pydantic", "laspy", "resweep._core"]
    result = python(f"import resweep.cli, sys; print([name for name in {heavy} if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["simulat"], "No such command 'simulat'"),
        (["simulate"], "Missing argument"),
        (["simulate", "a.obj"], "Missing option"),
        (["info"], "see 'resweep info --help'"),
        (["sensors", "--colour"], "No such option: --colour"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--seed", "many"], "--seed"),
    ],
)
def test_a_command_that_cannot_be_understood_is_one_line_and_2(args: list[str], message: str, resweep: Any) -> None:
    result = resweep(*args)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("resweep: error: ")
    assert result.err.count("\n") == 1
    assert message in result.err


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "disk/log"), 1, "disk/log: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "locked"), 1, "locked: Permission denied"),
        (OSError("odd"), 1, "odd"),
        (package.ResweepError("over\n two   lines"), 1, "over two lines"),
        (MemoryError(), 1, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_stops_a_command_is_one_line(
    error: BaseException, status: int, message: str, resweep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("resweep.io.open_log", fail)
    result = resweep("convert", "a", "b")
    assert (result.status, result.out) == (status, "")
    assert result.err.startswith(f"resweep: error: {message}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("argument", "option"), [("tile_m", "--tile"), ("workers", "--cluster")])
def test_an_argument_of_the_library_is_named_as_the_option_that_gives_it(
    argument: str, option: str, resweep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise package.ResweepError(f"{argument}: cannot be divided")

    monkeypatch.setattr("resweep.io.open_log", fail)
    assert resweep("build", "a", "-o", "b.world").err == f"resweep: error: {option}: cannot be divided\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["build", "a", "-o", "b"], "interrupted; the same command goes on where it stopped (its finished stages"),
        (["-q", "build", "a", "-o", "b"], "interrupted; the same command goes on where it stopped"),
        (["build", "a", "-o", "b", "--no-resume"], "interrupted\n"),
        (["info", "."], "interrupted\n"),
    ],
)
def test_an_interrupted_command_says_whether_it_resumes(
    args: list[str], message: str, resweep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("resweep.io.open_log", stop)
    result = resweep(*args)
    assert result.status == 130
    assert result.err.startswith(f"resweep: error: {message}")
    assert result.err.count("\n") == 1


def test_what_is_said_to_resume_is_a_command() -> None:
    assert set(RESUMABLE) <= {*VERBS, *(group.name for group in app.registered_groups)}


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_may_be_quiet_or_verbose(verb: str, resweep: Any) -> None:
    shown = resweep(verb, "--help").out
    assert "--verbose" in shown
    assert "--quiet" in shown


def test_progress_is_hidden_or_shown_on_demand(room: Path, resweep: Any) -> None:
    args = ["simulate", room, "-s", "velodyne-vlp-16", "-p", "0,0,0"]
    assert resweep(*args, "-o", "a").err == ""  # too short to show anything
    loud = resweep(*args, "-o", "b", "-v").err.splitlines()
    assert any(line.startswith("sweeping velodyne-vlp-16: 1/1") for line in loud)
    assert resweep("--verbose", *args, "-o", "c").err.splitlines()[0] == loud[0]
    assert resweep(*args, "-o", "d", "--quiet").err == ""
    both = resweep(*args, "-o", "e", "-q", "-v")
    assert (both.status, both.err.count("\n")) == (2, 1)
    assert "exclude each other" in both.err


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("resweep.io.open_log", fail)
    with pytest.raises(ZeroDivisionError):
        main(["convert", "a", "b"])


@pytest.mark.skipif(os.name != "posix", reason="needs a shell's pipe")
def test_a_reader_that_leaves_early_sees_no_complaint() -> None:
    command = [sys.executable, "-c", "from resweep.cli import main; main(['sensors', '--json'])"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_the_installed_command_is_this_one(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("resweep")
    if not script.is_file():
        pytest.skip("needs the package installed in this environment")
    result = subprocess.run(
        [script, "info", "absent.pcd"], capture_output=True, text=True, timeout=600, cwd=tmp_path, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "resweep: error: absent.pcd: no such file or folder; check the path\n"
