"""The pictures of a report, as PNG bytes.

They have no ground of their own and text of a middle grey, so that they fit light and dark pages. Colours are those of
Okabe and Ito, or maps of even lightness, which colour-blind readers tell apart.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from resweep.evaluation.compare.pair import Pair
from resweep.evaluation.metrics.metrics import WITHIN_M
from resweep.pose import Array

_DPI = 110
INK, FAINT, BLUE, VERMILION, ORANGE, GREEN = "#738091", "#8694a3", "#0072b2", "#d55e00", "#e69f00", "#009e73"
DEPTH_MAP, ERROR_MAP = "viridis", "cividis"
_EMPTY = "#b9c2cc"  # of pixels without return
_PANEL = "#f2f4f7"  # behind points and pixels, whose colours need a ground that is always light
_DISTANCES_M = (0.01, 1.0)  # of the colours of the bird's-eye view
_DIFFERENCE_M = 0.5


def draw_range_errors(curves: dict[str, list[float]]) -> bytes:
    """Signed range errors as a histogram, absolute ones as a cumulative distribution."""
    figure = new_figure(11.0, 3.6)
    left, right = figure.subplots(1, 2)
    edges, counts = np.array(curves["histogram_edges_m"]), np.array(curves["histogram_counts"])
    share = counts / counts.sum()
    left.stairs(share, edges, fill=True, color=BLUE)
    left.axvline(0.0, color=INK, linewidth=0.8)
    left.set(yscale="log", xlim=(edges[0], edges[-1]), ylim=(max(share[share > 0].min() / 2, 1e-7), 1.5))
    style_axes(left, "simulated − real range (beyond ±1 m: in the last bins)", "range error [m]", "share of beams")
    at, cdf = curves["cdf_at_m"], curves["cdf_share"]
    right.plot(at, cdf, color=BLUE, linewidth=2.0)
    lines = []
    for threshold in WITHIN_M:
        reached = float(np.interp(threshold, at, cdf))
        right.plot([threshold, threshold, at[0]], [0, reached, reached], color=FAINT, linewidth=0.8, linestyle=":")
        right.plot(threshold, reached, "o", color=VERMILION, markersize=4)
        lines.append(f"{reached:.1%} within {threshold * 100:g} cm")
    # In one place: where shares are alike, labels beside the points would cover each other.
    right.text(0.97, 0.08, "\n".join(lines), transform=right.transAxes, ha="right", fontsize=9, color=INK)
    right.set(xscale="log", xlim=(at[0], 30.0), ylim=(0.0, 1.03))
    style_axes(right, "beams whose ranges agree", "absolute range error [m]", "cumulative share of beams")
    return to_png(figure)


def draw_error_curves(curves: dict[str, dict[str, list[float]]]) -> bytes:
    """Absolute range errors of several reports as cumulative distributions."""
    figure = new_figure(10.0, 4.2)
    axes = figure.add_subplot()
    colours = (BLUE, VERMILION, GREEN, ORANGE, "#cc79a7", "#56b4e9")
    for at, (name, curve) in enumerate(curves.items()):
        style = ("-", "--", ":", "-.")[at // len(colours) % 4]
        axes.plot(curve["cdf_at_m"], curve["cdf_share"], style, color=colours[at % len(colours)], label=name)
    axes.set(xscale="log", xlim=(1e-3, 30.0), ylim=(0.0, 1.03))
    axes.legend(fontsize=8, frameon=False, labelcolor=INK, loc="upper left")
    style_axes(axes, "beams whose ranges agree", "absolute range error [m]", "cumulative share of beams")
    return to_png(figure)


def draw_birds_eye(pair: Pair) -> bytes:
    """Simulated points from above, coloured by their distance to the nearest real point; real points in grey."""
    from matplotlib.colors import LogNorm

    real, sim = pair.real.points, pair.sim.points
    away = np.hypot(*np.concatenate([real, sim])[:, :2].T)
    reach = 1.05 * float(np.quantile(away, 0.98))
    low, high = [np.full(2, -reach), np.full(2, reach)]
    inside = np.concatenate([real, sim])[away <= reach, :2]
    if len(inside):
        low, high = inside.min(axis=0) - 0.03 * reach, inside.max(axis=0) + 0.03 * reach
    width = 10.0
    figure = new_figure(width, float(np.clip(0.86 * width * (high[1] - low[1]) / (high[0] - low[0]), 3.5, 9.0)))
    axes = figure.add_subplot()
    axes.scatter(real[:, 0], real[:, 1], s=0.6, color=FAINT, alpha=0.35, linewidths=0, rasterized=True)
    order = np.argsort(pair.distance)  # the worst are drawn last
    size = np.where(pair.distance[order] > 0.2, 3.0, 1.0)
    colour = np.clip(pair.distance[order], *_DISTANCES_M)
    norm = LogNorm(*_DISTANCES_M)
    dots = axes.scatter(
        sim[order, 0], sim[order, 1], s=size, c=colour, norm=norm, cmap=ERROR_MAP, linewidths=0, rasterized=True
    )
    ticks = (0.01, 0.03, 0.1, 0.3, 1.0)
    bar = add_bar(figure, dots, "to the nearest real point", ax=axes, shrink=0.8, pad=0.01, extend="both", ticks=ticks)
    bar.ax.set_yticklabels(["1 cm", "3 cm", "10 cm", "30 cm", "1 m"])
    bar.minorticks_off()
    axes.plot(0, 0, marker=(3, 0, -90), markersize=10, color=INK)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    style_axes(axes, "simulated points from above (grey: real points)", "x, forward [m]", "y, left [m]", panel=True)
    return to_png(figure)


def draw_range_images(pair: Pair) -> bytes:
    """Range images, real above simulated, and their difference with missing and surplus returns marked."""
    from matplotlib.patches import Patch

    images = pair.images
    ranges = np.concatenate([images.real[images.real > 0], images.sim[images.sim > 0]])
    top = float(np.quantile(ranges, 0.98)) if len(ranges) else 1.0
    figure = new_figure(14.0, 6.4)
    panels = figure.subplots(3, 1, sharex=True)
    for axes, image, title in zip(panels, (images.real, images.sim), ("real", "simulated"), strict=False):
        shown = np.where(image > 0, image, np.nan)
        drawn = axes.imshow(shown, aspect="auto", interpolation="nearest", cmap=DEPTH_MAP, vmin=0.0, vmax=top)
        style_axes(axes, f"{title} range (blank: no return, or no match)", "", "row", grid=False, panel=True)
        add_bar(figure, drawn, "range [m]", ax=axes, pad=0.01)
    both = (images.real > 0) & (images.sim > 0)
    difference = np.where(both, images.sim - images.real, np.nan)
    limits = {"vmin": -_DIFFERENCE_M, "vmax": _DIFFERENCE_M}
    drawn = panels[2].imshow(difference, aspect="auto", interpolation="nearest", cmap="RdBu_r", **limits)
    add_bar(figure, drawn, "sim − real [m]", ax=panels[2], pad=0.01, extend="both")
    only_real, only_sim = (images.real > 0) & ~both, (images.sim > 0) & ~both
    panels[2].imshow(_mask(only_real, ORANGE), aspect="auto", interpolation="nearest")
    panels[2].imshow(_mask(only_sim, GREEN), aspect="auto", interpolation="nearest")
    style_axes(panels[2], "difference", f"column ({images.layout})", "row", grid=False)
    panels[2].set_facecolor(_EMPTY)
    marks = [
        Patch(color=_EMPTY, label="no return in either, or no match"),
        Patch(color=ORANGE, label="missing return"),
        Patch(color=GREEN, label="surplus return"),
    ]
    panels[2].legend(
        handles=marks,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        fontsize=8,
        frameon=False,
        labelcolor=INK,
        borderpad=0.1,
    )
    return to_png(figure)


def draw_intensity(pair: Pair) -> bytes | None:
    """Simulated over real intensity of the beams that returned in both, or None where a side has none."""
    from matplotlib.colors import LogNorm

    sim, real = pair.beams
    both = sim.returned[pair.match.sim] & real.returned[pair.match.real]
    x, y = real.intensity[pair.match.real[both]], sim.intensity[pair.match.sim[both]]
    if not len(x) or not x.any() or not y.any():
        return None
    top = float(max(np.quantile(x, 0.995), np.quantile(y, 0.995)))
    figure = new_figure(5.4, 4.4)
    axes = figure.add_subplot()
    counts, _, _ = np.histogram2d(np.clip(x, 0, top), np.clip(y, 0, top), bins=40, range=((0, top), (0, top)))
    counts[counts == 0] = np.nan
    drawn = axes.imshow(
        counts.T, origin="lower", extent=(0, top, 0, top), norm=LogNorm(), cmap="viridis", aspect="equal"
    )
    add_bar(figure, drawn, "beams", ax=axes, pad=0.02)
    axes.plot([0, top], [0, top], color=VERMILION, linewidth=1.0, label="equal")
    axes.legend(loc="upper left", fontsize=8, frameon=False, labelcolor=INK)
    style_axes(axes, "intensity of matched beams", "real", "simulated", panel=True)
    return to_png(figure)


def draw_sweeps(rows: list[dict[str, Any]]) -> bytes | None:
    """Distance and range errors of each sweep of the log, or None for a single sweep."""
    if len(rows) < 2:
        return None
    figure = new_figure(11.0, 3.0)
    axes = figure.add_subplot()
    at = [row["real"] for row in rows]
    for name, colour in (("c2c_m", BLUE), ("range_mean_m", VERMILION), ("range_median_m", ORANGE)):
        values = np.array([np.nan if row.get(name) is None else row[name] for row in rows])
        axes.plot(at, values, marker="o", markersize=3, color=colour, label=name)
    axes.set_ylim(bottom=0.0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    style_axes(axes, "sweep by sweep", "real sweep", "metres")
    return to_png(figure)


def new_figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    return figure


def style_axes(axes: Any, title: str, x: str, y: str, grid: bool = True, panel: bool = False) -> None:
    """Give axes the common look; a ``panel`` has a ground of its own."""
    axes.set_facecolor(_PANEL if panel else "none")
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    if grid:
        axes.grid(color=FAINT, linewidth=0.6, alpha=0.3)
        axes.set_axisbelow(True)


def _mask(where: Array, colour: str) -> Array:
    """An RGBA image of ``colour`` where ``where`` is true."""
    from matplotlib.colors import to_rgba

    image = np.zeros((*where.shape, 4))
    image[where] = to_rgba(colour)
    return image


def add_bar(figure: Any, drawn: Any, label: str, **place: Any) -> Any:
    """A colour bar with text in the colour of the picture's."""
    bar = figure.colorbar(drawn, **place)
    bar.set_label(label, color=INK, fontsize=9)
    bar.ax.tick_params(labelsize=8, colors=INK)
    bar.outline.set_edgecolor(FAINT)
    return bar


def to_png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()
