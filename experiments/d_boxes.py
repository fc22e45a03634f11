"""Are boxes around instances what people would have drawn? Boxes fitted to returns, beside KITTI's annotated ones.

SemanticKITTI has instances of cars and no boxes; detectors are trained and judged on boxes that are fitted to them
(`resweep.perception.detection.instance_boxes`). Here the returns within each annotated box of a car, without the
ground, are an instance of their own, to which a box is fitted: over all sweeps of the moving cars of drive 0051, and
in the single frames of the object benchmark, which is harder. Boxes that the fit itself does not trust do not count.

The rules of the fit were chosen on these recordings: no others have both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA
from experiments.presenting import BLUE, ORANGE, console, figure, main, progress, table
from resweep.labels import load_labels
from resweep.log import Log
from resweep.perception.detection.box_overlap import iou_3d, iou_bev
from resweep.perception.detection.instance_boxes import InstanceReturns, box_instances, gather_instances
from resweep.perception.detection.truth import TrueBoxes, find_truth
from resweep.pose import Array
from resweep.sweep import Sweep

LABELS = load_labels("semantickitti")
LOGS = {
    "moving cars of drive 0051": ("kitti_raw_0051_30", "moving car"),
    "single frames": ("kitti_object/training", "car"),
}
_GROUND_M = 0.15  # above the bottom of a box
_AROUND_M = 0.05
_FRAME = 1000  # objects without tracks are numbered by this times their frame
_FAST_FRAMES = 8


def run(fast: bool = False) -> dict[str, Any]:
    """Overlaps of fitted and annotated boxes in both recordings; with ``fast`` in their first frames."""
    rows, points = [], {}
    for name, (folder, label) in LOGS.items():
        log = rs.open_log(Path(DATA) / folder, empty_beams=False)
        trusted, boxes = compare(log[:_FAST_FRAMES] if fast else log, label)
        points[name] = trusted[:, ::2]
        rows.append({"recording": name, "boxes": boxes, **summarise(trusted)})
    return {"rows": rows, "_points": points}


def compare(log: Log, label: str) -> tuple[Array, int]:
    """Overlap from above and in space, and returns (n, 3) of boxes that the fit trusts; and how many it made."""
    found: list[tuple[bool, float, float, int]] = []
    truth, number = find_truth(log, show=False), LABELS.id_of(label)
    pairs = enumerate(zip(progress(log, "reading", len(log)), truth, strict=True))
    returns = [mark_cars(sweep, true, at, number) for at, (sweep, true) in pairs]
    if label.startswith("moving"):
        fitted = box_instances(returns, LABELS)
    else:
        fitted = [box_instances([frame], LABELS)[0] for frame in returns]
    for true, (boxes, counted) in zip(truth, fitted, strict=True):
        cars = true.boxes[np.array([name == "car" for name in true.boxes.name], bool)]
        for row in range(len(boxes)):
            away = np.hypot(*(cars.centre[:, :2] - boxes.centre[row, :2]).T)
            nearest, box = cars[int(away.argmin())], boxes[row]
            overlaps = float(iou_bev(box, nearest)[0, 0]), float(iou_3d(box, nearest)[0, 0])
            found.append((bool(counted[row]), *overlaps, int(boxes.n_points[row])))
    return np.array([item[1:] for item in found if item[0]]).reshape(-1, 3), len(found)


def summarise(trusted: Array) -> dict[str, float]:
    """Means of overlaps (n, 3), and the shares of boxes above .5 and .7."""
    return {
        "trusted": len(trusted),
        "mean_bev": float(trusted[:, 0].mean()),
        "mean_3d": float(trusted[:, 1].mean()),
        "above_50": float((trusted[:, 0] >= 0.5).mean()),
        "above_70": float((trusted[:, 0] >= 0.7).mean()),
    }


def mark_cars(sweep: Sweep, truth: TrueBoxes, at: int, label: int) -> InstanceReturns:
    """The returns in the annotated boxes of cars as instances with that label, and the ground below the sensor."""
    points, boxes = sweep.deskewed().astype(np.float64), truth.boxes
    labels, instance = np.zeros(len(points), np.int64), np.zeros(len(points), np.int64)
    labels[(points[:, 2] > -2.0) & (points[:, 2] < -1.5)] = LABELS.id_of("road")
    for row, inside in enumerate(boxes.find_points(points, _AROUND_M)):
        if boxes.name[row] == "car":
            bottom = boxes.centre[row, 2] - boxes.size[row, 2] / 2
            chosen = inside[points[inside, 2] >= bottom + _GROUND_M]
            track = int(boxes.track[row])
            labels[chosen] = label
            instance[chosen] = 1 + (track if track >= 0 else _FRAME * at + row)
    marked = Sweep.from_points(points, pose=sweep.pose, label=labels, instance=instance, timestamp=sweep.timestamp)
    return gather_instances(marked, LABELS)


def show(result: dict[str, Any]) -> None:
    """A row a recording."""
    columns = ("recording", "boxes", "trusted", "IoU from above", "IoU in space", "above .5", "above .7")
    shown = table("Fitted boxes beside annotated ones", *columns)
    for row in result["rows"]:
        figures = (f"{row[name]:.2f}" for name in ("mean_bev", "mean_3d", "above_50", "above_70"))
        shown.add_row(row["recording"], str(row["boxes"]), str(row["trusted"]), *figures)
    console.print(shown)


def draw(result: dict[str, Any]) -> Figure:
    """Overlap by the number of returns in the sweep."""
    made, axes = figure(7.0, 3.4)
    axis = axes[0, 0]
    for (name, points), colour in zip(result["_points"].items(), (BLUE, ORANGE), strict=True):
        axis.semilogx(points[:, 1], points[:, 0], "o", ms=4, color=colour, label=name)
    axis.set_xlabel("returns on the car", fontsize=9)
    axis.set_ylabel("overlap with the annotated box", fontsize=9)
    axis.legend(fontsize=8)
    return made


if __name__ == "__main__":
    main("d_boxes", __doc__ or "", run, show, draw)
