"""The pictures of a judgement, as PNG bytes: answers on range images and from above, and bars of the attribution."""

from __future__ import annotations

from collections.abc import Sequence
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
    from resweep.perception.judging.judgement import CloudScores, Estimate

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
_WHISKER = "#1d2733"
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
    figure = new_figure(14.0, 5.4)
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
    style_axes(axes, "where the answer differs", "x, forward [m]", "", grid=False, panel=True)
    panels[0].set_ylabel("y, left [m]", fontsize=9, color=INK)
    for axes in panels:
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    _add_legend(panels[0], sweep.classes, _list_colours(sweep.classes), below=True)
    return to_png(figure)


def draw_attribution(clouds: list[CloudScores]) -> bytes:
    """Agreement, and mIoU where it is known, of each cloud as bars with their intervals."""
    panels = {"agreement with the answers on the recorded sweep": [item.agreement for item in clouds]}
    marks: list[float | None] = []
    if any(item.miou.value is not None for item in clouds):
        panels["mIoU against true labels; orange: recorded sweep, same beams"] = [item.miou for item in clouds]
        marks = [item.miou_real.value for item in clouds]
    return draw_bars([item.cloud for item in clouds], panels, marks)


def draw_bars(clouds: list[str], panels: dict[str, list[Estimate]], marks: Sequence[float | None] = ()) -> bytes:
    """Panels of bars, one for each cloud, by their titles; ``marks`` are lines across the bars of the last panel."""
    figure = new_figure(13.0 if len(panels) > 1 else 8.5, 0.36 * len(clouds) + 1.1)
    drawn = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, (title, estimates) in zip(drawn, panels.items(), strict=True):
        for at, (cloud, estimate) in enumerate(zip(clouds, estimates, strict=True)):
            _add_bar_with_interval(axes, at, cloud, estimate)
        axes.set_yticks(range(len(clouds)), clouds)
        axes.set_xlim(0.0, 1.0)
        style_axes(axes, title, "", "", panel=True)
    for at, mark in enumerate(marks):
        if mark is not None:
            drawn[-1].plot([mark, mark], [at - 0.36, at + 0.36], color=ORANGE, linewidth=1.6)
    drawn[0].invert_yaxis()
    return to_png(figure)


def _add_bar_with_interval(axes: Any, at: int, cloud: str, estimate: Estimate) -> None:
    """Draw a figure of a cloud as bar ``at``, with its interval as a line."""
    if estimate.value is None:
        return
    colour = {OURS: BLUE, CONTROL: VERMILION, NULL_NOISE: GREEN, NULL_NEXT: GREEN, REAL: GREEN}.get(cloud, FAINT)
    axes.barh(at, estimate.value, 0.62, color=colour, alpha=0.85)
    if estimate.low is not None:
        axes.plot([estimate.low, estimate.high], [at, at], color=_WHISKER, linewidth=1.4)
    inside = estimate.value > 0.12
    axes.text(
        0.01 if inside else 0.13,
        at,
        f"{estimate.value:.3f}",
        va="center",
        fontsize=8,
        color="#ffffff" if inside else INK,
    )


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
    style: dict[str, Any] = {"handles": marks, "ncols": min(len(marks), 10), "fontsize": 8, "frameon": False}
    if below:
        axes.figure.legend(loc="outside lower center", labelcolor=INK, **style)
    else:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), labelcolor=INK, borderpad=0.1, **style)


def _find_elevations(points: Array) -> Array:
    """Tangents of elevation between the rows of an image: each row has as many returns, however rings are spaced."""
    if not len(points):
        return np.linspace(-0.5, 0.1, _ROWS - 1)
    return np.asarray(np.quantile(_find_rise(points), np.linspace(0.0, 1.0, _ROWS + 1)[1:-1]))


def _find_rise(points: Array) -> Array:
    return np.asarray(points[:, 2] / np.maximum(np.hypot(points[:, 0], points[:, 1]), 1e-6))


def _find_cells(points: Array, bounds: Array) -> tuple[Array, Array]:
    """Row and column (n,) of points on an image by elevation and azimuth, the left of the sensor on the left."""
    row = _ROWS - 1 - np.searchsorted(bounds, _find_rise(points))
    column = (0.5 - np.arctan2(points[:, 1], points[:, 0]) / (2.0 * np.pi)) * _COLUMNS
    return row, np.clip(column.astype(int), 0, _COLUMNS - 1)
