"""KITTI scans and sequences, made and real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_poses, load_sweep, open_log, write_log, write_sweep
from resweep.log import Log
from resweep.sweep import Sweep


def test_bytes(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.bin", labels=True)
    rows = np.fromfile(tmp_path / "s.bin", "<f4").reshape(-1, 4)
    np.testing.assert_array_equal(rows[:, :3], sweep.deskewed())  # there is no place for motion
    np.testing.assert_array_equal(rows[:, 3], sweep.intensity)
    packed = np.fromfile(tmp_path / "s.label", "<u4")
    np.testing.assert_array_equal(packed & 0xFFFF, sweep.label)
    np.testing.assert_array_equal(packed >> 16, sweep.instance)


def test_labels_only_when_asked(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.bin")
    assert [item.name for item in tmp_path.iterdir()] == ["s.bin"]


def test_labels_of_another_scan(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.bin")
    np.zeros(len(sweep) + 1, "<u4").tofile(tmp_path / "s.label")
    with pytest.raises(ResweepError, match=r"s\.label.*belongs to another scan"):
        load_sweep(tmp_path / "s.bin")


def test_what_does_not_fit_sixteen_bits(sweep: Sweep, tmp_path: Path) -> None:
    wide = replace(sweep, instance=sweep.instance + 70_000)
    with pytest.raises(ResweepError, match=r"instance .* does not fit 16 bits"):
        write_sweep(wide, tmp_path / "s.bin", labels=True)
    write_sweep(wide, tmp_path / "s.bin", labels=True, instances=False)
    assert not load_sweep(tmp_path / "s.bin").instance.any()


def test_world_coordinates_need_more_than_float32(sweep: Sweep, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="blur world coordinates"):
        write_sweep(sweep, tmp_path / "s.bin", frame="world")


def test_points_at_the_origin_are_no_returns(tmp_path: Path) -> None:
    np.array([[1, 2, 3, 0.5], [0, 0, 0, 0], [4, 5, 6, 0.25]], "<f4").tofile(tmp_path / "s.bin")
    np.array([9, 8, 7], "<u4").tofile(tmp_path / "s.label")
    sweep = load_sweep(tmp_path / "s.bin")
    np.testing.assert_array_equal(sweep.label, [9, 7])


def test_sequence_by_the_letter(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "00", format="semantickitti", progress=False)
    assert {item.name for item in (tmp_path / "00").iterdir()} == {
        *("velodyne", "labels", "poses.txt", "calib.txt", "times.txt", "log.json")
    }
    # As the SemanticKITTI devkit reads poses: inv(Tr) · pose · Tr.
    calib = dict(line.split(":") for line in (tmp_path / "00/calib.txt").read_text().splitlines())
    Tr, pose = np.eye(4), np.eye(4)
    Tr[:3] = np.array(calib["Tr"].split(), float).reshape(3, 4)
    pose[:3] = np.loadtxt(tmp_path / "00/poses.txt")[2].reshape(3, 4)
    np.testing.assert_allclose(np.linalg.inv(Tr) @ pose @ Tr, log.poses[2], atol=1e-8)
    np.testing.assert_allclose(Tr[:3, :3] @ [1, 0, 0], [0, 0, 1])  # forward is the camera's z
    back = open_log(tmp_path / "00")
    np.testing.assert_allclose(back.poses, log.poses, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(back.times, log.times)
    np.testing.assert_allclose(back[1].points, log[1].deskewed(), atol=1e-5)
    np.testing.assert_array_equal(back[1].label, log[1].label)
    assert (back.meta["seed"], back.sensor_name, back.name) == (7, log.sensor_name, "drive")
    assert back[1].time[0] == log.times[1]
    np.testing.assert_allclose(load_poses(tmp_path / "00/poses.txt").poses, log.poses, rtol=0, atol=1e-8)


def test_sequence_with_too_few_poses(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "00", format="semantickitti", progress=False)
    poses = tmp_path / "00" / "poses.txt"
    poses.write_text("\n".join(poses.read_text().splitlines()[:2]) + "\n")
    with pytest.raises(ResweepError, match=r"poses\.txt: 2 lines, but there is a scan 000002"):
        open_log(tmp_path / "00")
    poses.unlink()
    assert not open_log(tmp_path / "00").poses_known


def test_real_sequence(sample_data: Path) -> None:
    from scipy.spatial import cKDTree

    log = open_log(sample_data / "semantickitti_mini" / "sequences" / "00")
    assert len(log) == 10
    first, last = log[0], log[9]
    assert len(first) > 100_000
    assert {10, 40}.issubset(first.label.tolist())  # cars and roads
    assert last.timestamp == pytest.approx(0.933, abs=1e-3)
    # The poses, turned from the camera's into the LiDAR's, make the two sweeps lie on each other.
    above = last.points[:, 2] > -1.2
    tree = cKDTree(first.world_points())
    placed, _ = tree.query(last.world_points()[above][::50])
    unplaced, _ = tree.query(last.points[above][::50])
    assert np.median(placed) < 0.1
    assert np.median(unplaced) > 3 * np.median(placed)
    assert log.trajectory.length_m == pytest.approx(6.6, abs=1.5)


def test_nuscenes_scans_are_not_mistaken_for_kitti(tmp_path: Path) -> None:
    np.zeros((16, 5), "<f4").tofile(tmp_path / "s.pcd.bin")  # 16 rows of five are also 20 of four
    with pytest.raises(ResweepError, match="five numbers a point"):
        open_log(tmp_path / "s.pcd.bin", format="kitti")
