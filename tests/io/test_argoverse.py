"""Argoverse 1 and 2 logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.pose import Array


def test_real_argoverse2(sample_data: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    path = sample_data / "argoverse2" / "7fab2350"
    log = open_log(path)
    assert (log.meta["format"], len(log)) == ("argoverse2", 2)
    sweep = log[0]
    assert (len(sweep), len(np.unique(sweep.ring))) == (99229, 64)
    assert sweep.timestamp == pytest.approx(315966265.259836, abs=1e-6)
    assert 0.1 < np.ptp(sweep.time) < 0.11
    # Every box holds as many points as its annotators counted.
    table = feather.read_table(path / "annotations.feather")
    here = np.asarray(table["timestamp_ns"]) == 315966265259836000
    assert sweep.boxes is not None
    assert len(sweep.boxes) == here.sum() > 50
    counted = np.asarray(table["num_interior_pts"])[here]
    np.testing.assert_array_equal(sweep.boxes.contains(sweep.points).sum(axis=1), counted)
    tracks = [set(each.boxes.track.tolist()) for each in log if each.boxes is not None]
    assert len(tracks[0] & tracks[1]) > 50


def test_argoverse2_beams_begin_at_their_lidar(sample_data: Path) -> None:
    pytest.importorskip("pyarrow")
    sweep = open_log(sample_data / "argoverse2" / "7fab2350", empty_beams=False)[0]
    assert {round(z, 2) for z in sweep.beam_origin[:, 2].tolist()} == {1.64, 1.53}

    def spread(origin: Array) -> float:
        """How much the elevation of a laser varies over its turn, in degrees; 0 seen from its own LiDAR."""
        deviations = []
        for laser in (0, 5, 10, 40, 45, 63):
            ray = sweep.points[sweep.ring == laser] - origin[sweep.ring == laser]
            deviations.append(np.degrees(np.arctan2(ray[:, 2], np.hypot(ray[:, 0], ray[:, 1]))).std())
        return float(np.max(deviations))

    assert spread(sweep.beam_origin) < 0.1
    assert spread(sweep.beam_origin[::-1]) > 0.15
    np.testing.assert_allclose(sweep.beam_origin + sweep.beam_direction * sweep.range[:, None], sweep.points, atol=1e-4)


def test_argoverse2_missing_parts(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    (tmp_path / "sensors/lidar").mkdir(parents=True)
    scan = tmp_path / "sensors/lidar/315966265259836000.feather"
    feather.write_feather(arrow.table({"x": [1.0], "y": [1.0]}), scan)
    with pytest.raises(ResweepError, match=r"city_SE3_egovehicle\.feather: missing"):
        open_log(tmp_path)
    pose = {"timestamp_ns": [315966265259836000], "qw": [1.0], "qx": [0.0], "qy": [0.0], "qz": [0.0]}
    pose.update({name: [0.0] for name in ("tx_m", "ty_m", "tz_m")})
    feather.write_feather(arrow.table(pose), tmp_path / "city_SE3_egovehicle.feather")
    (tmp_path / "calibration").mkdir()
    both = {name: values * 2 for name, values in pose.items() if name != "timestamp_ns"}
    mounts = arrow.table({"sensor_name": ["up_lidar", "down_lidar"], **both})
    feather.write_feather(mounts, tmp_path / "calibration/egovehicle_SE3_sensor.feather")
    with pytest.raises(ResweepError, match=r"315966265259836000\.feather: no field 'z'"):
        open_log(tmp_path)[0]
    scan.write_bytes(scan.read_bytes()[:40])
    with pytest.raises(ResweepError, match="truncated or not a feather file"):
        open_log(tmp_path)[0]
    bad = {**pose, "qw": [0.5]}
    feather.write_feather(arrow.table(bad), tmp_path / "city_SE3_egovehicle.feather")
    with pytest.raises(ResweepError, match=r"city_SE3_egovehicle\.feather: row 0 is no rigid pose"):
        open_log(tmp_path)


def make_argoverse1(path: Path) -> Path:
    for folder in ("lidar", "poses", "per_sweep_annotations_amodal"):
        (path / folder).mkdir(parents=True)
    for at, stamp in enumerate((315978406019574000, 315978406119574000)):
        lines = ["ply", "format ascii 1.0", "element vertex 2"]
        lines += [f"property float {name}" for name in ("x", "y", "z")]
        lines += ["property uchar intensity", "property uchar laser_number", "end_header"]
        lines += [f"11 0 1.5 {at} 3", "1 4 1.5 9 40"]
        (path / "lidar" / f"PC_{stamp}.ply").write_text("\n".join(lines) + "\n")
        pose = {"rotation": [1.0, 0.0, 0.0, 0.0], "translation": [100.0 + at, 20.0, 3.0]}
        (path / "poses" / f"city_SE3_egovehicle_{stamp}.json").write_text(json.dumps(pose))
        label = {
            "center": {"x": 11.0, "y": 0.0, "z": 1.0},
            "rotation": {"x": 0.0, "y": 0.0, "z": np.sin(0.2), "w": np.cos(0.2)},
            **{"length": 4.0, "width": 2.0, "height": 1.5, "timestamp": stamp},
            **{"track_label_uuid": "abc", "label_class": "VEHICLE", "occlusion": 0},
        }
        file = path / "per_sweep_annotations_amodal" / f"tracked_object_labels_{stamp}.json"
        file.write_text(json.dumps([label]))
    mount = {"rotation": {"coefficients": [1, 0, 0, 0]}}
    calibration = {
        "vehicle_SE3_up_lidar_": {**mount, "translation": [1.0, 0.0, 1.6]},
        "vehicle_SE3_down_lidar_": {**mount, "translation": [1.0, 0.0, 1.4]},
    }
    (path / "vehicle_calibration_info.json").write_text(json.dumps(calibration))
    return path


def test_argoverse1(tmp_path: Path) -> None:
    log = open_log(make_argoverse1(tmp_path / "c6911883"))
    assert (log.meta["format"], len(log)) == ("argoverse1", 2)
    assert log.times[0] == pytest.approx(315978406.019574, abs=1e-6)
    np.testing.assert_allclose(log.poses[1, :3, 3], [101, 20, 3])
    sweep = log[1]
    np.testing.assert_allclose(sweep.points, [[11, 0, 1.5], [1, 4, 1.5]], atol=1e-6)
    np.testing.assert_allclose(sweep.range, [10, 4], atol=1e-6)  # from between the LiDARs, not from the rear axle
    np.testing.assert_array_equal(sweep.ring, [3, 40])
    assert sweep.boxes is not None
    assert sweep.boxes.yaw[0] == pytest.approx(0.4)
    assert sweep.boxes.contains(sweep.points).tolist() == [[True, False]]


def test_argoverse1_missing_pose(tmp_path: Path) -> None:
    path = make_argoverse1(tmp_path / "log")
    (path / "poses" / "city_SE3_egovehicle_315978406119574000.json").unlink()
    with pytest.raises(ResweepError, match=r"city_SE3_egovehicle_315978406119574000\.json: missing"):
        open_log(path)
