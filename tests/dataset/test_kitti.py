"""KITTI's benchmarks as loaders and evaluations read them: files, image boxes, difficulties and tracks.

The readers here are written from the devkits' readmes and share no code with what they judge.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import resweep as rs
from resweep.dataset import DatasetPlan, generate
from resweep.pose import Array, from_xyz_rpy

SCENARIO: dict[str, Any] = {
    "name": "follow",
    "ego": {"lane": [[-30, -1.3], [0, -1.3]], "speed_mps": 8},
    "duration_s": 0.45,
    "actors": [
        {"name": "front", "asset": "saloon", "lane": [[-18, -1.3], [20, -1.3]], "speed_mps": 8},
        {"name": "oncoming", "asset": "hatchback", "lane": [[5, 1.3], [-50, 1.3]], "speed_mps": 9},
        {"name": "walker", "asset": "pedestrian", "lane": [[-14, -4.6], [-10, -4.6]], "speed_mps": 1.2},
        {"name": "behind", "asset": "van", "at": [-45, -1.3]},
        {"name": "beside", "asset": "suv", "at": [-25.5, 1.4]},
    ],
}
for _actor in SCENARIO["actors"]:
    _actor["allow_overlap"] = True  # cars park in this street

# KITTI object devkit, evaluate_object: what an object must be at least, or at most, to be easy, moderate or hard.
MIN_HEIGHT_PX, MAX_OCCLUSION, MAX_TRUNCATION = (40, 25, 25), (0, 1, 2), (0.15, 0.3, 0.5)


def plan(layout: str, **changes: Any) -> DatasetPlan:
    fields: dict[str, Any] = {"worlds": ["scene:street"], "sensors": ["velodyne-vlp-16"], "scenarios": [SCENARIO]}
    return DatasetPlan(**{**fields, "layout": layout, "sweeps": 3, **changes})


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitti") / "out"
    generate(plan("kitti", variants=2), folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracking") / "out"
    generate(plan("kitti-tracking"), folder, progress=False)
    return folder


class Label(NamedTuple):
    """A line of label_2."""

    type: str
    truncated: float
    occluded: int
    alpha: float
    bbox: list[float]
    hwl: list[float]
    xyz: list[float]
    ry: float

    @property
    def difficulty(self) -> int:
        height = self.bbox[3] - self.bbox[1]
        for level in range(3):
            seen = self.occluded <= MAX_OCCLUSION[level] and self.truncated <= MAX_TRUNCATION[level]
            if seen and height > MIN_HEIGHT_PX[level]:
                return level
        return -1


def read_labels(file: Path) -> list[Label]:
    found = []
    for line in file.read_text().splitlines():
        name, *words = line.split(" ")
        assert len(words) == 14
        values = [float(word) for word in words]
        occluded = int(words[1])
        found.append(Label(name, values[0], occluded, values[2], values[3:7], values[7:10], values[10:13], values[13]))
    return found


def read_calib(file: Path) -> dict[str, Array]:
    rows = [line.split(": ") for line in file.read_text().splitlines()]
    assert [name for name, _ in rows] == ["P0", "P1", "P2", "P3", "R0_rect", "Tr_velo_to_cam", "Tr_imu_to_velo"]
    return {name: np.array(text.split(" "), float).reshape(3, -1) for name, text in rows}


def corners(label: Label) -> Array:
    """Corners (8, 3) in the rectified camera's frame, whose y points down from the floor's middle."""
    h, w, ln = label.hwl
    local = np.array([[x * ln, y * h, z * w] for x in (-0.5, 0.5) for y in (0.0, -1.0) for z in (-0.5, 0.5)])
    c, s = np.cos(label.ry), np.sin(label.ry)
    return local @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T + label.xyz


def project(points: Array, P: Array) -> Array:
    seen = np.column_stack([points, np.ones(len(points))]) @ P.T
    return np.asarray(seen[:, :2] / seen[:, 2:])


def to_camera(points: Array, calib: dict[str, Array]) -> Array:
    Tr = calib["Tr_velo_to_cam"]
    return np.asarray((points @ Tr[:, :3].T + Tr[:, 3]) @ calib["R0_rect"].T)


def inside(label: Label, points: Array) -> Array:
    """Which points in the camera's frame lie in the box."""
    h, w, ln = label.hwl
    c, s = np.cos(label.ry), np.sin(label.ry)
    x, y, z = (points - label.xyz).T
    along, across = c * x - s * z, s * x + c * z
    return np.asarray((np.abs(along) <= ln / 2) & (np.abs(across) <= w / 2) & (y <= 0) & (y >= -h))


