"""The loop: sensors along the true motion, at their own rates; the same seed gives the same bytes, stopped or not."""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.drive import LidarMount, Loop, LoopConfig, Mission, Observation, Rig
from resweep.drive.recording import FolderRecorder
from resweep.errors import ResweepError
from resweep.files.pieces import DamagedPieceWarning
from resweep.sweep import Sweep
from tests.drive.traffic import crossing


class Weaver:
    """An autonomy with a state: it turns the wheel by what it has seen so far."""

    def __init__(self) -> None:
        self.returns = 0
        self.mission: Mission | None = None
        self.stop_at = 10**9
        self.calls = 0

    def reset(self, mission: Mission) -> None:
        self.returns, self.mission, self.calls = 0, mission, 0

    def step(self, observation: Observation) -> tuple[float, float]:
        self.calls += 1
        if self.calls > self.stop_at:
            raise KeyboardInterrupt
        self.returns += sum(len(scan.points) for scans in observation.scans.values() for scan in scans)
        return (1.0, 0.2 * math.sin(self.returns / 20000.0))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def make(world: rs.World, rig: Rig, autonomy: Any, seconds: float = 1.0, **options: Any) -> Loop:
    given = {"start": (0.0, 0.0, 0.3), "speed_mps": 8.0, "config": LoopConfig(duration_s=seconds), "seed": 3, **options}
    return Loop(world, "passenger-car", rig, autonomy, **given)


def test_a_saved_run_is_a_log_and_replays_to_the_same_bytes(yard: rs.World, rig: Rig, tmp_path: Path) -> None:
    actor = crossing(3.0, 25.0, -8.0)
    loop = make(yard, rig, Weaver(), actors=[actor])
    run = loop.run(tmp_path / "one")
    log = rs.open_log(tmp_path / "one")
    assert len(log) == 10
    assert log.sensor is not None
    assert log.labels.known
    np.testing.assert_allclose(np.diff(log.times), 0.1)
    assert log[5].boxes is not None
    again = make(yard, rig, None, actors=[actor], threads=1)
    again.replay(tmp_path / "one", tmp_path / "two")
    make(yard, rig, Weaver(), actors=[actor]).run(tmp_path / "three")
    assert files(tmp_path / "one") == files(tmp_path / "two") == files(tmp_path / "three")
    data = json.loads((tmp_path / "one" / "run.json").read_text())
    assert len(data["states"]) == len(data["decisions"]) + 1 == 11
    assert rs.drive.load_run(tmp_path / "one").to_bytes() == run.to_bytes()


def test_an_autonomy_sees_the_same_whether_sweeps_are_kept_or_not(yard: rs.World, rig: Rig) -> None:
    seen: list[list[bytes]] = []
    for keep in (True, False):
        parts: list[bytes] = []

        def watch(observation: Observation, parts: list[bytes] = parts) -> tuple[float, float]:
            for scan in (scan for scans in observation.scans.values() for scan in scans):
                parts += [scan.points.tobytes(), scan.time.tobytes(), scan.intensity.tobytes(), scan.ring.tobytes()]
            return (0.0, 0.0)

        run = make(yard, rig, watch, 0.4, actors=[crossing(3.0, 25.0, -8.0)]).run(keep_sweeps=keep)
        assert bool(run.logs) == keep
        seen.append(parts)
    assert len(seen[0]) >= 12
    assert seen[0] == seen[1]


def test_another_seed_measures_otherwise(yard: rs.World, rig: Rig) -> None:
    one, two = (make(yard, rig, lambda observation: (0.0, 0.0), 0.2, seed=seed).run() for seed in (3, 4))
    assert not np.array_equal(one.log[0].range, two.log[0].range)


