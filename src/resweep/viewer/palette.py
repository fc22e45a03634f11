"""Names and colours of labels, and the look of every picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.pose import Array

PAPER, INK, FAINT = "#10151c", "#dfe6ee", "#3a4654"
DEPTH_MAP = "turbo"

# Label ids are SemanticKITTI's (semantic-kitti.yaml); the colours are chosen to be told apart on a dark ground.
LABELS: dict[int, tuple[str, str]] = {
    0: ("unlabelled", "#8a97a6"),
    1: ("outlier", "#ff4d6d"),
    10: ("car", "#5aa9ff"),
    11: ("bicycle", "#7fd6ff"),
    13: ("bus", "#3f7fd0"),
    15: ("motorcycle", "#4cc9f0"),
    18: ("truck", "#6c8cff"),
    20: ("other vehicle", "#8fa8ff"),
    30: ("person", "#ff3b30"),
    31: ("bicyclist", "#ff6f91"),
    32: ("motorcyclist", "#e05780"),
    40: ("road", "#b392c8"),
    44: ("parking", "#d8a7d8"),
    48: ("pavement", "#8e6fae"),
    49: ("other ground", "#9c7a8a"),
    50: ("building", "#ffb347"),
    51: ("fence", "#e07b39"),
    52: ("structure", "#d9a066"),
    60: ("lane marking", "#f4d6ff"),
    70: ("vegetation", "#4fd06a"),
    71: ("trunk", "#b5763a"),
    72: ("ground", "#a89f7c"),
    80: ("pole", "#fff275"),
    81: ("traffic sign", "#ff5ea8"),
    99: ("other object", "#6fe3e1"),
    252: ("moving car", "#2f6bff"),
    253: ("moving bicyclist", "#ff9ab0"),
    254: ("moving person", "#ff8a80"),
    255: ("moving motorcyclist", "#ff5c93"),
    256: ("moving train", "#b0c4ff"),
    257: ("moving bus", "#2b5fb0"),
    258: ("moving truck", "#4b6bff"),
    259: ("moving vehicle", "#a9bcff"),
}
_SPARE = ("#c9d1d9", "#79c0ff", "#d2a8ff", "#ffa657", "#7ee787", "#ff7b72")


def entry(label: int) -> tuple[str, str]:
    """Name and colour of a label; an unknown one is called by its number."""
    return LABELS.get(label, (f"label {label}", _SPARE[label % len(_SPARE)]))


def label_colours(label: Array) -> Array:
    """RGB (n, 3) float from 0 to 1 of labels (n,)."""
    from matplotlib.colors import to_rgb

    known, where = np.unique(label, return_inverse=True)
    table = np.array([to_rgb(entry(int(item))[1]) for item in known]).reshape(-1, 3)
    return np.asarray(table[where])


def new_figure(width: float, height: float, title: str) -> Any:
    """An empty matplotlib figure of ``width`` × ``height`` inches, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    FigureCanvasAgg(figure)
    figure.suptitle(title, color=INK, fontsize=14, x=0.015, ha="left")
    return figure


def dress(axes: Any, title: str, x: str, y: str) -> None:
    """Give ``axes`` the common look, a title and names with units."""
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
