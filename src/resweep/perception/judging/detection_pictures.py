"""Pictures of detections, as PNG bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resweep.evaluation.report.figures import BLUE, FAINT, new_figure, style_axes, to_png
from resweep.perception.judging.judgement_pictures import draw_bars

if TYPE_CHECKING:
    from resweep.perception.judging.judgement import DetectionRow, ObjectScore


def draw_detection_bars(rows: list[DetectionRow]) -> bytes:
    """κ_det, and AP where there is truth, of each cloud as bars with their intervals."""
    panels = {"κ: objects found in both this cloud and the recording, or in neither": [row.agreement for row in rows]}
    if any(row.ap.value is not None for row in rows):
        panels["average precision"] = [row.ap for row in rows]
    return draw_bars([row.cloud for row in rows], panels)


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
