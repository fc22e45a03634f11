"""Pictures of detections, as PNG bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resweep.boxes import Boxes
from resweep.evaluation.report.figures import BLUE, FAINT, GREEN, INK, VERMILION, new_figure, style_axes, to_png
from resweep.perception.judging.judgement_pictures import draw_bars
from resweep.perception.models import Detections
from resweep.pose import Array

if TYPE_CHECKING:
    from resweep.perception.judging.judgement import DetectionRow, ObjectScore


def draw_detection_bars(rows: list[DetectionRow]) -> bytes:
    """κ_det, and AP where there is truth, of each cloud as bars with their intervals."""
    panels = {"κ: objects found in both this cloud and the recording, or in neither": [row.agreement for row in rows]}
    if any(row.ap.value is not None for row in rows):
        panels["average precision"] = [row.ap for row in rows]
    return draw_bars([row.cloud for row in rows], panels)


@dataclass(frozen=True, eq=False)
class DetectedSweep:
    """What is drawn of a sweep in which a model found objects: points, recorded and simulated, and boxes.

    ``truth`` are the objects that count. ``agreement`` is 1 less the mean difference of their scores.
    """

    model: str
    number: int
    real: Array
    ours: Array
    truth: Boxes
    real_found: Detections
    our_found: Detections
    agreement: float


def draw_detections(sweep: DetectedSweep, min_score: float) -> bytes:
    """What was found from above, recorded beside simulated, with the true boxes."""
    from matplotlib.lines import Line2D

    figure = new_figure(14.0, 7.7)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    reach = _find_reach(sweep)
    sides = ((sweep.real, sweep.real_found, "recorded"), (sweep.ours, sweep.our_found, "simulated"))
    for axes, (points, found, title) in zip(panels, sides, strict=True):
        axes.scatter(points[:, 0], points[:, 1], s=0.3, c=FAINT, linewidths=0, rasterized=True)
        _add_boxes(axes, sweep.truth, GREEN, 2.4)
        _add_boxes(axes, found.boxes[(found.score >= min_score / 2) & (found.score < min_score)], BLUE, 0.7)
        _add_boxes(axes, found.boxes[found.score >= min_score], VERMILION, 1.2)
        for centre, score in zip(found.boxes.centre, found.score, strict=True):
            if score >= min_score and np.abs(centre[:2]).max() < reach:
                axes.annotate(
                    f"{score:.2f}", centre[:2], fontsize=7, color=INK, xytext=(5, 5), textcoords="offset points"
                )
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        style_axes(axes, f"found in the {title} sweep", "x, forward [m]", "", grid=False, panel=True)
    panels[0].set_ylabel("y, left [m]", fontsize=9, color=INK)
    names = ("true", f"found, with score (from {min_score:g})", f"less sure (from {min_score / 2:g})")
    marks = [
        Line2D([], [], color=colour, label=name) for name, colour in zip(names, (GREEN, VERMILION, BLUE), strict=True)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, fontsize=8, frameon=False, labelcolor=INK)
    return to_png(figure)


def _find_reach(sweep: DetectedSweep) -> float:
    """How far the view goes: to the farthest object that counts or was found, at least 20 m."""
    centres = np.concatenate([boxes.centre for boxes in (sweep.truth, sweep.real_found.boxes, sweep.our_found.boxes)])
    return max(20.0, 1.15 * float(np.quantile(np.abs(centres[:, :2]).max(axis=1), 0.95))) if len(centres) else 40.0


def _add_boxes(axes: Any, boxes: Boxes, colour: str, width: float) -> None:
    corner = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]]) / 2
    for centre, size, yaw in zip(boxes.centre, boxes.size, boxes.yaw, strict=True):
        turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        outline = corner * size[:2] @ turn.T + centre[:2]
        axes.plot(outline[:, 0], outline[:, 1], color=colour, linewidth=width)


def draw_scores(objects: list[ObjectScore]) -> bytes:
    """Scores when simulated over scores when recorded, a point for each object."""
    figure = new_figure(5.2, 4.4)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.0, linestyle="--")
    real, ours = (np.array([getattr(item, name) for item in objects]) for name in ("real", "ours"))
    size = np.clip(np.sqrt([item.points for item in objects]), 4.0, 40.0)
    axes.scatter(real, ours, s=size, color=BLUE, alpha=0.6, linewidths=0)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    style_axes(axes, "score of each object (larger: more returns)", "recorded", "simulated", panel=True)
    return to_png(figure)
