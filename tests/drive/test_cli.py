"""`resweep drive` as its users call it: one clear error, or a recorded outcome."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import resweep as rs
from resweep.cli import main
from resweep.scenes import SCENE_LABELS, Label, ground_plane, wall
from tests.drive.test_loop import files

KEEP = "tests.drive.stacks:keep_speed"
NEVER = "tests.drive.stacks:never"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved world of 120 m with a wall across it at x = 40."""
    folder = tmp_path_factory.mktemp("place")
    across = wall((40.15, -20.0), (40.15, 20.0), 3.0, 0.3, label=Label.BUILDING)
    rs.World([ground_plane((120.0, 120.0), label=Label.ROAD), across], labels=SCENE_LABELS).save(folder / "yard.world")
    return folder


def call(*args: Any, code: int = 0) -> None:
    with pytest.raises(SystemExit) as status:
        main([str(word) for word in args])
    assert status.value.code == code


def drive(place: Path, output: Path, *options: Any, code: int = 0, **scenario: Any) -> None:
    given = {"duration_s": 1.0, "ego": {"lane": [[0, 0], [50, 0]], "speed_mps": 8}, **scenario}
    file = place / "mine.yaml"
    file.write_text(yaml.safe_dump(given))
    args = ["drive", file, "--world", place / "yard.world", "-o", output, *options]
    call(*args, code=code)


@pytest.mark.parametrize(
    ("lane", "message"),
    [
        ([[40.2, 0], [50, 0]], r"start (40.2, 0.0): the vehicle 'passenger-car' would stand in building"),
        ([[70, 0], [80, 0]], "ego: leaves the world 0.0 s after its start at (70.0, 0.0)"),
    ],
    ids=["in a wall", "off the ground"],
)
def test_a_start_where_no_vehicle_stands(
    place: Path, tmp_path: Path, capsys: Any, lane: list[list[float]], message: str
) -> None:
    drive(place, tmp_path / "out", "--autonomy", KEEP, code=1, ego={"lane": lane, "speed_mps": 5})
    text = capsys.readouterr().err
    assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--goal", "500,0"], "goal (500.0, 0.0): no ground there"),
        (["--goal", "here"], "--goal: expected X,Y, got 'here'"),
        (["--goal", "nan,0"], "--goal: expected X,Y, got 'nan,0'"),
        (["--autonomy", "refrence"], "MODULE:NAME of a class or a function; did you mean 'reference'?"),
        (["--autonomy", "tcp:none"], "expected tcp:PORT"),
        (["--autonomy", "tcp:5555", "--workers", "2"], "drives one run at a time"),
        (["--autonomy", "nobody"], "give a stack, tcp:PORT, or MODULE:NAME of a class or a function; known: navigator"),
        (["--autonomy", "tests.drive.stacks:Unmade"], "cannot be created (RuntimeError: no weights)"),
        (["--autonomy", KEEP, "--reactive", "bus"], "the scenario has no actor 'bus'"),
    ],
)
def test_wrong_options(place: Path, tmp_path: Path, capsys: Any, options: list[str], message: str) -> None:
    drive(place, tmp_path / "out", *options, code=1)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("autonomy", ["refrence", "tcp:none", "tests.drive.stacks:Unmade"])
def test_an_autonomy_that_cannot_be_leaves_no_folder(place: Path, tmp_path: Path, autonomy: str) -> None:
    drive(place, tmp_path / "out", "--autonomy", autonomy, code=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hiden-car", "scenario 'hiden-car': no such file, and no scenario; did you mean 'hidden-car'?"),
        ("nowhere.yaml", "scenario 'nowhere.yaml': no such file, and no scenario; known: animals, construction"),
        ("animals", "world: scenario 'animals' needs one to drive in; give a path, or such as scene:street"),
    ],
)
def test_what_is_driven_must_be_known(tmp_path: Path, capsys: Any, name: str, message: str) -> None:
    call("drive", name, "-o", tmp_path / "out", code=1)
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_mistake_that_is_mended_may_be_driven_into_the_same_folder(place: Path, tmp_path: Path, capsys: Any) -> None:
    short = ["--autonomy", KEEP, "--duration", "0.2"]
    drive(place, tmp_path / "out", *short, "--goal", "500,0", code=1)
    drive(place, tmp_path / "out", *short, "--goal", "30,0")
    assert "time after 0.2 s" in capsys.readouterr().out
    drive(place, tmp_path / "out", *short, "--goal", "31,0", code=1)
    assert "holds runs of other cases or settings" in capsys.readouterr().err


