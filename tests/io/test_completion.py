"""Empty beams of logs that keep only returns: found where the grid can be trusted, refused elsewhere."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from resweep.io import load_sweep, open_log, write_log
from resweep.io.empty_beams import infer_empty_beams
from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenes import SCENES
from resweep.simulate import Simulator
from resweep.sweep import BeamStatus, Sweep


@pytest.fixture(scope="module")
def street() -> Simulator:
    return Simulator(SCENES["street"](seed=0), "velodyne-vlp-16", seed=1)


def drive(street: Simulator, sensor: str, speed: float = 8.0, sweeps: int = 3) -> Log:
    simulator = street.with_sensor(sensor)
    lasts = (sweeps + 1) * simulator.sensor.sweep_period_s
    ends = np.stack([from_xyz_rpy(0, 0, 1.8), from_xyz_rpy(speed * lasts, 0, 1.8, yaw=0.03)])
    return simulator.run(Trajectory(np.array([0.0, lasts]), ends), sweeps=sweeps)


def empty(sweep: Sweep) -> Array:
    """Beams (b,) bool without return."""
    return np.bincount(sweep.beam, minlength=sweep.n_beams) == 0


def agreement(true: Array, found: Array, limit_deg: float) -> tuple[float, float]:
    """Precision and recall of directions (m, 3), right within ``limit_deg``."""
    limit = np.radians(limit_deg)
    return float(np.mean(cKDTree(true).query(found)[0] < limit)), float(np.mean(cKDTree(found).query(true)[0] < limit))


@pytest.mark.parametrize(
    ("sensor", "format"),
    [
        ("velodyne-hdl-64e", "pcd"),  # its blocks fire in turns
        ("ouster-os1-64", "pcd"),
        ("velodyne-vlp-32c", "kitti"),  # no rings, no times: found by elevation
        ("velodyne-hdl-32e", "ply"),
        ("velodyne-vlp-16", "ros2"),
    ],
)
def test_empty_beams_of_written_drives_are_found_again(
    street: Simulator, sensor: str, format: str, tmp_path: Path
) -> None:
    if format == "ros2":
        pytest.importorskip("rosbags")
    true = drive(street, sensor)
    write_log(true, tmp_path / "log", format=format, frame="sensor", progress=False)
    log = open_log(tmp_path / "log")
    step = 360.0 / len(np.unique(true[1].beam_column))
    sweep, whole = log[1], true[1]
    assert log.empty_beams.detail.startswith("inferred on ")
    assert (sweep.beam_status[empty(sweep)] == BeamStatus.NO_RETURN).all()
    assert empty(whole).sum() > 1000
    shares = agreement(whole.beam_direction[empty(whole)], sweep.beam_direction[empty(sweep)], 0.6 * step)
    assert min(shares) > 0.98
    assert sweep.n_beams == pytest.approx(whole.n_beams, rel=0.002)
    bare = open_log(tmp_path / "log", empty_beams=False)
    assert "empty_beams" not in bare.meta
    assert bare[1].n_beams == len(bare[1])
    assert bare[1].points.tobytes() == sweep.points.tobytes()
    sweep.deskewed_beams()  # every beam fired within the motion that the sweep knows


def test_points_put_into_the_world_are_taken_back_to_their_lidar(street: Simulator, tmp_path: Path) -> None:
    """PandaSet: points of a moving Pandar64 in the world, with times but without rings."""
    pd = pytest.importorskip("pandas")
    true = drive(street, "hesai-pandar64", speed=15.0)
    folder = tmp_path / "001" / "lidar"
    folder.mkdir(parents=True)
    for at, sweep in enumerate(true):
        frame = pd.DataFrame(dict(zip("xyz", sweep.world_points().T, strict=True)))
        frame["i"], frame["t"], frame["d"] = sweep.intensity, sweep.time, 0
        (folder / f"{at:02d}.pkl.gz").write_bytes(gzip.compress(pickle.dumps(frame), 1))
    names = ("x", "y", "z", "w")
    turns = Rotation.from_matrix(true.poses[:, :3, :3]).as_quat().tolist()
    records = [
        {
            "position": dict(zip("xyz", pose[:3, 3].tolist(), strict=True)),
            "heading": dict(zip(names, turn, strict=True)),
        }
        for pose, turn in zip(true.poses, turns, strict=True)
    ]
    (folder / "poses.json").write_text(json.dumps(records))
    (folder / "timestamps.json").write_text(json.dumps(true.times.tolist()))
    log = open_log(tmp_path / "001")
    sweep, whole = log[1], true[1]
    assert log.empty_beams.detail == "inferred on 64 rings x 1800 columns, rings by elevation"
    origin, direction = whole.deskewed_beams()
    assert min(agreement(direction[empty(whole)], sweep.beam_direction[empty(sweep)], 0.12)) > 0.98
    # The LiDAR moved 1.5 m in the sweep: its empty beams begin where it was.
    _, same = cKDTree(direction[empty(whole)]).query(sweep.beam_direction[empty(sweep)])
    error = np.linalg.norm(sweep.beam_origin[empty(sweep)] - origin[empty(whole)][same], axis=1)
    assert np.ptp(origin[empty(whole)][:, 0]) > 1.0
    assert np.quantile(error, 0.99) < 0.05


@pytest.mark.parametrize("sensor", ["livox-mid-360", "livox-avia"])
def test_what_is_no_grid_stays_as_it_is(street: Simulator, sensor: str, tmp_path: Path) -> None:
    write_log(drive(street, sensor), tmp_path / "log", format="pcd", progress=False)
    log = open_log(tmp_path / "log")
    assert log[1].n_beams == len(log[1])
    assert "not inferred: only" in log.empty_beams.detail


def test_thinned_clouds_are_refused(street: Simulator) -> None:
    """Points that were left out were no empty beams."""
    rng = np.random.default_rng(0)
    bare = [Sweep.from_points(s.points, ring=s.ring, time=s.time) for s in drive(street, "velodyne-vlp-16")]
    log = infer_empty_beams(Log.from_sweeps([s.select_beams(rng.random(s.n_beams) < 0.5) for s in bare]))
    assert log[0].n_beams == len(log[0])
    assert log.empty_beams.detail.startswith("not inferred: ")


def test_a_damaged_sweep_does_not_hide_the_grid(street: Simulator, tmp_path: Path) -> None:
    write_log(drive(street, "velodyne-vlp-16"), tmp_path / "log", format="pcd", progress=False)
    file = tmp_path / "log" / "000000.pcd"
    file.write_bytes(file.read_bytes()[:-100])
    log = open_log(tmp_path / "log")
    assert log[1].n_beams > len(log[1])


def recall(sweep: Sweep, points: Array, limit_deg: float = 0.12) -> float:
    """Share of ``points`` (n, 3) that an empty beam of ``sweep`` points at, seen from where it begins."""
    there = empty(sweep)
    direction, origin = sweep.beam_direction[there].astype(np.float64), sweep.beam_origin[there].astype(np.float64)
    ranges = np.linalg.norm(points, axis=1)
    # Beams meet points at the points' own ranges: lasers need not fire from the frame's origin.
    found = np.zeros(len(points), bool)
    for low, high in zip((2, 4, 6, 9, 13, 20, 30, 50), (4, 6, 9, 13, 20, 30, 50, 200), strict=True):
        rows = np.flatnonzero((ranges > low) & (ranges <= high))
        tree = cKDTree(origin + 0.5 * (low + high) * direction)
        _, near = tree.query(points[rows], k=40)
        away = points[rows][:, None] - origin[near]
        away /= np.linalg.norm(away, axis=2, keepdims=True)
        found[rows] = (np.linalg.norm(away - direction[near], axis=2) < np.radians(limit_deg)).any(axis=1)
    return float(found[ranges > 2].mean())


@pytest.mark.parametrize(("name", "least"), [("semantickitti_mini/sequences/00", 0.97), ("kitti_raw_0051", 0.98)])
def test_returns_of_kitti_held_out_come_back_as_empty_beams(
    sample_data: Path, name: str, least: float, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    shutil.copytree(sample_data / name, path, ignore=shutil.ignore_patterns("labels"))
    held: dict[int, Array] = {}
    for at, file in enumerate(sorted(path.rglob("*.bin"))):
        if at > 2:
            file.unlink()
            continue
        rows = np.fromfile(file, "<f4").reshape(-1, 4)
        keep = np.random.default_rng(at).random(len(rows)) > 0.1
        held[at] = rows[~keep, :3].astype(np.float64)
        rows[keep].tofile(file)
    log, before = open_log(path), open_log(sample_data / name)
    assert log.empty_beams.detail.startswith("inferred on 64 rings")
    sweep, whole = log[1], before[1]
    assert recall(sweep, held[1]) > least
    assert sweep.n_beams == pytest.approx(whole.n_beams, rel=0.003)
    assert 0.03 < empty(whole).mean() < 0.15


def test_returns_of_two_lidars_held_out_come_back_as_empty_beams(sample_data: Path, tmp_path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    path = tmp_path / "log"
    shutil.copytree(sample_data / "argoverse2" / "7fab2350", path)
    held: list[Array] = []
    for file in sorted((path / "sensors" / "lidar").glob("*.feather")):
        table = feather.read_table(file)
        keep = np.random.default_rng(0).random(len(table)) > 0.1
        held.append(np.stack([np.asarray(table[axis], np.float64)[~keep] for axis in "xyz"], axis=1))
        feather.write_feather(table.filter(keep), file)
    log, before = open_log(path), open_log(sample_data / "argoverse2" / "7fab2350")
    assert "32 rings x 1812 columns and 32 rings x 18" in before.empty_beams.detail
    sweep, whole = log[0], before[0]
    # Points stand in the vehicle's frame: ranges are from its rear axle.
    centred = replace(sweep, beam_origin=sweep.beam_origin - np.float32([1.35, 0, 1.6]))
    assert recall(centred, held[0] - [1.35, 0, 1.6]) > 0.98
    assert sweep.n_beams == pytest.approx(whole.n_beams, rel=0.003)
    # What returned nothing looks at the sky: no beam of the up LiDAR goes at the ground near the car.
    up = empty(whole) & (whole.beam_ring < 32)
    assert np.median(whole.beam_direction[up, 2]) > 0
    assert {round(float(z), 1) for z in whole.beam_origin[empty(whole)][:, 2]} == {1.5, 1.6}
    shots = np.bincount(whole.beam_ring, minlength=64)
    assert np.sum(np.abs(shots - 1805) < 15) >= 62  # the car hides a part of the lowest ring


def test_empty_beams_of_a_standing_lidar_lie_on_the_beams_of_other_sweeps(sample_data: Path) -> None:
    """The same grid turns again and again: where one sweep is empty, another may have a return."""
    scans = np.load(sample_data / "norlab_outdoor14" / "scans.npz")
    bare = [
        Sweep.from_points(scans[f"xyz_{at:02d}"], time=0.1 * at + 1e-9 * scans[f"t_{at:02d}"], timestamp=0.1 * at)
        for at in range(4)
    ]
    log = infer_empty_beams(Log.from_sweeps(bare))
    one, other = log[0], bare[3]
    assert log.empty_beams.detail.startswith("inferred on 32 rings x 18")
    assert 0.15 < empty(one).mean() < 0.3
    grid = cKDTree(one.beam_direction)  # beams of sweep 0, returned or not
    apart, at = grid.query(other.beam_direction)
    assert np.mean(empty(one)[at]) > 0.01
    assert np.mean(np.degrees(apart[empty(one)[at]]) < 0.15) > 0.9


def test_empty_cells_of_an_organised_cloud_become_beams(sample_data: Path, tmp_path: Path) -> None:
    """A whole OS1-64 image, 41 % of it zeros, as a driver writes it: row by row, without a ring field."""
    image = np.fromfile(sample_data / "rellis3d_frame" / "000104.bin", "<f4").reshape(2048, 64, 4)
    rows = np.ascontiguousarray(image.transpose(1, 0, 2)).reshape(-1, 4)
    header = "VERSION 0.7\nFIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2048\nHEIGHT 64\n"
    file = tmp_path / "image.pcd"
    zero = ~rows[:, :3].any(axis=1)
    for fill in (0.0, np.nan):
        rows[zero, :3] = fill
        file.write_bytes((header + f"POINTS {len(rows)}\nDATA binary\n").encode() + rows.tobytes())
        sweep = load_sweep(file)
        assert len(sweep) == (~zero).sum()
        cell = sweep.beam_ring[empty(sweep)].astype(int) * 2048 + sweep.beam_column[empty(sweep)]
        assert np.isin(cell, np.flatnonzero(zero)).all()
        assert len(cell) > 0.98 * zero.sum()
    assert open_log(file).empty_beams.source == "stored"
    # Returns held out as zeros come back where they were.
    known = np.flatnonzero(~zero)
    held = np.random.default_rng(0).choice(known, len(known) // 10, replace=False)
    true = rows[held, :3] / np.linalg.norm(rows[held, :3], axis=1, keepdims=True)
    rows[held, :3] = 0.0
    file.write_bytes((header + f"POINTS {len(rows)}\nDATA binary\n").encode() + rows.tobytes())
    again = load_sweep(file)
    cell = again.beam_ring.astype(int) * 2048 + again.beam_column
    order = np.argsort(cell[empty(again)])
    at = order[np.searchsorted(cell[empty(again)][order], held)]
    error = np.degrees(np.linalg.norm(again.beam_direction[empty(again)][at] - true, axis=1))
    assert np.mean(error < 0.1) > 0.97


def test_a_real_nuscenes_scan_tells_its_empty_beams_and_its_way(sample_data: Path) -> None:
    (file,) = (sample_data / "nuscenes_keyframe_mmdet3d").glob("*.pcd.bin")
    sweep = load_sweep(file)
    assert sweep.n_beams == 34688
    assert empty(sweep).mean() == pytest.approx(0.127, abs=0.01)
    assert (np.bincount(sweep.beam_ring) == 1084).all()
    # Seen from where the LiDAR was, ranges are whole steps of 2 mm again, as the HDL-32E measures them.
    near = sweep.range[sweep.range < 5]
    assert np.abs(np.mean(np.exp(2j * np.pi * near / 0.002))) > 0.9
    assert np.ptp(sweep.beam_origin[:, 1]) == pytest.approx(0.452, abs=0.01)
    # And every laser keeps its elevation.
    for ring, elevation in ((0, -30.67), (15, -10.67), (31, 10.67)):
        seen = np.degrees(np.arcsin(sweep.beam_direction[sweep.beam_ring == ring, 2]))
        assert np.abs(np.median(seen) - elevation) < 0.05
        assert np.quantile(seen, 0.95) - np.quantile(seen, 0.05) < 0.12
    stored = np.fromfile(file, "<f4").reshape(-1, 5)
    assert cKDTree(stored[:, :3]).query(sweep.points)[0].max() < 1e-5


def moving_firings(columns: int, lasers: int) -> tuple[np.ndarray, ...]:
    """Column and ring (n,) of the firings of an HDL-32E that moves, their azimuth (n,), direction and origin (n, 3)."""
    column, ring = (index.ravel() for index in np.indices((columns, lasers)))
    elevation, azimuth = np.radians(-30.67 + 41.34 / 31 * ring), np.radians(-360.0 / columns * column)
    level = np.cos(elevation)
    direction = np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=1)
    return column, ring, azimuth, direction, np.outer(column / columns - 1.0, [0.02, 0.5, 0.0])


def test_whole_firings_of_a_written_nuscenes_scan(tmp_path: Path) -> None:
    """32 lasers in a moving box of walls; beams above it return nothing."""
    columns, lasers = 700, 32
    _, ring, azimuth, direction, origin = moving_firings(columns, lasers)
    distance = np.where(ring > 25, 0.0, 8.0 + 2.0 * np.sin(3 * azimuth))
    rows = np.column_stack([origin + distance[:, None] * direction, np.full(len(ring), 9.0), ring])
    rows.astype("<f4").tofile(tmp_path / "scan.pcd.bin")
    sweep = load_sweep(tmp_path / "scan.pcd.bin")
    assert (sweep.n_beams, len(sweep)) == (columns * 26, columns * 26)  # six rings without any return have no place
    rows[::7, :3] = np.where(ring[::7, None] > 25, rows[::7, :3], origin[::7])
    rows.astype("<f4").tofile(tmp_path / "scan.pcd.bin")
    sweep = load_sweep(tmp_path / "scan.pcd.bin")
    there = empty(sweep)
    assert there.sum() == np.sum(ring[::7] <= 25)
    cell = sweep.beam_column * lasers + sweep.beam_ring
    np.testing.assert_allclose(sweep.beam_direction, direction[cell], atol=2e-3)
    np.testing.assert_allclose(sweep.beam_origin, origin[cell], atol=1e-4)
    np.testing.assert_allclose(sweep.range, distance[cell[sweep.beam]], atol=1e-4)


def test_firings_in_a_converted_folder_get_their_rings_again(tmp_path: Path) -> None:
    """The scans of the test above without their rings, in a folder like KITTI's; other points stay bare."""
    columns, lasers = 700, 32
    column, ring, azimuth, direction, origin = moving_firings(columns, lasers)
    distance = np.where((ring > 20) & (column % 7 == 0), 0.0, 12.0 + 4.0 * np.sin(3 * azimuth))
    rows = np.column_stack([origin + distance[:, None] * direction, np.full(len(ring), 0.5)]).astype("<f4")
    folder = tmp_path / "scene" / "velodyne_points" / "data"
    folder.mkdir(parents=True)
    rows.tofile(folder / "0000000000.bin")
    rows[np.random.default_rng(0).permutation(len(rows))].tofile(folder / "0000000001.bin")
    log = open_log(tmp_path / "scene")
    sweep = log[0]
    cell = sweep.beam_column * lasers + sweep.beam_ring
    assert np.array_equal(np.sort(cell), np.arange(columns * lasers))
    assert empty(sweep).sum() == (distance == 0).sum()
    np.testing.assert_allclose(sweep.beam_direction, direction[cell], atol=2e-3)
    np.testing.assert_allclose(sweep.beam_origin, origin[cell], atol=1e-4)
    assert log[1].beam_ring.max() == 0


def test_a_converted_nuscenes_scene_has_rings_and_empty_beams(sample_data: Path) -> None:
    sweep = open_log(sample_data / "nuscenes_scene_kitti")[8]
    assert (sweep.n_beams, len(sweep)) == (34752, 28974)
    assert (np.bincount(sweep.beam_ring) == 1086).all()
    assert np.ptp(sweep.beam_origin[:, 1]) == pytest.approx(0.206, abs=0.01)  # 4 m/s, 50 ms
