"""``resweep demo``: what it leaves behind, and that its figures mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from resweep.cli.demos.added_car import add_car
from resweep.cli.demos.meadow import make_meadow
from resweep.cli.demos.meadow_figures import count_passage
from resweep.cli.shared.outputs import name_command
from resweep.io import load_poses, open_log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import StreetConfig, meadow, street
from resweep.simulate import Simulator
from resweep.worlds import World

STATIONARY = Trajectory(np.array([0.0, 0.2]), np.stack([from_xyz_rpy(0, 0, 2.5)] * 2))


@pytest.fixture(scope="module")
def place() -> World:
    return meadow(3)


def simulated(world: World, **changes: str) -> Simulator:
    from resweep.sensors import load_sensor

    return Simulator(world, load_sensor("velodyne-vlp-16").with_(**changes), seed=5)


@pytest.mark.slow
def test_a_small_meadow_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resweep: Any) -> None:
    monkeypatch.setattr(
        "resweep.cli.demos.meadow.make_meadow", lambda output, seed: make_meadow(output, seed, sweeps=2)
    )
    result = resweep("demo", "meadow", "-o", "made", "--seed", "3")
    assert (result.status, result.err) == (0, "")
    made = tmp_path / "made"
    assert [item.name for item in tmp_path.iterdir()] == ["made"]
    record = json.loads((made / "demo.json").read_text())
    assert len(record["drives"]) == 3
    for drive in record["drives"]:
        log = open_log(made / drive["sensor"])
        assert (len(log), sum(len(sweep) for sweep in log)) == (2, drive["returns"])
        assert f"{drive['returns']:,}" in result.out
        assert (made / f"{drive['sensor']}-above.png").is_file()
        assert (made / f"{drive['sensor']}-range.png").is_file()
        counted = drive["passage"]
        assert 0 < counted["passed_grass"] < counted["hit_grass"]
        assert counted["aimed_at_wall"] > 500
        assert counted["passed_wall"] == 0
    assert (made / "close-up.png").is_file()
    assert load_poses(made / "poses.txt").end == pytest.approx(0.2)
    named = [word for line in result.out.splitlines() for word in line.split() if word.startswith("made/")]
    assert all((tmp_path / word).exists() for word in named if "SENSOR" not in word)


def test_the_main_job_leaves_all_that_it_names(tmp_path: Path, resweep: Any) -> None:
    result = resweep("demo", "-o", "made", "--sweeps", "4", "--sensor", "velodyne-vlp-16")
    assert result.status == 0
    assert [item.name for item in tmp_path.iterdir()] == ["made"]
    made = tmp_path / "made"
    for step in range(1, 7):
        assert f"{step}/6" in result.err
    assert [line.partition(":")[0] for line in result.out.splitlines()[:5]] == [
        "recorded",
        "world",
        "objects",
        "swept again",
        "compared",
    ]
    record = json.loads((made / "demo.json").read_text())
    # The recording is of a place of known truth: most of a held-out sweep must come back from its world.
    assert record["metrics"]["recovered_0.10m"] > 0.6
    assert record["metrics"]["range_median_m"] < 0.05
    assert record["again"]["returns_on_added"] > 20
    assert list(record["steps"]) == ["record", "build and compare", "cut out", "sweep again", "draw"]
    assert all(step["cpu_seconds"] > 0 for step in record["steps"].values())
    with Image.open(made / "demo.png") as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    third = pixels[:, 2 * pixels.shape[1] // 3 :]
    orange = np.abs(third - [255, 92, 40]).max(axis=2) < 25
    assert orange.sum() > 50
    assert (np.abs(pixels[:, : pixels.shape[1] // 3] - [255, 92, 40]).max(axis=2) < 25).sum() == 0
    assert (made / "report.html").is_file()
    again = open_log(made / "swept-again")
    assert (len(again), again.sensor_name) == (4, "velodyne-vlp-16")
    assert open_log(made / "recording")[2].boxes is not None


@pytest.mark.slow
def test_the_main_job_takes_a_log(tmp_path: Path, resweep: Any) -> None:
    from resweep.cli.demos.street import record_street
    from resweep.io import write_log

    write_log(record_street(1, sweeps=5), tmp_path / "drive", progress=False)
    own = resweep("demo", "--log", "drive", "-o", "own", "--sweeps", "4", "-s", "velodyne-vlp-16", "--no-browser")
    assert own.status == 0
    assert "takes the first 4 of 5 sweeps" in own.err
    assert json.loads((tmp_path / "own" / "demo.json").read_text())["metrics"]["return_f1"] > 0.8


def test_an_added_car_stays_clear_of_others_and_on_the_ground() -> None:
    from resweep.cli.demos.street import record_street
    from resweep.scenario import Actor
    from resweep.scenario.builtin import builtin_bank

    log, world = record_street(0, sweeps=3), street(0, StreetConfig(road_m=12.0, parked=0.45))
    added = add_car(log, world, builtin_bank(), [])
    ahead = added.pose_at(float(log.times[1]))[:3, 3] - log.poses[1, :3, 3]
    assert ahead[0] == pytest.approx(11.0, abs=0.2)
    assert added.pose_at(float(log.times[1]))[2, 3] == pytest.approx(0.0, abs=0.05)
    other = Actor(added.layers, added.trajectory, added.instance, size_m=added.size_m)
    second = add_car(log, world, builtin_bank(), [other])
    apart = second.pose_at(float(log.times[1]))[0, 3] - added.pose_at(float(log.times[1]))[0, 3]
    assert abs(apart) > 4.0
    assert second.instance != added.instance


@pytest.mark.parametrize("step_m", [0.05, 0.4, 1.5])
def test_an_added_car_drives_straight_on_beyond_a_log_of_any_speed(step_m: float) -> None:
    from resweep.cli.demos.added_car import _drive_ahead
    from resweep.log import Log
    from resweep.sweep import Sweep

    poses = np.stack([from_xyz_rpy(step_m * at, 2.0, 1.7) for at in range(40)])
    empty = [Sweep.from_points(np.ones((1, 3)), pose=pose, timestamp=0.1 * at) for at, pose in enumerate(poses)]
    times, places = _drive_ahead(Log.from_sweeps(empty, "drive"), 11.0)
    np.testing.assert_allclose(places[1:-1], poses[:, :2, 3] + [11.0, 0.0], atol=1e-9)
    assert times[0] < 0.0
    assert times[-1] > 3.9


def test_an_earlier_demo_is_replaced_only_when_asked(tmp_path: Path, resweep: Any) -> None:
    (tmp_path / "demo-output").mkdir()
    (tmp_path / "demo-output" / "thesis.txt").write_text("years of work")
    assert "--overwrite" in resweep("demo").err
    assert "not written by the demo" in resweep("demo", "--overwrite").err
    for args, message in (
        (["moon"], "no such demo"),
        (["meadow", "--sensor", "livox-avia"], "leave out --log, --sensor and --quick"),
        (["meadow", "--quick"], "leave out --log, --sensor and --quick"),
        (["-o", "new", "--log", "absent"], "absent"),
        (["-o", "new", "--sensor", "velodyne-hdl-33"], "velodyne-hdl-32e"),
    ):
        result = resweep("demo", *args)
        assert (result.status, result.err.count("\n")) == (1, 1)
        assert message in result.err
    assert (tmp_path / "demo-output" / "thesis.txt").read_text() == "years of work"


def test_more_returns_a_beam_reach_further_behind_grass(place: World) -> None:
    shares = {}
    for mode in ("first", "strongest", "multiple"):
        simulator = simulated(place, **{"receiver.mode": mode})
        shares[mode] = count_passage(simulator, simulator.sweep(STATIONARY), STATIONARY, 0).grass_share
    # The first return of a beam that hit grass is the grass, but where a plant or pole stands before it.
    assert shares["first"] < 0.1
    assert shares["first"] < shares["multiple"]
    assert 0.2 < shares["multiple"] < 0.9


def test_a_wall_that_let_beams_through_would_be_counted(place: World) -> None:
    simulator = simulated(place)
    without = World([layer for layer in place.layers if layer.name != "structures"], place.origin)
    through = simulated(without).sweep(STATIONARY)
    assert count_passage(simulator, simulator.sweep(STATIONARY), STATIONARY, 0).wall_share == 0.0
    assert count_passage(simulator, through, STATIONARY, 0).wall_share > 0.05


def test_what_to_type_next_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "venv" / "resweep"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert name_command() == str(program)  # the shell would not find it
    monkeypatch.setenv("PATH", str(program.parent))
    assert name_command() == "resweep"
    monkeypatch.setattr("sys.argv", ["-c"])
    assert name_command() == "resweep"