def test_impossible_limits_name_their_field(place: Path, tmp_path: Path, capsys: Any) -> None:
    spec = rs.drive.load_vehicle("passenger-car").model_dump(mode="json")
    (tmp_path / "car.yaml").write_text(yaml.safe_dump({**spec, "wheelbase_m": 9.0}))
    drive(place, tmp_path / "out", "--vehicle", tmp_path / "car.yaml", code=1)
    assert "wheelbase_m: 9 m: the axles lie outside of the vehicle's box" in capsys.readouterr().err


def test_a_goal_that_cannot_be_reached_is_a_recorded_outcome(place: Path, tmp_path: Path, capsys: Any) -> None:
    options = ["--vehicle", "skid-robot", "--autonomy", "navigator", "--goal", "40.2,0", "--duration", "20"]
    drive(place, tmp_path / "out", *options, ego={"lane": [[25, 0], [35, 0]], "speed_mps": 1})
    assert "gave-up after" in capsys.readouterr().out
    run = rs.drive.load_run(tmp_path / "out" / "0000")
    assert run.outcome == "gave-up"
    assert "no path to the goal" in next(event["detail"] for event in run.events if event["kind"] == "gave-up")


def test_an_autonomy_that_never_answers_is_a_recorded_outcome(place: Path, tmp_path: Path, capsys: Any) -> None:
    drive(place, tmp_path / "out", "--autonomy", NEVER, "--timeout", "0.2", duration_s=5.0)
    assert "no-answer after" in capsys.readouterr().out
    assert rs.drive.load_run(tmp_path / "out" / "0000").states[-1, 5] == 0.0


def test_what_an_autonomy_raises_is_reported(place: Path, tmp_path: Path, capsys: Any) -> None:
    """Also where it tries to end the process: the run is recorded, with the reason."""
    drive(place, tmp_path / "out", "--autonomy", "tests.drive.stacks:leave", duration_s=5.0)
    assert "(SystemExit: 3)" in capsys.readouterr().out
    assert rs.drive.load_run(tmp_path / "out" / "0000").outcome == "no-answer"


def test_runs_without_sweeps_say_how_to_get_them(place: Path, tmp_path: Path, capsys: Any) -> None:
    runs = tmp_path / "runs"
    drive(place, runs, "--autonomy", KEEP, "--duration", "0.2")
    call("info", runs / "0000", code=1)
    assert f"`resweep drive {runs / '0000'} -o OUT` makes them again" in " ".join(capsys.readouterr().err.split())
    call("drive", runs, "-o", tmp_path / "again", code=1)
    assert "holds several runs; give one of them" in capsys.readouterr().err
    call("drive", runs / "0000", "-o", runs, code=1)
    assert "exists and is not empty; choose another name\n" in capsys.readouterr().err


def test_a_run_is_a_log_that_the_other_verbs_read(place: Path, tmp_path: Path, capsys: Any) -> None:
    drive(place, tmp_path / "out", "--autonomy", KEEP, "--sweeps", duration_s=0.3)
    run = tmp_path / "out" / "0000"
    capsys.readouterr()
    call("info", run)
    found = capsys.readouterr().out
    assert re.search(r"sweeps\W+3\b", found)
    call("evaluate", run, run)
    call("convert", run, tmp_path / "kitti", "--format", "semantickitti")
    call("view", run, "-o", tmp_path / "run.png")
    assert len(rs.open_log(tmp_path / "kitti")) == 3
    assert (tmp_path / "run.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_campaign_that_was_killed_goes_on_to_the_same_result(place: Path, tmp_path: Path, sent: int) -> None:
    """Processes are killed in the midst of a run; what was finished stays, and the rest is driven."""
    scenario = {
        "duration_s": 1.2,
        "ego": {"lane": [[-40, 0], [50, 0]], "speed_mps": 8},
        "actors": [{"name": "car", "asset": "suv", "lane": [[-10, 3], [30, 3]], "speed_mps": 4,
                    "vary_speed": [0.5, 1.5]}],
    }  # fmt: skip
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(scenario))
    args = ["drive", tmp_path / "mine.yaml", "--world", place / "yard.world", "--variants", 5, "--sweeps",
             "--autonomy", KEEP]  # fmt: skip
    killed = tmp_path / "killed"
    code = "from resweep.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, args), "--workers", "2", "-o", str(killed)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    while not (killed / "0000" / "run.json").is_file():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, sent)
    process.wait()
    assert len(list(killed.glob("*/run.json"))) < 5  # workers do not go on with what was queued
    assert not (killed / "summary.json").exists()
    call(*args, "-o", killed)
    call(*args, "-o", tmp_path / "whole")
    left = {name: data for name, data in files(killed).items() if not name.endswith(".lock")}
    assert left == files(tmp_path / "whole")
    assert json.loads((killed / "summary.json").read_text())["variants"] == 5
