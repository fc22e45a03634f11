"""``simulate`` and ``convert`` go on where they were stopped, and give the bytes of an unbroken run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from resweep.io import open_log
from resweep.simulate import Simulator

SENSOR = "velodyne-vlp-16"
QUICK = ("-s", SENSOR, "--set", "beam.rays=single")
FEW_BEAMS = ("--set", "pattern.firing_period_s=null", "--set", "pattern.azimuth_resolution_deg=1.0")
FORMATS = ["sweep", "pcd", "semantickitti", "nuscenes", "ros2"]


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


class Stop:
    """Interrupts the sweep of a number, and notes which sweeps were made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at: int | None = None
        self.made: list[int] = []
        sweep = Simulator.sweep

        def stop(simulator: Simulator, *args: Any, index: int = 0, **options: Any) -> Any:
            if index == self.at:
                raise KeyboardInterrupt
            self.made.append(index)
            return sweep(simulator, *args, index=index, **options)

        patch.setattr(Simulator, "sweep", stop)


@pytest.mark.parametrize("format", FORMATS)
def test_an_interrupted_simulation_resumes_to_the_byte(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    args = ["simulate", room, *QUICK, "-p", drive, "-f", format, "-o"]
    assert resweep(*args, "unbroken").status == 0
    stop = Stop(monkeypatch)
    stop.at = 2
    result = resweep(*args, "out")
    assert result.status == 130
    assert result.err.endswith(
        "interrupted; the same command goes on where it stopped (its finished sweeps are kept beside the output)\n"
    )
    assert not (tmp_path / "out").exists()
    stop.at = None
    stop.made.clear()
    result = resweep(*args, "out")
    assert result.status == 0
    assert f"{tmp_path / 'out.partial'}: resuming; 2 of 3 sweeps were finished before" in result.err
    assert "3 sweeps" in result.out
    assert "2 of them from before" in result.out
    assert stop.made == [2]
    assert content(tmp_path / "out") == content(tmp_path / "unbroken")
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_an_interrupted_conversion_resumes_to_the_byte(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    import resweep.io.files.sweep_file as sweep_file

    assert resweep("simulate", room, *QUICK, "-p", drive, "-o", "log").status == 0
    args = ["convert", "log", "-f", format]
    assert resweep(*args, "unbroken").status == 0
    read = sweep_file._read

    def stop(path: Path) -> Any:
        if path == Path("log/000002.sweep"):
            raise KeyboardInterrupt
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_file, "_read", stop)
        assert resweep(*args, "out").status == 130
    result = resweep(*args, "out")
    assert "resuming; 2 of 3 sweeps were finished before" in result.err
    assert result.out.startswith(f"out: 3 sweeps as {format}, 2 of them from before\n")
    assert content(tmp_path / "out") == content(tmp_path / "unbroken")


@pytest.mark.parametrize("change", ["seed", "format", "world", "poses"])
def test_finished_sweeps_of_other_work_are_discarded_with_a_word(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    args = {"-p": drive, "-f": "sweep", "--seed": "1"}

    def simulate(output: str) -> Any:
        return resweep("simulate", room, *QUICK, *(word for pair in args.items() for word in pair), "-o", output)

    stop = Stop(monkeypatch)
    stop.at = 2
    assert simulate("out").status == 130
    stop.at = None
    if change == "seed":
        args["--seed"] = "2"
    elif change == "format":
        args["-f"] = "pcd"
    else:
        file = {"world": room, "poses": drive}[change]
        os.utime(file, ns=(time.time_ns(), file.stat().st_mtime_ns + 1))
    result = simulate("out")
    assert result.status == 0
    other = "other settings" if change in ("seed", "format") else "other inputs"
    assert f"out.partial: finished sweeps of a log with {other} are discarded; starting over" in result.err
    assert "from before" not in result.out
    simulate("unbroken")
    assert content(tmp_path / "out") == content(tmp_path / "unbroken")


def test_the_old_log_stays_until_the_new_one_is_whole(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["simulate", room, *QUICK, "-p", drive, "-o", "out"]
    resweep(*args)
    old = content(tmp_path / "out")
    stop = Stop(monkeypatch)
    stop.at = 1
    assert resweep(*args, "--seed", 3, "--overwrite").status == 130
    assert content(tmp_path / "out") == old
    stop.at = None
    assert resweep(*args, "--seed", 3, "--overwrite").status == 0
    assert content(tmp_path / "out") != old
    assert sorted(item.name for item in tmp_path.iterdir()) == ["drive.tum", "out", "room.obj"]


@pytest.mark.parametrize(
    "args",
    [
        ["build", "log", "-o", "out"],
        ["simulate", "world", "-s", SENSOR, "-p", "0,0,0", "-o", "out"],
        ["replay", "log", "-w", "world", "-s", SENSOR, "-o", "out"],
        ["convert", "log", "out", "-f", "pcd"],
        ["convert", "log", "out/../out"],
        ["dataset", "plan.yaml", "-o", "out"],
        ["objects", "log", "-o", "out"],
        ["objects", "bank", "--gallery", "-o", "out"],
        ["evaluate", "log", "--holdout", "1", "-o", "out"],
        ["demo", "-o", "out"],
        ["merge", "day", "night", "-o", "out"],
    ],
    ids=lambda args: args[0],
)
def test_every_command_that_writes_refuses_an_output_that_another_process_writes(
    resweep: Any, tmp_path: Path, args: list[str]
) -> None:
    code = """
import sys
from pathlib import Path
from resweep.files import lock_local
with lock_local(Path("out")):
    print("held", flush=True)
    sys.stdin.read()
"""
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": tmp_path}
    with subprocess.Popen([sys.executable, "-c", code], **options) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        result = resweep(*args)
        assert result.status == 1
        assert f"out: another process is writing it (pid {other.pid}, since 20" in result.err
        assert result.err.endswith("; wait for it or choose another name\n")
        other.kill()
    assert "another process" not in resweep(*args[:1], "absent", *args[2:]).err


def test_a_killed_command_resumes_and_a_second_one_is_refused(
    room: Path, drive: Path, resweep: Any, tmp_path: Path
) -> None:
    code = """
import sys, time
from resweep.cli import main
from resweep.simulate import Simulator
sweep = Simulator.sweep
def slow(self, *args, index=0, **options):
    if index == 2:
        print("waiting", flush=True)
        time.sleep(600)
    return sweep(self, *args, index=index, **options)
Simulator.sweep = slow
main()
"""
    args = ["simulate", room, *QUICK, "-p", drive, "-o", tmp_path / "out"]

    first = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, text=True)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "waiting\n"
        second = resweep(*args, "--seed", "1")
        assert second.status == 1
        assert second.err.startswith(f"resweep: error: {tmp_path / 'out'}: another process is writing it (pid ")
        assert f"(pid {first.pid}, since 20" in second.err
        assert second.err.count("\n") == 1
        os.kill(first.pid, signal.SIGKILL)
    third = resweep(*args)
    assert third.status == 0, third.err
    assert "resuming; 2 of 3 sweeps were finished before" in third.err
    assert len(open_log(tmp_path / "out")) == 3
    assert sorted(item.name for item in tmp_path.iterdir()) == ["drive.tum", "out", "room.obj"]


def test_an_interrupted_evaluation_resumes_after_its_build(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    assert resweep("simulate", room, *QUICK, *FEW_BEAMS, "-p", drive, "-o", "log").status == 0
    args = ["evaluate", "log", "--holdout", 1, "-m", "surfels", "-o"]
    assert resweep(*args, "unbroken.json").status == 0

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("resweep.evaluation.holdout.evaluate", stop)
        result = resweep(*args, "report.json")
        assert result.err.endswith(
            "goes on where it stopped (the finished stages of its build are kept beside the report)\n"
        )
        assert resweep(*args[:-1]).err.endswith("resweep: error: interrupted\n")  # nothing is kept without a report
    assert (tmp_path / "report.json.partial").is_dir()
    result = resweep(*args, "report.json")
    assert "report.json.partial: resuming; finished before: " in result.err
    assert not (tmp_path / "report.json.partial").exists()
    again, once = (json.loads((tmp_path / name).read_text()) for name in ("report.json", "unbroken.json"))
    for report in (again, once):
        del report["metrics"]["sweeps_per_s"]
    assert once["metrics"].pop("build_s") > 0
    assert again["metrics"].pop("build_s") is None
    assert again["notes"].pop().startswith("build_s is unknown: resumed after ")
    assert again == once