def frames(folder: Path) -> list[tuple[str, Path, dict[str, Any]]]:
    """Every frame: its name, the folder of its run, and its truth."""
    where = json.loads((folder / "frames.json").read_text())
    return [
        (stem, folder / item["run"], json.loads((folder / item["run"] / f"boxes/{item['sweep']:06d}.json").read_text()))
        for stem, item in where.items()
    ]


def test_every_frame_has_the_files_of_the_benchmark(objects: Path) -> None:
    stems = [f"{at:06d}" for at in range(6)]  # two runs of three sweeps, numbered through
    for kind, suffix in (("velodyne", "bin"), ("calib", "txt"), ("label_2", "txt"), ("image_2", "png")):
        found = sorted(file.name for file in (objects / "training" / kind).iterdir())
        assert found == [f"{stem}.{suffix}" for stem in stems]
    sets = {name: (objects / "ImageSets" / f"{name}.txt").read_text().split() for name in ("train", "val", "trainval")}
    assert sets == {"train": stems[:3], "val": stems[3:], "trainval": stems}
    assert (objects / "ImageSets" / "test.txt").read_text() == ""
    for stem in stems:
        image = Image.open(io.BytesIO((objects / "training" / "image_2" / f"{stem}.png").read_bytes()))
        assert (image.size, image.mode) == ((1242, 375), "RGB")
        assert (np.asarray(image) > 0).any(axis=2).mean() > 0.01


def test_objects_are_easy_and_moderate(objects: Path) -> None:
    levels: Counter[tuple[str, int]] = Counter()
    for stem, _, _ in frames(objects):
        levels.update((label.type, label.difficulty) for label in read_labels(objects / f"training/label_2/{stem}.txt"))
    assert levels["Car", 0] >= 6
    assert levels["Pedestrian", 0] >= 6
    assert sum(count for (_, level), count in levels.items() if level >= 1) >= 4
    assert ("Van", 0) not in levels  # it is behind the camera


def test_image_boxes_are_those_of_the_corners(objects: Path) -> None:
    whole = cut = 0
    for stem, _, _ in frames(objects):
        calib = read_calib(objects / f"training/calib/{stem}.txt")
        for label in read_labels(objects / f"training/label_2/{stem}.txt"):
            there = corners(label)
            left, top, right, bottom = label.bbox
            assert 0 <= left < right <= 1241
            assert 0 <= top < bottom <= 374
            assert label.alpha == pytest.approx(label.ry - np.arctan2(label.xyz[0], label.xyz[2]), abs=1e-3)
            if there[:, 2].min() < 0.2:
                assert label.truncated > 0.5
                continue
            pixels = project(there, calib["P2"])
            low, high = pixels.min(axis=0), pixels.max(axis=0)
            edges = np.array([np.clip(low, 0, [1241, 374]), np.clip(high, 0, [1241, 374])])
            share = 1 - np.prod(edges[1] - edges[0]) / np.prod(high - low)
            assert label.truncated == pytest.approx(share, abs=0.006)
            whole += label.truncated == 0
            cut += label.truncated > 0.1
            if label.truncated == 0:
                assert label.bbox == pytest.approx(edges.ravel(), abs=0.05)
            else:  # what is shown of a box may be less than its outline cut by the borders
                assert (np.array(label.bbox[:2]) >= edges[0] - 0.05).all()
                assert (np.array(label.bbox[2:]) <= edges[1] + 0.05).all()
    assert whole >= 12
    assert cut >= 2


