"""The pictures of a judgement, as PNG bytes: answers on range images and from above, and bars of the attribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resweep.evaluation.report.figures import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    VERMILION,
    new_figure,
    style_axes,
    to_png,
)
from resweep.perception.judging.clouds import CONTROL, NULL_NEXT, NULL_NOISE, OURS, REAL, JudgedCloud
from resweep.perception.models import UNKNOWN
from resweep.pose import Array

if TYPE_CHECKING:
    from resweep.perception.judging.judgement import CloudScores

_ROWS, _COLUMNS = 64, 1024
_NOTHING, _SAME = "#e3e7ec", "#c4ccd5"
_COLOURS = (
    "#0072b2",
    "#6b7280",
    "#cc79a7",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#f0e442",
    "#7c5cc4",
    "#8c564b",
)
_REACH = 0.97  # quantile of the distances that the view from above shows


@dataclass(frozen=True, eq=False)
class JudgedSweep:
    """What is drawn of a sweep that a model read: points and answers, recorded and simulated.

    ``real_row`` (m,) is the recorded return on the beam of each simulated one, -1 for none. ``agreement`` is the share
    of those beams with the same answer.
    """

    model: str
    classes: tuple[str, ...]
    number: int
    real: Array
    real_answer: Array
    ours: Array
    our_answer: Array
    real_row: Array

    @classmethod
    def of(
        cls,
        model: str,
        classes: tuple[str, ...],
        number: int,
        clouds: dict[str, JudgedCloud],
        answers: dict[str, Array],
    ) -> JudgedSweep:
        """That of the clouds of a sweep, and the answers on them."""
        real, ours = clouds[REAL], clouds[OURS]
        points = real.sweep.points, ours.sweep.points
        return cls(model, classes, number, points[0], answers[REAL], points[1], answers[OURS], ours.real_row)

    @property
    def agreement(self) -> float:
        """The share of beams that both return with the same answer; 1 where there are none."""
        same = self.is_same[self.real_row >= 0]
        return float(same.mean()) if len(same) else 1.0

    @property
    def is_same(self) -> Array:
        """Whether each simulated return (m,) gets the answer of the recorded one on its beam."""
        return np.asarray((self.real_row >= 0) & (self.real_answer[self.real_row] == self.our_answer))


def draw_range_answers(sweep: JudgedSweep) -> bytes:
    """Answers on range images, recorded above simulated, and where they differ."""
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(colour) for colour in (*_list_colours(sweep.classes), _NOTHING)])
    bounds = _find_elevations(sweep.real)
    none = len(sweep.classes)
    figure = new_figure(14.0, 6.4)
    panels = figure.subplots(3, 1, sharex=True)
    sides = ((sweep.real, sweep.real_answer, "recorded"), (sweep.ours, sweep.our_answer, "simulated"))
    for axes, (points, answer, title) in zip(panels, sides, strict=False):
        image = np.full((_ROWS, _COLUMNS), none)
        image[_find_cells(points, bounds)] = np.where(answer == UNKNOWN, none, answer)
        axes.imshow(palette[image], aspect="auto", interpolation="nearest", extent=(180, -180, 0, _ROWS))
        style_axes(axes, f"answers on the {title} sweep", "", "", grid=False)
    marks = (_NOTHING, _SAME, VERMILION, ORANGE, GREEN)
    names = ("no return in either", "same answer", "other answer", "only recorded", "only simulated")
    image = np.zeros((_ROWS, _COLUMNS), np.int64)
    image[_find_cells(sweep.real, bounds)] = 3
    cells = _find_cells(sweep.ours, bounds)
    image[cells] = np.where(sweep.real_row < 0, 4, np.where(sweep.is_same, 1, 2))
    rgb = np.array([to_rgb(colour) for colour in marks])
    panels[2].imshow(rgb[image], aspect="auto", interpolation="nearest", extent=(180, -180, 0, _ROWS))
    style_axes(panels[2], "where they differ", "azimuth [deg], forward in the middle", "", grid=False)
    for axes in panels:
        axes.set_yticks([])
    _add_legend(panels[0], sweep.classes, _list_colours(sweep.classes))
    _add_legend(panels[2], names, marks)
    return to_png(figure)


def draw_from_above(sweep: JudgedSweep) -> bytes:
    """Answers from above, recorded beside simulated, and the simulated returns with another answer."""
    figure = new_figure(14.0, 5.2)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    reach = float(np.quantile(np.hypot(sweep.real[:, 0], sweep.real[:, 1]), _REACH)) if len(sweep.real) else 1.0
    colours = np.array([*_list_colours(sweep.classes), FAINT])
    sides = ((sweep.real, sweep.real_answer, "recorded"), (sweep.ours, sweep.our_answer, "simulated"))
    for axes, (points, answer, title) in zip(panels, sides, strict=False):
        kind = np.minimum(answer.astype(np.int64), len(sweep.classes))
        axes.scatter(points[:, 0], points[:, 1], s=0.4, c=colours[kind], linewidths=0, rasterized=True)
        style_axes(axes, f"answers on the {title} sweep", "x, forward [m]", "", grid=False, panel=True)
    differs = (sweep.real_row >= 0) & ~sweep.is_same
    axes = panels[2]
    axes.scatter(sweep.ours[:, 0], sweep.ours[:, 1], s=0.3, c=_SAME, linewidths=0, rasterized=True)
    axes.scatter(sweep.ours[differs, 0], sweep.ours[differs, 1], s=0.8, c=VERMILION, linewidths=0, rasterized=True)
    style_axes(axes, "another answer (red)", "x, forward [m]", "", grid=False, panel=True)
    panels[0].set_ylabel("y, left [m]", fontsize=9, color=INK)
    for axes in panels:
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    _add_legend(panels[0], sweep.classes, _list_colours(sweep.classes), below=True)
    return to_png(figure)


def draw_attribution(clouds: list[CloudScores]) -> bytes:
    """Agreement, and mIoU where it is known, of each cloud as bars with their intervals."""
    with_truth = any(item.miou.value is not None for item in clouds)
    figure = new_figure(13.0 if with_truth else 8.5, 0.36 * len(clouds) + 1.1)
    panels = np.atleast_1d(figure.subplots(1, 2 if with_truth else 1, sharey=True))
    shown = [("agreement", "agreement with the answers on the recorded sweep")]
    shown += [("miou", "mIoU against true labels, same beams of the recorded sweep: |")] if with_truth else []
    for axes, (name, title) in zip(panels, shown, strict=True):
        for at, item in enumerate(clouds):
            _add_estimate(axes, at, item, name)
        axes.set_yticks(range(len(clouds)), [item.cloud for item in clouds])
        axes.set_xlim(0.0, 1.0)
        style_axes(axes, title, "", "")
    panels[0].invert_yaxis()
    return to_png(figure)


def _add_estimate(axes: Any, at: int, item: CloudScores, name: str) -> None:
    estimate = getattr(item, name)
    if estimate.value is None:
        return
    colour = {OURS: BLUE, CONTROL: VERMILION, NULL_NOISE: GREEN, NULL_NEXT: GREEN, REAL: GREEN}.get(item.cloud, FAINT)
    axes.barh(at, estimate.value, 0.62, color=colour, alpha=0.85)
    if estimate.low is not None:
        axes.plot([estimate.low, estimate.high], [at, at], color=INK, linewidth=1.6)
    if name == "miou" and item.miou_real.value is not None:
        axes.plot([item.miou_real.value] * 2, [at - 0.36, at + 0.36], color=ORANGE, linewidth=1.6)
    beyond = estimate.value if estimate.high is None else max(estimate.value, estimate.high)
    axes.text(min(beyond + 0.01, 0.94), at, f"{estimate.value:.3f}", va="center", fontsize=8, color=INK)


def _list_colours(classes: tuple[str, ...]) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if len(classes) <= len(_COLOURS):
        return list(_COLOURS[: len(classes)])
    many = colormaps["turbo"]
    return [to_hex(many((at + 0.5) / len(classes))) for at in range(len(classes))]


def _add_legend(axes: Any, names: Any, colours: Any, below: bool = False) -> None:
    from matplotlib.patches import Patch

    marks = [Patch(color=colour, label=name) for name, colour in zip(names, colours, strict=True)]
    place = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.14)} if below else {}
    place = place or {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(handles=marks, ncols=min(len(marks), 10), fontsize=8, frameon=False, labelcolor=INK, **place)


def _find_elevations(points: Array) -> tuple[float, float]:
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    low, high = np.quantile(elevation, [0.001, 0.999]) if len(points) else (-0.5, 0.1)
    return float(low), float(max(high, low + 1e-3))


def _find_cells(points: Array, bounds: tuple[float, float]) -> tuple[Array, Array]:
    """Row and column (n,) of points on an image by elevation and azimuth, the left of the sensor on the left."""
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    row = (bounds[1] - elevation) / (bounds[1] - bounds[0]) * _ROWS
    column = (0.5 - azimuth / (2.0 * np.pi)) * _COLUMNS
    return np.clip(row.astype(int), 0, _ROWS - 1), np.clip(column.astype(int), 0, _COLUMNS - 1)
