"""The annotated objects of a scene that we write: boxes become annotations, tracks become instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from resweep import portable
from resweep.io.datasets.nuscenes.classes import (
    NOISE,
    Row,
    choose_attribute,
    classify,
    make_attribute_token,
    make_category_token,
    make_visibility_token,
)
from resweep.io.datasets.nuscenes.nuscenes_scene import (
    TRACK,
    VELOCITY,
    NuScenesFrame,
    NuScenesScene,
    express_pose,
    link_rows,
)
from resweep.labels import LabelSet
from resweep.pose import Array, from_xyz_rpy


def annotate(scene: NuScenesScene, frames: Sequence[NuScenesFrame], samples: list[str]) -> tuple[list[Row], list[Row]]:
    """The rows of annotations, sweep by sweep, and those of the instances, in the order of their first box."""
    tracks: dict[object, list[tuple[int, int]]] = {}
    for at, frame in enumerate(frames):
        for box, track in enumerate([] if frame.boxes is None else frame.boxes.track.tolist()):
            tracks.setdefault(track if track >= 0 else f"{at}-{box}", []).append((at, box))
    annotations: list[tuple[int, int, Row]] = []
    instances = []
    for track, found in tracks.items():
        instance = scene.token("instance", track)
        at, box = found[0]
        boxes = frames[at].boxes
        assert boxes is not None
        category = classify(boxes.name[box], int(boxes.label[box]), scene.labels)
        linked = link_rows(_annotate_track(scene, frames, found, instance, category))
        row = {
            "token": instance,
            "category_token": make_category_token(category),
            "nbr_annotations": len(linked),
            "first_annotation_token": linked[0]["token"],
            "last_annotation_token": linked[-1]["token"],
        }
        instances.append({**row, TRACK: track} if isinstance(track, int) else row)
        for (at, box), annotation in zip(found, linked, strict=True):
            annotations.append((at, box, {**annotation, "sample_token": samples[at]}))
    return [row for _, _, row in sorted(annotations, key=lambda item: item[:2])], instances


def _annotate_track(
    scene: NuScenesScene, frames: Sequence[NuScenesFrame], found: list[tuple[int, int]], instance: str, category: str
) -> Iterator[Row]:
    """The annotations of one object, in the order of time; ``found`` has sweep and box of each."""
    placed, velocity, names = [], [], []
    for at, box in found:
        boxes = frames[at].boxes
        assert boxes is not None
        x, y, z = boxes.centre[box].tolist()
        placed.append(portable.matmul(frames[at].pose, from_xyz_rpy(x, y, z, yaw=float(boxes.yaw[box]))))
        velocity.append(boxes.velocity[box])
        names.append(boxes.name[box])
    times = np.array([frames[at].time for at, _ in found])
    speeds = _find_speeds(times, np.stack(placed)[:, :2, 3], np.stack(velocity))
    for row, (at, box) in enumerate(found):
        frame = frames[at]
        assert frame.boxes is not None
        length, width, height = frame.boxes.size[box].tolist()
        attribute = choose_attribute(category, names[row], float(speeds[row]), speeds.tolist())
        known = {VELOCITY: velocity[row].tolist()} if np.isfinite(velocity[row]).all() else {}
        yield {
            "token": scene.token("sample_annotation", at, box),
            "sample_token": "",
            "instance_token": instance,
            "visibility_token": make_visibility_token(float(frame.visible[box])),
            "attribute_tokens": [make_attribute_token(attribute)] if attribute else [],
            **express_pose(scene, placed[row]),
            "size": [width, length, height],
            "num_lidar_pts": int(frame.points[box]),
            "num_radar_pts": 0,
            **known,
        }


def _find_speeds(times: Array, places: Array, velocity: Array) -> Array:
    """Speeds (n,) over the ground: those known, else from the positions (n, 2) before and after; NaN where none is."""
    speed = np.linalg.norm(velocity[:, :2], axis=1)
    if len(times) > 1:
        first, last = np.maximum(np.arange(len(times)) - 1, 0), np.minimum(np.arange(len(times)) + 1, len(times) - 1)
        span = np.maximum(times[last] - times[first], 1e-6)
        speed = np.where(np.isnan(speed), np.linalg.norm(places[last] - places[first], axis=1) / span, speed)
    return np.asarray(speed)


def find_unnamed(frames: Iterable[NuScenesFrame], labels: LabelSet | None) -> list[str]:
    """The classes of boxes, as the log spells them, for which nuScenes has no name."""
    pairs = {pair for frame in frames if frame.boxes for pair in zip(frame.boxes.name, frame.boxes.label, strict=True)}
    return sorted({name for name, label in pairs if classify(name, int(label), labels) == NOISE != name})