def test_boxes_hold_the_returns_of_their_objects_in_space_and_in_the_image(objects: Path) -> None:
    """Of a van with flat sides half of the returns were outside."""
    own_total = own_inside = 0
    for at, (stem, run, truth) in enumerate(frames(objects)):
        calib = read_calib(objects / f"training/calib/{stem}.txt")
        scan = np.fromfile(objects / f"training/velodyne/{stem}.bin", "<f4").reshape(-1, 4)
        assert ((scan[:, 3] >= 0.0) & (scan[:, 3] <= 1.0)).all()
        points = to_camera(scan[:, :3].astype(np.float64), calib)
        instance = np.fromfile(run / f"labels/{at % 3:06d}.label", "<u4") >> 16
        by_place = {round(item["centre"][0], 2): item for item in truth["objects"]}
        for label in read_labels(objects / f"training/label_2/{stem}.txt"):
            item = by_place[round(label.xyz[2], 2)]  # the default camera looks along the LiDAR's x
            within = inside(label, points)
            assert abs(int(within.sum()) - item["n_points_in_box"]) <= 2  # four digits of metres
            own = instance == item["track"]
            own_total += int(own.sum())
            own_inside += int((own & within).sum())
            assert 0.99 < item["known"] <= 1.0
            grown = np.array(item["object_size"]) + np.array([2, 2, 1]) * truth["box_margin_m"]
            assert item["size"] == pytest.approx(grown.tolist())
            assert label.hwl == pytest.approx([item["size"][axis] for axis in (2, 1, 0)], abs=1e-4)
            ahead = own & (points[:, 2] > 0.2)
            pixels = project(points[ahead], calib["P2"])
            seen = ((pixels >= 0) & (pixels <= [1241, 374])).all(axis=1)
            low, high = np.array(label.bbox[:2]) - 1.5, np.array(label.bbox[2:]) + 1.5
            assert ((pixels[seen] >= low) & (pixels[seen] <= high)).all(axis=1).mean() > 0.98
    assert own_total > 1000
    assert own_inside > 0.98 * own_total


def test_occlusion_is_the_share_of_beams_that_others_block(objects: Path) -> None:
    levels = set()
    for stem, _, truth in frames(objects):
        by_place = {round(item["centre"][0], 2): item for item in truth["objects"]}
        for label in read_labels(objects / f"training/label_2/{stem}.txt"):
            hidden = by_place[round(label.xyz[2], 2)]["occlusion"]
            assert label.occluded == (0 if hidden < 0.2 else 1 if hidden < 0.6 else 2)
            levels.add(label.occluded)
    assert len(levels) > 1


def test_another_camera_is_that_of_the_log(objects: Path, tmp_path: Path) -> None:
    calib = (objects / "training/calib/000000.txt").read_text()
    P2 = "P2: 500.0 0.0 400.0 0.0 0.0 500.0 180.0 0.0 0.0 0.0 1.0 0.0"
    lines = [P2 if line.startswith("P2") else line for line in calib.splitlines()]
    lines = ["Tr_velo_to_cam: 0 -1 0 0.1 0 0 -1 -0.2 1 0 0 -0.3" if "velo_to_cam" in ln else ln for ln in lines]
    (tmp_path / "calib.txt").write_text("\n".join(lines) + "\n")
    generate(plan("kitti", sweeps=1, camera=str(tmp_path / "calib.txt")), tmp_path / "out", progress=False)
    written = read_calib(tmp_path / "out/training/calib/000000.txt")
    assert written["P2"][0, 0] == 500.0
    (front, *_) = read_labels(tmp_path / "out/training/label_2/000000.txt")
    (before, *_) = read_labels(objects / "training/label_2/000000.txt")
    assert np.array(front.xyz) - before.xyz == pytest.approx([0.1, -0.2, -0.3], abs=1e-3)
    pixels = project(corners(front), written["P2"])
    assert front.bbox == pytest.approx([*pixels.min(axis=0), *pixels.max(axis=0)], abs=0.05)
    with pytest.raises(rs.ResweepError, match="written with other settings"):
        generate(plan("kitti", sweeps=1), tmp_path / "out", progress=False)
    with pytest.raises(rs.ResweepError, match="the layout 'nuscenes' has no image boxes"):
        rs.dataset.load_plan("edge-cases", {"layout": "nuscenes", "camera": "calib.txt"})


def test_the_camera_is_that_of_the_log_that_the_ego_drives_along(tmp_path: Path) -> None:
    drive = tmp_path / "sequences" / "07"
    still = rs.Sweep.from_points(np.ones((5, 3)))
    poses = [from_xyz_rpy(-30 + 0.8 * at, -1.3, 1.73) for at in range(4)]
    sweeps = [replace(still, pose=pose, timestamp=0.1 * at) for at, pose in enumerate(poses)]
    rs.write_log(rs.Log.from_sweeps(sweeps, "07"), drive, "semantickitti", progress=False)
    alongside = {**SCENARIO, "ego": {"log": str(drive)}, "duration_s": 0.2}
    focal = {}
    for name in ("default", "own"):
        generate(plan("kitti", scenarios=[alongside], sweeps=1), tmp_path / name, progress=False)
        focal[name] = read_calib(tmp_path / name / "training/calib/000000.txt")["P2"][0, 0]
        own = (drive / "calib.txt").read_text().replace("P2: 1.0 0.0 0.0", "P2: 555.0 0.0 600.0")
        (drive / "calib.txt").write_text(own)  # it had the identity, which is no camera
    assert focal == {"default": 721.5377, "own": 555.0}


