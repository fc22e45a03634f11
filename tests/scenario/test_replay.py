"""Recorded boxes come back as actors that move as they did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.evaluation.compare.objects import compare_objects
from resweep.scenario import builtin_bank
from resweep.scenario.replay_actors import find_sweep_starts, replay_actors
from resweep.scenes import ground_plane

EGO = {"lane": [[-20, -3], [20, -3]], "speed_mps": 8}


def drive() -> tuple[rs.World, rs.Trajectory, list[rs.Actor], rs.Log]:
    """A flat world, an ego and a car that passes it, and the sweeps of that."""
    world = rs.World([ground_plane((120, 60), label=40)])
    scenario = rs.Scenario(
        ego=EGO,
        duration_s=0.65,
        actors=[{"name": "car", "asset": "suv", "lane": [[0, 2], [-40, 2]], "speed_mps": 10}],
    )
    trajectory, actors = scenario.place(world)
    record = rs.Log.from_sweeps(list(rs.Simulator(world, "velodyne-vlp-16", actors=actors).run(trajectory)), "drive")
    return world, trajectory, actors, record


def test_a_replay_moves_as_the_record_and_measures_the_same() -> None:
    world, trajectory, actors, record = drive()
    again, tracks, missing = replay_actors(record, world, builtin_bank())
    assert list(tracks.values()) == [actors[0].instance]
    assert missing == {}
    assert again[0].layers[0] is actors[0].layers[0]  # the bank's object of that size
    at = record.times[3]
    assert np.allclose(again[0].trajectory.at(at), actors[0].trajectory.at(at), atol=0.02)
    sim = rs.Simulator(world, "velodyne-vlp-16", actors=again).run(trajectory)
    figures = compare_objects(sim[: len(record)], record, grow_m=1.1)
    (row,) = figures["objects"]
    assert row["sim"] == pytest.approx(row["real"], rel=0.05)
    assert row["range_error_m"] < 0.05


def test_sweeps_are_replayed_over_the_time_that_the_recorded_ones_took() -> None:
    _, _, _, record = drive()
    lasts = float(record[0].beam_time.max() - record[0].beam_time.min())
    assert find_sweep_starts(record, lasts) == pytest.approx(record.times)
    assert find_sweep_starts(record, 0.5 * lasts) == pytest.approx(record.times + 0.25 * lasts)
    stamped_late = [replace(sweep, timestamp=sweep.timestamp + 0.05) for sweep in record]
    assert find_sweep_starts(rs.Log.from_sweeps(stamped_late, "late"), lasts) == pytest.approx(record.times)


def test_an_actor_follows_a_recorded_track_and_keeps_its_class(tmp_path: Path) -> None:
    world, _, actors, record = drive()
    rs.write_log(record, tmp_path / "log", format="sweep")
    follows = {"name": "again", "track": {"log": str(tmp_path / "log"), "id": actors[0].instance}}
    scenario = rs.Scenario(ego=EGO, duration_s=0.6, actors=[follows])
    (actor,) = scenario.make_actors(world)
    assert actor.layers[0] is builtin_bank()["suv"].layers[0]  # the best fit by size
    assert np.allclose(actor.trajectory.at(0.3), actors[0].trajectory.at(0.3), atol=0.02)
    assert scenario.categories(None, [actor]) == {"again": "car"}
    lost = rs.Scenario(ego=EGO, actors=[{**follows, "track": {**follows["track"], "id": 77}}])
    with pytest.raises(rs.ResweepError, match=r"actors\[0\] 'again', track: log .* has no track 77"):
        lost.make_actors(world)
