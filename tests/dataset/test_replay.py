"""A recorded drive replayed: from Python and from the command line, with the objects of any bank."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import resweep as rs
from resweep.cli.app import app
from resweep.evaluation.compare.objects import compare_objects
from resweep.scenario import Bank, builtin_bank
from resweep.scenes import ground_plane

SENSOR = "velodyne-vlp-16"


@pytest.fixture(scope="module")
def world() -> rs.World:
    return rs.World([ground_plane((120, 60), label=40)])


@pytest.fixture(scope="module")
def recorded(world: rs.World) -> rs.Log:
    """An ego and a car that passes it."""
    scenario = rs.Scenario(
        ego={"lane": [[-20, -3], [20, -3]], "speed_mps": 8},
        duration_s=0.45,
        actors=[{"name": "car", "asset": "suv", "lane": [[0, 2], [-40, 2]], "speed_mps": 10}],
    )
    trajectory, actors = scenario.place(world)
    drive = rs.Simulator(world, SENSOR, actors=actors).run(trajectory)
    return rs.Log.from_sweeps(list(drive), "drive")


def test_a_replay_pairs_up_with_the_record(world: rs.World, recorded: rs.Log) -> None:
    found = rs.replay(recorded, world, SENSOR, bank=builtin_bank(), seed=3)
    assert isinstance(found, rs.Replay)
    assert len(found.log) == len(found.recorded) == len(recorded)
    assert found.log.times == pytest.approx(recorded.times)
    np.testing.assert_allclose(found.log.poses, recorded.poses, atol=1e-6)
    assert list(found.tracks.values()) == [1]
    assert dict(found.left_out) == {}
    (row,) = compare_objects(found.log, recorded, grow_m=1.1)["objects"]
    assert row["sim"] == pytest.approx(row["real"], rel=0.05)
    assert found.log.sensor == rs.load_sensor(SENSOR)
    assert found.log.empty_beams.source == "fired"
    assert (found.log.meta["seed"], found.log.meta["replay_of"]) == (3, "drive")


def test_the_seed_fixes_a_replay_and_its_first_sweeps(world: rs.World, recorded: rs.Log) -> None:
    def ranges(**options: Any) -> bytes:
        return rs.replay(recorded, world, SENSOR, bank=builtin_bank(), **options).log[0].range.tobytes()

    assert ranges(seed=1) == ranges(seed=1, sweeps=2)
    assert ranges(seed=1) != ranges(seed=2)
    assert len(rs.replay(recorded, world, SENSOR, bank=builtin_bank(), sweeps=2).log) == 2


def test_one_sweep_is_replayed_from_a_standing_sensor(world: rs.World, recorded: rs.Log) -> None:
    found = rs.replay(recorded, world, SENSOR, bank=builtin_bank(), sweeps=1)
    sweep = found.log[0]
    assert sweep.trajectory is None
    assert sweep.timestamp == pytest.approx(recorded.times[0])
    assert (sweep.instance == next(iter(found.tracks))).any()


def test_objects_without_an_asset_are_counted(world: rs.World, recorded: rs.Log) -> None:
    boxes = recorded[0].boxes
    named = replace(boxes, name=("car",))
    other = replace(boxes, name=("tram",), track=boxes.track + 7)
    sweeps = [replace(recorded[0], boxes=named), replace(recorded[1], boxes=other)]
    found = rs.replay(rs.Log.from_sweeps(sweeps, "two"), world, SENSOR, bank=Bank([builtin_bank()["suv"]]))
    assert (len(found.tracks), dict(found.left_out)) == (1, {"tram": 1})
    with pytest.raises(rs.ResweepError, match=r"log 'two': the bank has no object of its categories \(car, tram\)"):
        rs.replay(rs.Log.from_sweeps(sweeps, "two"), world, SENSOR, bank=Bank([builtin_bank()["cone"]]))


def test_a_log_without_poses_is_refused(world: rs.World, recorded: rs.Log) -> None:
    with pytest.raises(rs.ResweepError, match="log 'drive': has no poses, so it cannot be replayed"):
        rs.replay(replace(recorded, poses_known=False), world, SENSOR)


def test_the_command_writes_what_the_function_gives(
    world: rs.World, recorded: rs.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rs.write_log(recorded, "log", format="sweep", progress=False)
    world.save("flat.world")
    args = ["replay", "log", "-w", "flat.world", "-s", SENSOR, "-o", "again", "--seed", "3", "--sweeps", "3"]
    ran = CliRunner().invoke(app, args)
    assert ran.exit_code == 0, ran.output
    assert "again: 3 sweeps of velodyne-vlp-16 with 1 objects" in ran.output
    assert "range error" in ran.output
    # Without a bank the objects are cut out of the log itself.
    own = rs.build_bank(rs.open_log("log", empty_beams=False)[:3])
    found = rs.replay(rs.open_log("log", empty_beams=False), world, SENSOR, bank=own, seed=3, sweeps=3)
    written = rs.open_log("again")
    for at in range(3):
        assert written[at].range.tobytes() == found.log[at].range.tobytes()
        assert written[at].instance.tobytes() == found.log[at].instance.tobytes()
    figures = json.loads(Path("again/objects.json").read_text())
    assert [row["track"] for row in figures["objects"]] == [1]


def test_a_replay_appears_with_its_figures_or_not_at_all(
    world: rs.World, recorded: rs.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rs.write_log(recorded, "log", format="sweep", progress=False)
    world.save("flat.world")
    args = ["replay", "log", "-w", "flat.world", "-s", SENSOR, "-o", "again", "--sweeps", "3"]

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("resweep.evaluation.compare.objects.compare_objects", stop)
        assert CliRunner().invoke(app, args).exit_code != 0
    assert not Path("again").exists()
    assert CliRunner().invoke(app, args).exit_code == 0
    assert "objects" in json.loads(Path("again/objects.json").read_text())
    assert not Path("again.partial").exists()
