"""The look of every picture: its colours, axes, colour bars and legends."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.labels import LabelSet
from resweep.pose import Array

PAPER, INK, FAINT = "#10151c", "#dfe6ee", "#3a4654"
DEPTH_MAP = "turbo"


def label_colours(label: Array, labels: LabelSet) -> Array:
    """RGB (n, 3) float from 0 to 1 of labels (n,), in the colours of their vocabulary."""
    from matplotlib.colors import to_rgb

    known, where = np.unique(label, return_inverse=True)
    table = np.array([to_rgb(labels.colour(int(item))) for item in known]).reshape(-1, 3)
    return np.asarray(table[where])


def new_figure(width: float, height: float, title: str) -> Any:
    """An empty matplotlib figure of ``width`` × ``height`` inches, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    FigureCanvasAgg(figure)
    figure.suptitle(title, color=INK, fontsize=14, x=0.015, ha="left")
    return figure


def style_axes(axes: Any, title: str, x: str, y: str) -> None:
    """Give ``axes`` the common look, a title, and names of the axes with units."""
    axes.set_facecolor(PAPER)
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.tick_params(colors=INK, labelsize=9)
    for spine in axes.spines.values():
        spine.set_color(FAINT)


def add_bar(figure: Any, drawn: Any, what: str, **place: Any) -> None:
    """A colour bar beside the axes ``ax``, or in the axes ``cax``."""
    bar = figure.colorbar(drawn, **place)
    bar.set_label(what, color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.outline.set_edgecolor(FAINT)


def add_legend(axes: Any, entries: list[tuple[str, str]], **options: Any) -> None:
    """A legend of (name, colour) dots."""
    from matplotlib.lines import Line2D

    dots = [
        Line2D([], [], marker="o", linestyle="", markersize=6, color=colour, label=name) for name, colour in entries
    ]
    legend = axes.legend(handles=dots, facecolor=PAPER, edgecolor=FAINT, fontsize=9, framealpha=0.85, **options)
    legend.set_in_layout(False)  # a long one must not squeeze the picture
    for text in legend.get_texts():
        text.set_color(INK)
