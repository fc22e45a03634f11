"""nuScenes: single scans, and tables written by the letter of the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.cli import main
from resweep.errors import ResweepError
from resweep.io import load_sweep, open_log
from resweep.io.datasets.nuscenes.tables import read_records
from resweep.pose import from_xyz_rpy


def test_real_scan(sample_data: Path) -> None:
    (file,) = (sample_data / "nuscenes_keyframe_mmdet3d").glob("*.pcd.bin")
    sweep = load_sweep(file)
    assert (sweep.n_beams, len(np.unique(sweep.ring)), sweep.sensor) == (34688, 32, "velodyne-hdl-32e")
    # Ring 0 looks down the most, ring 31 up the most (HDL-32E: -30.67 to 10.67 degrees).
    far = sweep.range > 3
    elevation = np.degrees(np.arcsin(sweep.beam_direction[sweep.beam, 2]))
    low, high = (np.median(elevation[far & (sweep.ring == ring)]) for ring in (0, 31))
    assert low == pytest.approx(-30.67, abs=0.7)
    assert high == pytest.approx(10.67, abs=0.7)
    log = open_log(file.parent)  # a folder of such scans is a log, at the times of their names
    assert (len(log), log.times[0]) == (1, pytest.approx(1532402927.647951, abs=1e-6))


def dump(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> None:
    folder.mkdir(parents=True)
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text(json.dumps(rows, indent=0))


def make_dataset(root: Path) -> Path:
    """Two scenes; in the first two keyframes with a sweep between them, one car, lidarseg on the first."""
    yaw90 = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    samples = [
        {"token": f"s{at}", "timestamp": 1_532_402_927_000_000 + 500_000 * at, "scene_token": scene}
        for at, scene in enumerate(("a", "a", "b"))
    ]
    ego = [
        {"token": f"e{at}", "timestamp": 0, "translation": [600.0 + at, 1600.0, 0.0], "rotation": [1.0, 0, 0, 0]}
        for at in range(4)
    ]
    mounts = [
        {"token": "top", "sensor_token": "lidar", "translation": [0.9, 0.0, 1.8], "rotation": yaw90},
        {"token": "cam", "sensor_token": "camera", "translation": [1.7, 0.0, 1.5], "rotation": [1.0, 0, 0, 0]},
    ]
    data = []
    for token, sample, pose, mount, time, key in (
        ("d0", "s0", "e0", "top", 0, True),
        ("d1", "s0", "e1", "top", 250_000, False),
        ("d2", "s1", "e2", "top", 500_000, True),
        ("d3", "s2", "e3", "top", 900_000, True),
        ("c0", "s0", "e0", "cam", 10_000, True),
    ):
        name = f"{'samples' if key else 'sweeps'}/LIDAR_TOP/{token}.pcd.bin"
        row = {"token": token, "sample_token": sample, "ego_pose_token": pose, "calibrated_sensor_token": mount}
        stamp = 1_532_402_927_000_000 + time
        data.append({**row, "timestamp": stamp, "is_key_frame": key, "filename": name, "fileformat": "pcd"})
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        rows = [[0, 10, -1, 30, 7], [1, 2, 3, 40, 31], [0, 0, 0, 0, 0], [-5, 1, 2, 50, 12]]
        np.array(rows, "<f4").tofile(root / name)
    annotation = {
        **{"token": "n0", "sample_token": "s0", "instance_token": "i0", "size": [2.0, 4.5, 1.6]},
        **{"translation": [610.9, 1600.0, 0.8], "rotation": [1.0, 0, 0, 0], "num_lidar_pts": 1},
    }
    (root / "lidarseg/v1.0-mini").mkdir(parents=True)
    np.array([17, 30, 0, 24], np.uint8).tofile(root / "lidarseg/v1.0-mini/d0_lidarseg.bin")
    tables: dict[str, list[dict[str, Any]]] = {
        "scene": [{"token": "a", "name": "scene-0061"}, {"token": "b", "name": "scene-0103"}],
        "sample": samples,
        "ego_pose": ego,
        "calibrated_sensor": mounts,
        "sensor": [{"token": "lidar", "channel": "LIDAR_TOP"}, {"token": "camera", "channel": "CAM_FRONT"}],
        "sample_data": data,
        "sample_annotation": [annotation],
        "instance": [{"token": "i0", "category_token": "k0"}],
        "category": [{"token": "k0", "name": "vehicle.car"}],
        "lidarseg": [{"token": "d0", "sample_data_token": "d0", "filename": "lidarseg/v1.0-mini/d0_lidarseg.bin"}],
    }
    dump(root / "v1.0-mini", tables)
    return root


def test_scene(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "nuscenes")
    log = open_log(root, scene="scene-0061")
    assert (log.meta["format"], log.name, len(log)) == ("nuscenes", "scene-0061", 3)
    np.testing.assert_allclose(log.times - 1_532_402_927, [0, 0.25, 0.5], atol=1e-6)
    # T_world_sensor = ego_pose · calibrated_sensor; the LiDAR's y looks forward.
    np.testing.assert_allclose(log.poses[2], from_xyz_rpy(602.9, 1600, 1.8, yaw=np.pi / 2), atol=1e-9)
    first = log[0]
    np.testing.assert_array_equal(first.label, [17, 30, 24])  # the empty point at 0 0 0 went with its label
    np.testing.assert_array_equal(first.ring, [7, 31, 12])
    assert first.boxes is not None
    np.testing.assert_allclose(first.boxes.centre, [[0, -10, -1]], atol=1e-9)
    np.testing.assert_allclose(first.boxes.size, [[4.5, 2.0, 1.6]])
    assert (first.boxes.name, first.boxes.yaw[0]) == (("vehicle.car",), pytest.approx(-np.pi / 2))
    assert log[1].boxes is None  # between keyframes nothing is annotated
    assert len(log[2].boxes or ()) == 0
    assert len(open_log(root, scene="scene-0061", keyframes_only=True)) == 2
    assert len(open_log(root / "v1.0-mini", scene="scene-0103")) == 1


def test_panoptic_labels(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "nuscenes")
    (root / "panoptic").mkdir()
    np.savez_compressed(root / "panoptic/d0.npz", data=np.array([17003, 30000, 0, 24001], np.uint16))
    row = {"token": "d0", "sample_data_token": "d0", "filename": "panoptic/d0.npz"}
    (root / "v1.0-mini/panoptic.json").write_text(json.dumps([row]))
    sweep = open_log(root, scene="scene-0061")[0]
    np.testing.assert_array_equal(sweep.label, [17, 30, 24])
    np.testing.assert_array_equal(sweep.instance, [3, 0, 1])


def test_mistakes(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "nuscenes")
    with pytest.raises(ResweepError, match=r"choose one with scene= \(it has scene-0061, scene-0103\)"):
        open_log(root)
    with pytest.raises(ResweepError, match=r"no scene 'scene-0060'; did you mean 'scene-0061'"):
        open_log(root, scene="scene-0060")
    with pytest.raises(ResweepError, match="no LIDAR_BACK scan"):
        open_log(root, scene="scene-0061", channel="LIDAR_BACK")
    np.zeros(3, np.uint8).tofile(root / "lidarseg/v1.0-mini/d0_lidarseg.bin")
    with pytest.raises(ResweepError, match=r"d0_lidarseg\.bin: 3 labels for 4 points"):
        open_log(root, scene="scene-0061")[0]
    scan = root / "samples/LIDAR_TOP/d2.pcd.bin"
    scan.write_bytes(scan.read_bytes()[:-4])
    with pytest.raises(ResweepError, match=r"d2\.pcd\.bin: truncated"):
        open_log(root, scene="scene-0061")[2]
    table = root / "v1.0-mini/ego_pose.json"
    table.write_text(table.read_text()[:-40])
    with pytest.raises(ResweepError, match=r"ego_pose\.json: truncated"):
        open_log(root, scene="scene-0061")


def test_tables_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"token": str(at), "text": "[{,]}" * (at % 7)} for at in range(200)]
    for indent in (None, 2):
        (tmp_path / "t.json").write_text(json.dumps(rows, indent=indent))
        for block in (1, 17, 1000):
            monkeypatch.setattr("resweep.io.datasets.nuscenes.tables._BLOCK", block)
            assert list(read_records(tmp_path / "t.json")) == rows


def test_a_scene_is_opened_like_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_dataset(tmp_path / "nuscenes")
    assert (len(open_log(root / "scene-0061")), len(open_log(root / "scene-0103"))) == (3, 1)
    with pytest.raises(ResweepError, match=r"or open .*nuscenes/NAME"):
        open_log(root)
    with pytest.raises(ResweepError, match=r"no scene 'scene-0062'; did you mean 'scene-0061'"):
        open_log(root / "scene-0062")
    with pytest.raises(ResweepError, match="no such file or folder"):
        open_log(tmp_path / "absent" / "scene-0061")
    for args in (["info", root / "scene-0061"], ["convert", root / "scene-0061", tmp_path / "out", "-f", "pcd"]):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in args])
        assert ended.value.code == 0
    assert "scene-0061" in capsys.readouterr().out
    assert len(open_log(tmp_path / "out")) == 3


def test_scenes_of_one_name_can_both_be_read(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "nuscenes")
    file = root / "v1.0-mini/scene.json"
    file.write_text(file.read_text().replace("scene-0103", "scene-0061"))
    assert len(open_log(root, scene="scene-0061")) == 3
    assert len(open_log(root, scene="scene-0061-b")) == 1