def test_a_stopped_run_goes_on_and_makes_no_sweep_twice(
    yard: rs.World, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(yard, rig, Weaver()).run(tmp_path / "whole")
    written = FolderRecorder.add_sweep
    count = 0

    def stop(self: FolderRecorder, name: str, index: int, sweep: Sweep) -> None:
        nonlocal count
        count += 1
        written(self, name, index, sweep)
        if count == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(FolderRecorder, "add_sweep", stop)
    with pytest.raises(KeyboardInterrupt):
        make(yard, rig, Weaver()).run(tmp_path / "cut")
    assert not (tmp_path / "cut").exists()
    monkeypatch.setattr(FolderRecorder, "add_sweep", written)
    simulated = []
    sweep = rs.Simulator.sweep

    def counted(self: rs.Simulator, *given: Any, **options: Any) -> Sweep:
        simulated.append(options["index"])
        return sweep(self, *given, **options)

    monkeypatch.setattr(rs.Simulator, "sweep", counted)
    make(yard, rig, Weaver()).run(tmp_path / "cut")
    assert simulated == [5, 6, 7, 8, 9]
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["journal", "no journal", "sweep", "swapped sweeps", "fifo"])
def test_a_stopped_run_goes_on_to_the_same_bytes_whatever_was_damaged(
    yard: rs.World, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    make(yard, rig, Weaver()).run(tmp_path / "whole")

    def stop(self: FolderRecorder, run: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FolderRecorder, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            make(yard, rig, Weaver()).run(tmp_path / "cut")
    partial = tmp_path / "cut.partial"
    journal, sweeps = partial / "journal.jsonl", sorted((partial / "new").rglob("*.sweep"))
    if damage == "journal":
        lines = journal.read_text().splitlines(keepends=True)
        lines[3] = lines[3].replace("0.", "1.", 1)
        journal.write_text("".join(lines))
    elif damage == "no journal":
        journal.unlink()
    elif damage == "sweep":
        sweeps[2].write_bytes(sweeps[2].read_bytes()[:-40])
    elif damage == "swapped sweeps":
        sweeps[1].rename(partial / "aside")
        sweeps[2].rename(sweeps[1])
        (partial / "aside").rename(sweeps[2])
    else:
        os.mkfifo(partial / "new" / "run.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPieceWarning)
        make(yard, rig, Weaver()).run(tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_sweeps_follow_the_true_motion(yard: rs.World, rig: Rig) -> None:
    """A car that turns hits the wall where it is: deskewed points lie on its face."""
    run = make(yard, rig, lambda observation: (0.0, 0.25), 0.6, start=(10.0, 0.0, 0.0)).run()
    sweep = run.log[4]
    assert sweep.trajectory is not None
    of_wall = sweep.label == 50
    world = sweep.deskewed() @ sweep.pose[:3, :3].T + sweep.pose[:3, 3]
    face = world[of_wall & (np.abs(world[:, 1]) < 15)]
    assert len(face) > 500
    assert abs(float(np.median(face[:, 0])) - 40.0) < 0.02
    assert float(np.abs(face[:, 0] - 40.0).mean()) < 0.05
    # As if the sensor had stood still, they do not.
    skewed = sweep.points @ sweep.pose[:3, :3].T + sweep.pose[:3, 3]
    assert float(np.abs(skewed[of_wall & (np.abs(world[:, 1]) < 15), 0] - 40.0).mean()) > 0.1
    states = run.states
    x, y = (
        np.interp(sweep.timestamp, states[:, 0], states[:, 1]),
        np.interp(sweep.timestamp, states[:, 0], states[:, 2]),
    )
    assert np.hypot(sweep.pose[0, 3] - x, sweep.pose[1, 3] - y) == pytest.approx(1.3, abs=0.02)


def test_several_lidars_keep_their_own_clocks(yard: rs.World, tmp_path: Path) -> None:
    fast = rs.load_sensor("velodyne-vlp-16").with_(rotation_rate_hz=20)
    rig = Rig(
        lidars=(
            LidarMount(name="roof", sensor="velodyne-vlp-16", position_m=(1.3, 0.0, 1.9)),
            LidarMount(name="nose", sensor=fast, position_m=(3.7, 0.0, 0.6), start_s=0.02, yaw_deg=90.0),
        )
    )
    seen: list[tuple[int, int]] = []

    def watch(observation: Observation) -> tuple[float, float]:
        seen.append((len(observation.scans["roof"]), len(observation.scans["nose"])))
        return (0.0, 0.0)

    run = make(yard, rig, watch, 0.5).run(tmp_path / "run")
    assert [len(run.logs[name]) for name in ("roof", "nose")] == [5, 9]
    assert seen == [(0, 0), (1, 1), (1, 2), (1, 2), (1, 2)]
    nose = rs.open_log(tmp_path / "run" / "nose")
    np.testing.assert_allclose(nose.times, 0.02 + 0.05 * np.arange(9), atol=1e-9)
    assert nose.sensor is not None
    # It looks to the left of the car, which heads 0.3 rad.
    heading = nose.poses[0, :2, 0]
    assert math.atan2(heading[1], heading[0]) == pytest.approx(0.3 + math.pi / 2, abs=1e-6)


def test_the_goal_ends_the_run(yard: rs.World) -> None:
    config = LoopConfig(duration_s=9.0, goal=(20.0, 0.0), goal_radius_m=1.0)
    run = make(yard, Rig(), lambda observation: (0.0, 0.0), start=(0.0, 0.0, 0.0), config=config).run()
    assert run.outcome == "goal"
    assert next(event for event in run.events if event["kind"] == "goal")["time_s"] == pytest.approx(
        19.0 / 8, abs=0.011
    )


def test_commands_take_effect_after_the_delay(yard: rs.World) -> None:
    slow = rs.drive.Vehicle(**{**rs.drive.load_vehicle("passenger-car").model_dump(), "delay_s": 0.25})
    loop = Loop(
        yard, slow, Rig(), lambda o: (-7.0, 0.0), start=(0, 0, 0), speed_mps=10.0, config=LoopConfig(duration_s=3.0)
    )
    run = loop.run()
    assert run.path_m == pytest.approx(10.0 * 0.25 + 10.0**2 / (2 * 7.0), abs=1e-6)


def test_an_actor_waits_until_the_real_ego_is_near(yard: rs.World) -> None:
    scenario = rs.Scenario(
        ego={"lane": [[0, 0], [30, 0]], "speed_mps": 5},
        actors=[{"name": "car", "asset": "suv", "lane": [[30, -10], [30, 10]], "speed_mps": 5, "start_within_m": 15.0}],
        duration_s=6.0,
    )
    loop = Loop(yard, "passenger-car", Rig(), lambda o: (0.0, 0.0), scenario=scenario, truth=True, speed_mps=2.0)
    episode = loop.episode()
    assert episode.begin().truth.actors[0][2] == pytest.approx(-10.0)
    while episode.time_s < 4.0:
        truth = episode.step((3.0, 0.0)).truth
        if np.hypot(truth.T_world_vehicle[0, 3] - 30.0, 10.0) > 15.0:
            assert truth.actors[0][2] == pytest.approx(-10.0)
    assert truth.actors[0][2] > -6.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": None}, "no duration"),
        ({"start": None}, "no start"),
        ({"start": (0.0, 1.0)}, "start: expected x, y and yaw"),
        ({"speed_mps": 99.0}, "speed_mps: 99 m/s at the start; 'passenger-car' drives at most 30"),
    ],
)
def test_what_is_missing_is_named(yard: rs.World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        make(yard, Rig(), lambda observation: (0.0, 0.0), **options)


def test_bad_rigs_and_configs_are_refused(yard: rs.World) -> None:
    inside = Rig(lidars=(LidarMount(sensor="velodyne-vlp-16", position_m=(1.0, 0.0, 1.0)),))
    with pytest.raises(ResweepError, match="lidar 'lidar': sits within the vehicle's box"):
        make(yard, inside, lambda o: (0.0, 0.0)).run()
    with pytest.raises(ResweepError, match="'a' is the name of another LiDAR"):
        Rig(lidars=[{"name": "a", "sensor": "velodyne-vlp-16", "position_m": (0, 0, 2)}] * 2)
    with pytest.raises(ResweepError, match=r"physics_step_s: 0\.03 s does not divide"):
        LoopConfig(physics_step_s=0.03)
    with pytest.raises(ResweepError, match="autonomy: expected a callable"):
        make(yard, Rig(), 7)
    with pytest.raises(ResweepError, match="it has no autonomy"):
        make(yard, Rig(), None).run()


def test_nothing_is_overwritten_unasked(yard: rs.World, tmp_path: Path) -> None:
    loop = make(yard, Rig(), lambda o: (0.0, 0.0), 0.2)
    loop.run(tmp_path / "run")
    with pytest.raises(ResweepError, match="exists and is not empty"):
        loop.run(tmp_path / "run")
    loop.run(tmp_path / "run", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(ResweepError, match="is no run"):
        loop.run(tmp_path / "mine", overwrite=True)


def test_what_all_sweeps_of_a_sensor_share_is_found_once(yard: rs.World, rig: Rig, monkeypatch: Any) -> None:
    """A look-up of a sensor's pulses hashes its whole spec, which is left out of the steps."""
    episode = make(yard, rig, None, actors=[crossing(3.0, 25.0, -8.0)]).episode()
    episode.step((0.0, 0.0))
    for module in ("resweep.drive.sensing.lidars", "resweep.simulate.simulator"):
        monkeypatch.setattr(f"{module}.fire", None)
    assert len(episode.step((0.0, 0.0)).scans["lidar"]) == 1
