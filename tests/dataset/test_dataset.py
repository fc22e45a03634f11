"""Datasets: right boxes and labels, the layouts, and runs that go on where they were stopped."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.dataset import DatasetPlan, generate, load_plan
from resweep.dataset.actor_annotations import Annotations, annotate
from resweep.dataset.dataset_plan import PLANS, list_runs
from resweep.files.pieces import DamagedPieceWarning
from resweep.pose import inverse, transform
from resweep.scenes import ground_plane
from resweep.sensors import Sensor

SCENARIO: dict[str, Any] = {
    "name": "pass",
    "ego": {"lane": [[-30, -1.3], [0, -1.3]], "speed_mps": 8},
    "duration_s": 0.45,
    "actors": [
        {"name": "bus", "asset": "bus", "lane": [[-8, 1.05], [-50, 1.05]], "speed_mps": 10},
        {"name": "hidden", "asset": "hatchback", "at": [4, 1.2]},
        {"name": "cone", "asset": "cone", "at": [-20, -0.6], "allow_overlap": True},
    ],
}


def plan(**changes: Any) -> DatasetPlan:
    fields: dict[str, Any] = {
        "worlds": ["scene:street"],
        "sensors": ["velodyne-vlp-16"],
        "scenarios": [SCENARIO],
        "sweeps": 3,
    }
    return DatasetPlan(**{**fields, **changes})


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "data"
    generate(plan(), folder, workers=2)
    return folder


@pytest.fixture(scope="module")
def quiet() -> Sensor:
    return rs.load_sensor("velodyne-vlp-16").with_(**{"receiver.range_noise_sigma_m": 0.0, "beam.rays": "single"})


@pytest.fixture(scope="module")
def passing(quiet: Sensor) -> tuple[rs.Simulator, rs.Trajectory]:
    """On bare ground, a bus that comes towards the sensor and a car behind it."""
    world = rs.World([ground_plane((200, 60), label=40)])
    trajectory, actors = rs.Scenario(**SCENARIO).place(world)
    return rs.Simulator(world, quiet, actors=actors), trajectory


def annotated(passing: tuple[rs.Simulator, rs.Trajectory], at: int) -> tuple[rs.Sweep, Annotations]:
    simulator, trajectory = passing
    sweep = simulator.sweep(trajectory, start=0.1 * at, index=at)
    names = {actor.instance: actor.name for actor in simulator.actors}
    return sweep, annotate(simulator, sweep, at, names)


def test_a_box_holds_exactly_the_returns_of_its_instance(passing: tuple[rs.Simulator, rs.Trajectory]) -> None:
    simulator, _ = passing
    checked = 0
    for at in range(3):
        sweep, found = annotated(passing, at)
        points = sweep.deskewed()
        for row, instance in enumerate(found.boxes.track.tolist()):
            own = sweep.instance == instance
            assert own.sum() == found.boxes.n_points[row]
            if not own.any():  # all of it is hidden
                continue
            checked += 1
            speed = np.linalg.norm(found.boxes.velocity[row])
            moved = float(speed * np.abs(sweep.time[own] - found.time_s[row]).max())
            assert moved < 0.25  # a box at the sweep's start would be up to a metre off
            inside = found.boxes.contains(points, moved + 2e-3)[row]
            assert inside[own].all()
            assert not inside[~own & (sweep.label != 40)].any()
    assert checked >= 6
    # In the actor's own frame, at each return's own time, its bounds hold all of them to a millimetre.
    sweep, _ = annotated(passing, 0)
    for actor in simulator.actors:
        own = sweep.instance == actor.instance
        if not own.any():
            continue
        poses = np.stack([actor.pose_at(time) for time in sweep.time[own]])
        local = transform(inverse(poses), sweep.world_points()[own])
        assert (local >= actor.bounds[0] - 2e-3).all()
        assert (local <= actor.bounds[1] + 2e-3).all()


def test_occlusion_agrees_with_each_object_alone(passing: tuple[rs.Simulator, rs.Trajectory]) -> None:
    simulator, trajectory = passing
    sweep, found = annotated(passing, 1)
    nothing = rs.World([rs.Mesh(np.array([[0, 0, -500], [1, 0, -500], [0, 1, -500.0]]), np.array([[0, 1, 2]]))])
    for row, actor in enumerate(simulator.actors):
        alone = rs.Simulator(nothing, simulator.sensor, actors=[actor]).sweep(trajectory, start=0.1, index=1)
        assert found.unoccluded[row] == (alone.instance == actor.instance).sum()
        seen = (sweep.instance == actor.instance).sum()
        assert found.occlusion[row] == pytest.approx(1 - seen / found.unoccluded[row])
    by_name = dict(zip(found.boxes.name, found.occlusion, strict=True))
    assert by_name["hidden"] > 0.3 > by_name["bus"]


def test_instances_and_classes_stay_the_same_over_sweeps(written: Path) -> None:
    run = written / "sequences" / "00"
    seen: dict[int, set[tuple[str, int]]] = {}
    for at in range(3):
        objects = json.loads((run / "boxes" / f"{at:06d}.json").read_text())["objects"]
        packed = np.fromfile(run / "labels" / f"{at:06d}.label", "<u4")
        velocity = np.fromfile(run / "velocity" / f"{at:06d}.bin", "<f4").reshape(-1, 3)
        times = np.fromfile(run / "time" / f"{at:06d}.bin", "<f4")
        assert len(packed) == len(velocity) == len(times) == (run / "velodyne" / f"{at:06d}.bin").stat().st_size // 16
        for item in objects:
            own = packed >> 16 == item["track"]
            assert own.sum() == item["n_points"]
            assert set((packed[own] & 0xFFFF).tolist()) <= {item["label"]}
            seen.setdefault(item["track"], set()).add((item["name"], item["label"]))
            assert (item["label"] == 257) == (item["name"] == "bus")  # SemanticKITTI's id for buses in motion
            if item["name"] == "bus":
                assert np.linalg.norm(velocity[own], axis=1) == pytest.approx(10.0, rel=0.01)
    assert sorted(next(iter(names))[0] for names in seen.values()) == ["bus", "car", "cone"]
    assert all(len(names) == 1 for names in seen.values())


def test_a_stopped_run_goes_on_to_the_same_bytes(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = tmp_path / "again"

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[generate.__module__], "write_dataset", stop)
        with pytest.raises(KeyboardInterrupt):
            generate(plan(), again, workers=1)
    run = again / "sequences" / "00"
    for file in ("boxes/000001.json", "labels/000001.label", "poses.txt"):
        (run / file).unlink()
    (run / "velodyne" / "000001.bin.part").write_bytes(b"half")
    damaged = run / "velodyne" / "000002.bin"
    damaged.write_bytes(damaged.read_bytes()[:-16] + bytes(16))
    with pytest.warns(DamagedPieceWarning, match=r"000002\.bin is damaged: computed again"):
        assert generate(plan(), again, workers=1).resumed == 1
    assert digests(again) == digests(written)
    assert not (tmp_path / "again.partial").exists()


def test_other_settings_and_other_folders_are_refused(written: Path, tmp_path: Path) -> None:
    before = digests(written)
    with pytest.raises(rs.ResweepError, match=r"written with other settings \(plan.seed was 0, is now 1\)"):
        generate(plan(seed=1), written)
    assert digests(written) == before
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(rs.ResweepError, match="holds no dataset"):
        generate(plan(), tmp_path)


def test_a_semantickitti_run_reads_back(written: Path) -> None:
    log = rs.open_log(written / "sequences" / "00", empty_beams=False)
    assert len(log) == 3
    assert log.poses[1][0, 3] - log.poses[0][0, 3] == pytest.approx(0.8, abs=1e-6)
    assert (log[0].instance > 600).sum() > 100


def test_kitti_boxes_read_back_where_they_were(tmp_path: Path) -> None:
    generate(plan(layout="kitti", sweeps=2), tmp_path / "out")
    sweep = rs.open_log(tmp_path / "out" / "training", empty_beams=False)[0]
    objects = json.loads((tmp_path / "out" / "0000" / "boxes" / "000000.json").read_text())["objects"]
    expected = [item for item in objects if item["n_points"] > 0 and item["centre"][0] > 0]  # the image looks ahead
    assert sweep.boxes is not None
    assert len(sweep.boxes) == len(expected) >= 2
    assert sweep.boxes.centre == pytest.approx(np.array([item["centre"] for item in expected]), abs=2e-4)
    assert np.cos(sweep.boxes.yaw - [item["yaw"] for item in expected]) == pytest.approx(1.0, abs=1e-6)
    assert sweep.boxes.size == pytest.approx(np.array([item["size"] for item in expected]), abs=1e-4)


def test_a_nuscenes_dataset_is_one_dataroot(tmp_path: Path) -> None:
    chosen = plan(layout="nuscenes", sweeps=2, sensors=["velodyne-vlp-16", "velodyne-hdl-32e"])
    out = tmp_path / "out"
    generate(chosen, out)
    tables = {file.stem: json.loads(file.read_text()) for file in (out / "v1.0-resweep").glob("*.json")}
    assert tables["splits"] == {"all": ["dataset-0000", "dataset-0001"]}
    assert (len(tables["sample"]), len(tables["map"]), len(tables["category"])) == (4, 2, 32)
    assert len(list((out / "lidarseg" / "v1.0-resweep").iterdir())) == len(tables["lidarseg"]) == 4
    log = rs.open_log(out, scene="dataset-0001", empty_beams=False)
    assert (len(log), log.sensor, log.labels.name) == (2, rs.load_sensor("velodyne-hdl-32e"), "nuscenes-lidarseg")
    rows = tables["sample_annotation"]
    files = [out / f"{run}/boxes/{at:06d}.json" for run in ("0000", "0001") for at in range(2)]
    objects = [item for file in files for item in json.loads(file.read_text())["objects"]]
    assert [row["num_lidar_pts"] for row in rows] == [item["n_points_in_box"] for item in objects]
    assert [row["velocity_mps"] for row in rows] == [item["velocity"] for item in objects]
    hidden = [(row["visibility_token"], item["occlusion"]) for row, item in zip(rows, objects, strict=True)]
    assert all(
        token == "" if share is None else int(token) == 1 + sum(1 - share > e for e in (0.4, 0.6, 0.8))
        for token, share in hidden
    )
    first = log[0]
    assert first.boxes is not None
    assert first.boxes.name == ("vehicle.bus.rigid", "vehicle.car", "movable_object.trafficcone")
    assert first.boxes.centre == pytest.approx(np.array([item["centre"] for item in objects[6:9]]), abs=1e-6)
    assert first.intensity.max() <= 1.2  # ours again, though 0 to 255 in the files
    before = digests(out)
    (out / "v1.0-resweep" / "scene.json").unlink()
    (out / "0001" / "boxes" / "000001.json").unlink()
    assert generate(chosen, out, workers=1).resumed == 3
    assert digests(out) == before


def test_traffic_is_drawn_by_the_seed_and_runs_into_nothing(tmp_path: Path) -> None:
    traffic = {"count": [2, 3], "lanes": [[[50, 1.2], [-50, 1.2]]], "speed_mps": [4, 6]}
    chosen = plan(scenarios=[{**SCENARIO, "actors": []}], traffic=traffic, variants=2, sweeps=1)
    generate(chosen, tmp_path / "a")
    generate(chosen, tmp_path / "b", workers=1)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    first, second = ((tmp_path / f"a/sequences/0{n}/boxes/000000.json").read_text() for n in (0, 1))
    assert first != second
    assert 2 <= len(json.loads(first)["objects"]) <= 3
    with pytest.raises(rs.ResweepError, match=r"traffic.count: only \d+ of 40 actors fit"):
        generate(plan(traffic={**traffic, "count": [40, 40]}), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_the_plans_of_the_package_are_valid() -> None:
    edge, sim = (load_plan(name) for name in PLANS)
    assert len(list_runs(edge)) == 9
    with pytest.raises(rs.ResweepError, match=r"seq00.world: no such world"):
        list_runs(sim)
    with pytest.raises(rs.ResweepError, match="layout"):
        load_plan("edge-cases", {"layout": "pcd"})


def test_the_package_makes_datasets_from_python(written: Path, tmp_path: Path) -> None:
    """``rs.dataset`` is the package, whose names are those of the command."""
    (tmp_path / "plan.yaml").write_text(json.dumps(plan().model_dump(mode="json", exclude_unset=True)))
    read = rs.dataset.load_plan(tmp_path / "plan.yaml")
    assert isinstance(read, rs.dataset.DatasetPlan)
    done = rs.dataset.generate(read, tmp_path / "out", workers=1, progress=False)
    assert (done.runs, done.sweeps, done.resumed) == (1, 3, 0)
    assert digests(tmp_path / "out") == digests(written)
    for name in ("generate", "load_plan", "DatasetPlan", "Summary", "replay", "Replay"):
        assert name in rs.dataset.__all__
        assert getattr(rs.dataset, name).__doc__


def test_every_number_of_workers_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    for workers in (1, 5):
        generate(plan(), tmp_path / str(workers), workers=workers, progress=False)
        assert digests(tmp_path / str(workers)) == digests(written)


def test_sweeps_that_meet_nothing_are_warned_of(tmp_path: Path) -> None:
    blind = rs.load_sensor("velodyne-vlp-16").with_(range_min_m=0.0, range_max_m=0.5)
    (tmp_path / "blind.yaml").write_text(blind.to_yaml())
    alone = {**SCENARIO, "actors": []}
    with pytest.warns(UserWarning, match=r"beams hit anything\. .* but nothing lies in the beams' reach"):
        generate(plan(sensors=[str(tmp_path / "blind.yaml")], scenarios=[alone], sweeps=1), tmp_path / "data")
