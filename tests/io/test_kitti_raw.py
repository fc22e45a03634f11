"""KITTI raw drives: the real one in the samples, and small ones written by the letter."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.sweep import Sweep


def test_real_drive(sample_data: Path) -> None:
    log = open_log(sample_data / "kitti_raw_0051")
    assert (log.meta["format"], log.sensor_name, len(log)) == ("kitti-raw", "velodyne-hdl-64e", 10)
    assert log.trajectory.length_m == pytest.approx(13.1, abs=0.3)  # nine steps at 14.6 m/s
    sweep = log[5]
    assert len(sweep) > 100_000
    assert np.ptp(sweep.time) == pytest.approx(0.1, abs=0.001)
    assert sweep.boxes is not None
    inside = dict(zip(sweep.boxes.name, sweep.boxes.contains(sweep.deskewed()).sum(axis=1).tolist(), strict=True))
    assert inside["Cyclist"] == pytest.approx(622, abs=10)  # as many as the raw scan has in the box as it was drawn
    centre = sweep.boxes.centre[sweep.boxes.name.index("Cyclist")]
    later = log[6].boxes
    assert later is not None
    assert int(sweep.boxes.track[sweep.boxes.name.index("Cyclist")]) in later.track.tolist()
    assert np.abs(centre).max() < 50


def test_real_drive_is_deskewed_the_right_way(sample_data: Path) -> None:
    from scipy.spatial import cKDTree

    log = open_log(sample_data / "kitti_raw_0051")
    first, last = log[0], log[9]
    # Structures beside the road, seen again 13 m later under other azimuths, so under other skew.
    aside = (last.points[:, 2] > -1) & (np.abs(last.points[:, 1]) > 3) & (np.linalg.norm(last.points, axis=1) < 40)

    def distance(change: object) -> float:
        one, two = (change(sweep) for sweep in (first, last))  # type: ignore[operator]
        found, _ = cKDTree(one.world_points()).query(two.world_points()[aside][::10])
        return float(np.median(found))

    def backwards(sweep: Sweep) -> Sweep:
        return replace(sweep, beam_time=2 * sweep.timestamp - sweep.beam_time)

    right, none, wrong = (
        distance(change) for change in (lambda s: s, lambda s: replace(s, trajectory=None), backwards)
    )
    assert right < 0.95 * none < 0.95 * wrong


def make_drive(root: Path, scans: int = 3) -> Path:
    """A drive east at 10 m/s; the LiDAR stands 1 m ahead of the IMU, unturned."""
    drive = root / "2011_09_26" / "2011_09_26_drive_0001_sync"
    for folder in ("velodyne_points/data", "oxts/data"):
        (drive / folder).mkdir(parents=True)
    for kind, shift in (("", 0.0), ("_start", -0.05), ("_end", 0.05)):
        lines = [f"2011-09-26 13:02:{25.95 + 0.1 * at + shift:012.9f}" for at in range(scans)]
        (drive / "velodyne_points" / f"timestamps{kind}.txt").write_text("\n".join(lines) + "\n")
    stamps = [f"2011-09-26 13:02:{25.95 + 0.1 * at:012.9f}" for at in range(scans)]
    (drive / "oxts" / "timestamps.txt").write_text("\n".join(stamps) + "\n")
    ring = np.radians(np.arange(-179.5, 180, 1.0))
    points = np.stack([10 * np.cos(ring), 10 * np.sin(ring), np.zeros_like(ring), ring * 0 + 0.5], axis=1)
    for at in range(scans):
        points.astype("<f4").tofile(drive / "velodyne_points/data" / f"{at:010d}.bin")
        longitude = float(8.4 + np.degrees(at / (6378137.0 * np.cos(np.radians(49.0)))))
        (drive / "oxts/data" / f"{at:010d}.txt").write_text(" ".join(map(repr, [49.0, longitude, 110.0] + [0.0] * 27)))
    calib = "calib_time: now\nR: 1 0 0 0 1 0 0 0 1\nT: -1 0 0\n"
    (drive.parent / "calib_imu_to_velo.txt").write_text(calib)
    return drive


TRACKLETS = """<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>
<!DOCTYPE boost_serialization>
<boost_serialization signature="serialization::archive" version="9">
<tracklets class_id="0" tracking_level="0" version="0"><count>1</count><item_version>1</item_version>
<item class_id="1"><objectType>Van</objectType><h>2</h><w>1.5</w><l>4</l><first_frame>1</first_frame>
<poses class_id="2"><count>1</count><item_version>2</item_version>
<item><tx>5</tx><ty>-3</ty><tz>-1.7</tz><rx>0</rx><ry>0</ry><rz>0.25</rz></item></poses><finished>1</finished></item>
</tracklets></boost_serialization>
"""


def test_poses_times_and_motion(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    log = open_log(drive)
    assert "times" not in log.meta
    np.testing.assert_allclose(np.diff(log.times), 0.1, atol=1e-6)
    assert log.times[0] == pytest.approx(1317042145.95, abs=1e-6)
    np.testing.assert_allclose(log.poses[:, :3, 3], [[1, 0, 0], [2, 0, 0], [3, 0, 0]], atol=1e-6)
    sweep = log[1]
    # Facing forward at the timestamp; the left side comes a quarter turn before it, the right side after.
    azimuth = np.degrees(np.arctan2(sweep.points[:, 1], sweep.points[:, 0]))
    for angle, delay in ((0.5, 0.0), (90.5, -0.025), (-90.5, 0.025), (179.5, -0.05), (-179.5, 0.05)):
        at = int(np.abs(azimuth - angle).argmin())
        assert sweep.time[at] - sweep.timestamp == pytest.approx(delay, abs=3e-4)
        moved = sweep.deskewed()[at] - sweep.points[at]
        np.testing.assert_allclose(moved, [10 * (sweep.time[at] - sweep.timestamp), 0, 0], atol=1e-4)
    # The first and last sweeps reach out of the packets, and go on at the velocity there.
    assert log[0].deskewed()[-1, 0] - log[0].points[-1, 0] == pytest.approx(-0.5, abs=0.01)


def test_tracklets(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    (drive / "tracklet_labels.xml").write_text(TRACKLETS)
    log = open_log(drive)
    boxes = log[1].boxes
    assert boxes is not None
    # Theirs is the middle of the floor, in the raw scan: it moves with the returns around it.
    late = 0.1 * np.arctan2(3, 5) / (2 * np.pi)
    np.testing.assert_allclose(boxes.centre, [[5 + 10 * late, -3, -0.7]], atol=0.02)
    np.testing.assert_allclose(boxes.size, [[4, 1.5, 2]])
    assert (boxes.name, boxes.track.tolist()) == (("Van",), [0])
    np.testing.assert_allclose(boxes.yaw, [0.25], atol=1e-9)
    assert len(log[0].boxes or ()) == 0


def test_text_scans_of_extract_drives(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    for scan in (drive / "velodyne_points/data").glob("*.bin"):
        rows = np.fromfile(scan, "<f4").reshape(-1, 4)
        np.savetxt(scan.with_suffix(".txt"), rows, fmt="%.9g")
        scan.unlink()
    assert len(open_log(drive)[0]) == 360


def test_mistakes(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    (drive.parent / "calib_imu_to_velo.txt").rename(tmp_path / "calib.txt")
    with pytest.raises(ResweepError, match=r"calib_imu_to_velo\.txt: missing"):
        open_log(drive)
    assert len(open_log(drive, calib=tmp_path / "calib.txt")) == 3
    (tmp_path / "calib.txt").write_text("R: 2 0 0 0 1 0 0 0 1\nT: 0 0 0\n")
    with pytest.raises(ResweepError, match="no rigid pose"):
        open_log(drive, calib=tmp_path / "calib.txt")
    (drive.parent / "calib_imu_to_velo.txt").write_text("R: 1 0 0 0 1 0 0 0 1\nT: 0 0 0\n")
    (drive / "oxts/data/0000000001.txt").write_text("49.0 8.4 x 0 0 0")
    with pytest.raises(ResweepError, match=r"0000000001\.txt: no numbers"):
        open_log(drive)
    (drive / "oxts/data/0000000001.txt").write_text("49.0 8.4")
    with pytest.raises(ResweepError, match=r"0000000001\.txt: 2 values"):
        open_log(drive)


def test_keep_going_leaves_out_what_is_broken(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    scan = drive / "velodyne_points/data/0000000001.bin"
    scan.write_bytes(scan.read_bytes()[:-3])
    with pytest.raises(ResweepError, match=r"0000000001\.bin: truncated"):
        open_log(drive)[1]
    with pytest.warns(UserWarning, match=r"sweep 1 of .* left out: .*0000000001\.bin: truncated"):
        log = open_log(drive, keep_going=True)
    assert (len(log), len(log.skipped)) == (2, 1)
    assert [sweep.timestamp for sweep in log] == log.times.tolist()


def test_a_drive_without_packets_has_no_poses(tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    (drive / "oxts").rename(tmp_path / "elsewhere")
    log = open_log(drive)
    assert not log.poses_known
    np.testing.assert_array_equal(log[2].deskewed(), log[2].points)


def test_a_longer_drive_without_packets_opens_too(tmp_path: Path) -> None:
    drive = make_drive(tmp_path, 8)
    shutil.rmtree(drive / "oxts")
    log = open_log(drive)
    assert (len(log), log.poses_known) == (8, False)
    np.testing.assert_array_equal(log.poses, np.tile(np.eye(4), (8, 1, 1)))
    np.testing.assert_array_equal(log[7].pose, np.eye(4))
