"""What nuscenes-devkit makes of datasets that we wrote; prints it as one line of JSON. Runs without resweep.

Pictures are drawn of the first.

python nuscenes_devkit.py OUT VERSION:SPLIT:ROOT ...
"""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from nuscenes import NuScenes
from nuscenes.eval.common.config import config_factory
from nuscenes.eval.detection.evaluate import DetectionEval
from nuscenes.eval.detection.utils import category_to_detection_name
from nuscenes.utils.data_classes import LidarPointCloud
from nuscenes.utils.geometry_utils import points_in_box
from pyquaternion import Quaternion

matplotlib.use("Agg")
USED = {"use_camera": False, "use_lidar": True, "use_radar": False, "use_map": False, "use_external": False}


def detections(nusc: Any, shift_m: float) -> dict[str, list[dict[str, Any]]]:
    """The annotations that were hit, as a detector's results, moved by ``shift_m`` along x."""
    results: dict[str, list[dict[str, Any]]] = {sample["token"]: [] for sample in nusc.sample}
    for row in nusc.sample_annotation:
        name = category_to_detection_name(row["category_name"])
        if name is None or row["num_lidar_pts"] == 0:
            continue
        x, y, z = row["translation"]
        attribute = [nusc.get("attribute", token)["name"] for token in row["attribute_tokens"]]
        detection = {key: row[key] for key in ("sample_token", "size", "rotation")}
        detection |= {"translation": [x + shift_m, y, z], "velocity": nusc.box_velocity(row["token"])[:2].tolist()}
        detection |= {"detection_name": name, "detection_score": 1.0, "attribute_name": "".join(attribute)}
        results[row["sample_token"]].append(detection)
    return results


def evaluate(nusc: Any, split: str, out: Path, shift_m: float) -> dict[str, Any]:
    """The official metrics of such detections, for the classes that occur."""
    results = detections(nusc, shift_m)
    (out / "results.json").write_text(json.dumps({"meta": USED, "results": results}))
    config = config_factory("detection_cvpr_2019")
    found = DetectionEval(nusc, config, str(out / "results.json"), split, str(out / "metrics"), verbose=False)
    summary = found.main(render_curves=False)
    names = sorted({box["detection_name"] for boxes in results.values() for box in boxes})
    classes = {name: {**summary["label_tp_errors"][name], "ap": summary["label_aps"][name]} for name in names}
    return {"mean_ap": summary["mean_ap"], "classes": classes}


def check_annotations(nusc: Any) -> dict[str, Any]:
    """Points counted by the devkit's own rule, velocities by its own differences, and attributes by category."""
    wrong, slow, attributes = [], [], set()
    for sample in nusc.sample:
        path, boxes, _ = nusc.get_sample_data(sample["data"]["LIDAR_TOP"])
        points = LidarPointCloud.from_file(path).points[:3]
        for box in boxes:
            row = nusc.get("sample_annotation", box.token)
            inside = int(points_in_box(box, points.astype(np.float64)).sum())
            if inside != row["num_lidar_pts"]:
                wrong.append([row["category_name"], inside, row["num_lidar_pts"]])
            if row["num_lidar_pts"]:
                off = np.subtract(nusc.box_velocity(row["token"]), row["velocity_mps"])
                slow.append(float(np.linalg.norm(off)))
            names = [nusc.get("attribute", token)["name"] for token in row["attribute_tokens"]]
            attributes.add(f"{row['category_name']} {''.join(names)}")
    return {"miscounted": wrong, "velocity_errors": slow, "attributes": sorted(attributes)}


def draw(nusc: Any, out: Path) -> dict[str, int]:
    """Bytes of the pictures of scans, labels and annotations."""
    token = nusc.sample[1]["data"]["LIDAR_TOP"]
    nusc.render_sample_data(token, out_path=str(out / "scan.png"), verbose=False, nsweeps=2)
    more = {"show_lidarseg": True, "show_lidarseg_legend": True}
    nusc.render_sample_data(token, out_path=str(out / "classes.png"), verbose=False, **more)
    nusc.render_egoposes_on_map(nusc.log[0]["location"], out_path=str(out / "poses.png"))
    found = [row for row in nusc.sample_annotation if row["num_lidar_pts"] > 100]
    nusc.render_annotation(found[0]["token"], out_path=str(out / "annotation.png"), extra_info=True)
    nusc.render_instance(found[-1]["instance_token"], out_path=str(out / "instance.png"))
    shown: dict[str, Any] = {"camera_channel": "CAM_BACK", "show_lidarseg": True, "verbose": False}
    nusc.render_pointcloud_in_image(nusc.sample[1]["token"], out_path=str(out / "image.png"), **shown)
    return {file.name: file.stat().st_size for file in out.glob("*.png")}


def check_map(nusc: Any) -> float:
    """The share of the returns on roads that lie on the foreground of the map."""
    shares = []
    for scene in nusc.scene:
        token = nusc.get("sample", scene["first_sample_token"])["data"]["LIDAR_TOP"]
        data = nusc.get("sample_data", token)
        cloud = LidarPointCloud.from_file(nusc.get_sample_data_path(token))
        for table, key in (("calibrated_sensor", "calibrated_sensor_token"), ("ego_pose", "ego_pose_token")):
            pose = nusc.get(table, data[key])
            cloud.rotate(Quaternion(pose["rotation"]).rotation_matrix)
            cloud.translate(np.array(pose["translation"]))
        labels = np.fromfile(Path(nusc.dataroot) / nusc.get("lidarseg", token)["filename"], np.uint8)
        road = labels == nusc.lidarseg_name2idx_mapping["flat.driveable_surface"]
        mask = nusc.get("map", nusc.get("log", scene["log_token"])["map_token"])["mask"]
        shares.append(float(mask.is_on_mask(cloud.points[0, road], cloud.points[1, road]).mean()))
    return min(shares)


def judge(version: str, split: str, root: str, out: Path, pictures: bool) -> dict[str, Any]:
    """Everything that the tests look at."""
    out.mkdir(parents=True)
    nusc = NuScenes(version, root, verbose=False)
    scans = [
        LidarPointCloud.from_file(nusc.get_sample_data_path(sample["data"]["LIDAR_TOP"])).points
        for sample in nusc.sample
    ]
    said = io.StringIO()
    with redirect_stdout(said):
        for show in (nusc.list_categories, nusc.list_attributes, nusc.list_scenes, nusc.list_lidarseg_categories):
            show()
        nusc.list_sample(nusc.sample[0]["token"])
        nusc.get_sample_lidarseg_stats(nusc.sample[0]["token"])
        drawn = draw(nusc, out) if pictures else {}
    return {
        "scenes": [row["name"] for row in nusc.scene],
        "samples": len(nusc.sample),
        "intensity": [float(min(scan[3].min() for scan in scans)), float(max(scan[3].max() for scan in scans))],
        "said": said.getvalue(),
        "drawn": drawn,
        "on_map": check_map(nusc),
        **check_annotations(nusc),
        "perfect": evaluate(nusc, split, out, 0.0),
        "shifted": evaluate(nusc, split, out, 1.2),
    }


def main() -> None:
    out, *given = sys.argv[1:]
    found = {}
    for at, item in enumerate(given):
        version, split, root = item.split(":", 2)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            found[Path(root).name] = judge(version, split, root, Path(out) / Path(root).name, at == 0)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
