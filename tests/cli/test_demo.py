"""``resweep demo``: what it leaves behind, and that its figures mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.cli.demo import make_demo
from resweep.cli.demo_figures import passage
from resweep.io import open_log, read_poses
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import meadow
from resweep.simulate import Simulator
from resweep.worlds import World

STANDING = Trajectory(np.array([0.0, 0.2]), np.stack([from_xyz_rpy(0, 0, 2.5)] * 2))


@pytest.fixture(scope="module")
def place() -> World:
    return meadow(3)


def simulated(world: World, **changes: str) -> Simulator:
    from resweep.sensors import load_sensor

    return Simulator(world, load_sensor("velodyne-vlp-16").with_(**changes), seed=5)


def test_a_small_demo_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resweep: Any) -> None:
    monkeypatch.setattr("resweep.cli.demo.make_demo", lambda output, seed: make_demo(output, seed, sweeps=2))
    ended = resweep("demo", "-o", "made", "--seed", "3")
    assert (ended.status, ended.err) == (0, "")
    made = tmp_path / "made"
    assert [item.name for item in tmp_path.iterdir()] == ["made"]
    record = json.loads((made / "demo.json").read_text())
    assert len(record["drives"]) == 3
    for drive in record["drives"]:
        log = open_log(made / drive["sensor"])
        assert (len(log), sum(len(sweep) for sweep in log)) == (2, drive["returns"])
        assert f"{drive['returns']:,}" in ended.out
        assert (made / f"{drive['sensor']}-above.png").is_file()
        assert (made / f"{drive['sensor']}-range.png").is_file()
        counted = drive["passage"]
        assert 0 < counted["passed_grass"] < counted["met_grass"]
        assert counted["aimed_at_wall"] > 500
        assert counted["passed_wall"] == 0
    assert (made / "close-up.png").is_file()
    assert read_poses(made / "poses.txt").end == pytest.approx(0.2)
    named = [word for line in ended.out.splitlines() for word in line.split() if word.startswith("made/")]
    assert all((tmp_path / word).exists() for word in named if "SENSOR" not in word)


def test_an_earlier_demo_is_replaced_only_when_asked(tmp_path: Path, resweep: Any) -> None:
    (tmp_path / "demo-output").mkdir()
    (tmp_path / "demo-output" / "thesis.txt").write_text("years of work")
    assert "--overwrite" in resweep("demo").err
    assert "not made by the demo" in resweep("demo", "--overwrite").err
    assert (tmp_path / "demo-output" / "thesis.txt").read_text() == "years of work"


def test_more_returns_a_beam_reach_further_behind_grass(place: World) -> None:
    shares = {}
    for mode in ("first", "strongest", "multiple"):
        simulator = simulated(place, **{"receiver.mode": mode})
        shares[mode] = passage(simulator, simulator.sweep(STANDING), STANDING, 0).grass_share
    # The first return of a beam that met grass is the grass, but where a plant or pole stands before it.
    assert shares["first"] < 0.1
    assert shares["first"] < shares["multiple"]
    assert 0.2 < shares["multiple"] < 0.9


def test_a_wall_that_let_beams_through_would_be_counted(place: World) -> None:
    simulator = simulated(place)
    without = World([layer for layer in place.layers if layer.name != "structures"], place.origin)
    through = simulated(without).sweep(STANDING)
    assert passage(simulator, simulator.sweep(STANDING), STANDING, 0).wall_share == 0.0
    assert passage(simulator, through, STANDING, 0).wall_share > 0.05