def test_a_frame_without_objects_is_in_no_set(tmp_path: Path) -> None:
    away = {**SCENARIO, "actors": [SCENARIO["actors"][3]]}
    generate(plan("kitti", scenarios=[away, SCENARIO], sweeps=1), tmp_path, progress=False)
    assert (tmp_path / "training/label_2/000000.txt").read_text() == ""
    assert (tmp_path / "ImageSets/trainval.txt").read_text() == "000001\n"


def test_a_stopped_dataset_goes_on_to_the_same_bytes(objects: Path, tmp_path: Path) -> None:
    chosen = plan("kitti", variants=2)
    shutil.copytree(objects, tmp_path / "a")
    for file in ("0001/boxes/000001.json", "training/label_2/000004.txt", "ImageSets/train.txt"):
        (tmp_path / "a" / file).unlink()
    assert generate(chosen, tmp_path / "a", progress=False).resumed == 5
    (tmp_path / "a" / "training/label_2/000002.txt").unlink()
    with pytest.raises(rs.ResweepError, match=r"missing, though its sweep is complete; remove .*boxes to make its run"):
        generate(chosen, tmp_path / "a", progress=False)
    shutil.rmtree(tmp_path / "a" / "0000" / "boxes")
    assert generate(chosen, tmp_path / "a", progress=False).resumed == 3
    for file in (item for item in objects.rglob("*") if item.is_file()):
        assert (tmp_path / "a" / file.relative_to(objects)).read_bytes() == file.read_bytes(), file


def test_a_tracking_sequence_reads_back(tracking: Path) -> None:
    log = rs.open_log(tracking / "training", empty_beams=False)
    assert (log.meta["format"], log.name, len(log), log.poses_known) == ("kitti-tracking", "0000", 3, True)
    assert log.poses[2][:3, 3] - log.poses[0][:3, 3] == pytest.approx([1.6, 0.0, 0.0], abs=1e-4)
    for at, sweep in enumerate(log):
        truth = json.loads((tracking / f"0000/boxes/{at:06d}.json").read_text())["objects"]
        by_track = {item["track"]: item for item in truth}
        assert sweep.boxes is not None
        assert len(sweep.boxes) >= 3
        for row, track in enumerate(sweep.boxes.track.tolist()):
            assert sweep.boxes.centre[row] == pytest.approx(by_track[track]["centre"], abs=2e-4)
            assert sweep.boxes.size[row] == pytest.approx(by_track[track]["size"], abs=1e-4)
            assert np.cos(sweep.boxes.yaw[row] - by_track[track]["yaw"]) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(rs.ResweepError, match="no sequence '0007'"):
        rs.open_log(tracking / "training", sequence="0007")
    calib = tracking / "training" / "calib" / "0000.txt"
    assert [line.split()[0] for line in calib.read_text().splitlines()][4:] == ["R_rect", "Tr_velo_cam", "Tr_imu_velo"]


def test_pykitti_loads_and_trackeval_rates_a_tracking_sequence(
    tracking: Path, external_python: str, tmp_path: Path
) -> None:
    script = Path(__file__).parents[1] / "external" / "kitti_tracking.py"
    command = [external_python, str(script), str(tracking / "training"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    scans = [(tracking / f"training/velodyne/0000/{at:06d}.bin").stat().st_size // 16 for at in range(3)]
    assert found["scans"] == scans
    assert found["image"] == [1242, 375]
    assert set(found["classes"]) == {"Car", "Pedestrian"}
    assert found["tracks"] >= 4
    assert np.array(found["places"])[2] == pytest.approx([1.6, 0.0, 0.0], abs=1e-4)
    assert found["hota"] == pytest.approx({"car": 1.0, "pedestrian": 1.0})
    assert found["mota"] == pytest.approx({"car": 1.0, "pedestrian": 1.0})
    assert found["counted"]["car"] >= 6
    assert found["counted"]["pedestrian"] >= 3
