"""Where errors are, as pictures: on the ground, by azimuth and range, and by stated confidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.evaluation.compare.pair import Pair
from resweep.evaluation.metrics.histograms import bhattacharyya
from resweep.evaluation.report.figures import (
    BLUE,
    DEPTH_MAP,
    ERROR_MAP,
    FAINT,
    INK,
    add_bar,
    new_figure,
    style_axes,
    to_png,
)
from resweep.pose import Array

_AZIMUTH_DEG, _RANGE_M = 2.0, 0.5  # bins of the histogram by azimuth and range
_FULL_BEAMS = 20  # of a cell, from which on it is drawn at full strength


def draw_ground(ground: dict[str, Any]) -> bytes:
    """The share of true returns that are right, cell by cell from above; cells of few beams are pale."""
    cell = float(ground["cell_m"])
    x, y = (np.rint(np.array(ground[name]) / cell).astype(np.int64) for name in ("x_m", "y_m"))
    beams, right = (np.array(ground[name], float) for name in ("beams", "right"))
    shape = (int(np.ptp(y)) + 1, int(np.ptp(x)) + 1)
    share, strength = np.full(shape, np.nan), np.zeros(shape)
    share[y - y.min(), x - x.min()] = right / beams
    strength[y - y.min(), x - x.min()] = np.clip(beams / _FULL_BEAMS, 0.15, 1.0)
    width = 10.0
    figure = new_figure(width, float(np.clip(0.85 * width * shape[0] / shape[1], 2.5, 9.0)))
    axes = figure.add_subplot()
    extent = (x.min() * cell, (x.max() + 1) * cell, y.min() * cell, (y.max() + 1) * cell)
    drawn = axes.imshow(
        share,
        origin="lower",
        extent=extent,
        cmap=ERROR_MAP,
        vmin=0.0,
        vmax=1.0,
        alpha=strength,
        interpolation="nearest",
    )
    add_bar(figure, drawn, "share within 10 cm", ax=axes, shrink=0.8, pad=0.01)
    axes.ticklabel_format(useOffset=False, style="plain")
    style_axes(axes, "share of returns within 10 cm, from above (pale: few beams)", "x [m]", "y [m]", panel=True)
    return to_png(figure)


def draw_angle_range(pair: Pair) -> bytes | None:
    """Histograms of returns by azimuth and range, real beside simulated; None where a side has no return."""
    from matplotlib.colors import LogNorm

    clouds = (pair.real.points, pair.sim.points)
    if not all(len(points) for points in clouds):
        return None
    reach = max(float(np.quantile(np.linalg.norm(points, axis=1), 0.98)) for points in clouds)
    real, sim = (_count(points, reach) for points in clouds)
    figure = new_figure(11.0, 4.0)
    panels = figure.subplots(1, 2, sharey=True)
    norm = LogNorm(1, max(real.max(), sim.max(), 2))
    apart = bhattacharyya(real, sim)
    for axes, counts, title in zip(panels, (real, sim), ("real", "simulated"), strict=True):
        shown = np.where(counts > 0, counts, np.nan)
        drawn = axes.imshow(
            shown, origin="lower", aspect="auto", extent=(-180, 180, 0, reach), norm=norm, cmap=DEPTH_MAP
        )
        style_axes(axes, title, "azimuth [deg]", "range [m]" if title == "real" else "", grid=False, panel=True)
    panels[1].set_title(f"simulated, Bhattacharyya distance {apart:.3f}", loc="left", fontsize=10, color=INK)
    add_bar(figure, drawn, "returns", ax=panels, pad=0.01)
    return to_png(figure)


def _count(points: Array, reach: float) -> Array:
    """Returns (ranges, azimuths) up to ``reach`` metres."""
    azimuth = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    bins = (max(round(reach / _RANGE_M), 1), round(360 / _AZIMUTH_DEG))
    counts, _, _ = np.histogram2d(
        np.linalg.norm(points, axis=1), azimuth, bins=bins, range=((0.0, reach), (-180.0, 180.0))
    )
    return np.asarray(counts)


def draw_calibration(rows: list[dict[str, float]]) -> bytes:
    """A reliability diagram: the share that is right over the stated confidence, and the returns at each."""
    figure = new_figure(6.0, 4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    stated, right, count = (np.array([row[name] for row in rows]) for name in ("confidence", "right", "returns"))
    upper.plot([0, 1], [0, 1], color=FAINT, linewidth=1.0, linestyle="--", label="calibrated")
    upper.plot(stated, right, marker="o", color=BLUE, label="measured")
    error = float(np.abs(stated - right) @ count / count.sum())
    upper.set(xlim=(0, 1), ylim=(0, 1.02))
    upper.legend(loc="upper left", fontsize=8, frameon=False, labelcolor=INK)
    style_axes(upper, f"confidence and truth, calibration error {error:.3f}", "", "share within 10 cm")
    lower.bar(stated, count / count.sum(), width=0.06, color=BLUE)
    style_axes(lower, "", "stated confidence", "share of returns")
    return to_png(figure)
