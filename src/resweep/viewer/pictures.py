"""Static pictures of sweeps: from above, as the sensor sees, and from the side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer import palette
from resweep.viewer.sweep_grid import angles_deg, range_grid

_DPI = 110


def birds_eye(
    sweep: Sweep,
    path: str | Path,
    *,
    labels: LabelSet = UNKNOWN_LABELS,
    reach_m: float | None = None,
    title: str | None = None,
    placed: bool = True,
) -> Path:
    """Draw the returns from above, in the frame of ``sweep.pose`` with motion undone, as a PNG.

    Colours are labels where the sweep has any, else heights. ``labels`` is the vocabulary that names and colours them,
    as ``log.labels`` or ``world.labels`` has it. ``reach_m`` is how far to show around the sensor (default: enough for
    98 % of the returns); circles mark the distance. With ``placed=False`` nothing says where the sensor was: the
    picture shows the cloud alone, with ``reach_m`` around its middle.
    """
    _check_drawable(sweep)
    points = sweep.deskewed()
    middle = np.zeros(2) if placed else np.median(points[:, :2], axis=0)
    points = points - np.array([*middle, 0.0])
    flat = np.hypot(points[:, 0], points[:, 1])
    reach = max(1.05 * float(np.quantile(flat, 0.98)), 1.0) if reach_m is None else reach_m
    points, label = points[flat < 1.5 * reach], sweep.label[flat < 1.5 * reach]
    across, up = _choose_window(points[:, 0], reach), _choose_window(points[:, 1], reach)
    points, across, up = points + np.array([*middle, 0.0]), np.add(across, middle[0]), np.add(up, middle[1])
    scale = 8.4 / max(np.ptp(across), np.ptp(up))  # inches a metre
    width, height = max(scale * np.ptp(across), 6.5) + 1.2, max(scale * np.ptp(up), 3.0) + 0.9
    figure = palette.new_figure(width, height, title or _make_title(sweep, "from above"))
    axes = figure.add_subplot()
    size = _draw_dot(len(points))
    order = np.argsort(points[:, 2])  # higher points are drawn last
    x, y, z = points[order].T
    if labels.is_labelled(label).any():
        axes.scatter(x, y, s=size, c=palette.label_colours(label[order], labels), linewidths=0, rasterized=True)
        palette.add_legend(axes, _list_entries(label, labels), loc="upper right")
    else:
        low, high = np.quantile(z, (0.02, 0.98)) if len(z) else (0.0, 1.0)
        dots = axes.scatter(x, y, s=size, c=z, vmin=low, vmax=high, cmap="viridis", linewidths=0, rasterized=True)
        palette.add_bar(figure, dots, "height above the sensor [m]" if placed else "height [m]", ax=axes)
    if placed:
        _draw_rings(axes, reach)
        axes.plot(0, 0, marker=(3, 0, -90), markersize=11, color=palette.INK)  # the sensor, pointing forward
    axes.set(xlim=across, ylim=up, aspect="equal")
    palette.style_axes(axes, "", *(("x, forward [m]", "y, left [m]") if placed else ("x [m]", "y [m]")))
    return _save(figure, path)


def range_image(
    sweep: Sweep,
    path: str | Path,
    *,
    labels: LabelSet = UNKNOWN_LABELS,
    title: str | None = None,
    placed: bool = True,
) -> Path:
    """Draw the sweep as the sensor sees it, azimuth across and elevation up, as a PNG.

    Above the range of the nearest return of each beam, below its label (or intensity where nothing is
    labelled), with names and colours of the vocabulary ``labels``. Beams without return stay dark. Scans without
    rings are drawn as dots. With ``placed=False`` the title says that the cloud is seen from its origin, as nothing
    says where the sensor was.
    """
    _check_drawable(sweep)
    how = "as the sensor sees" if placed else "from the origin, as the sensor's place is unknown"
    figure = palette.new_figure(14.0, 6.6, title or _make_title(sweep, how))
    panels = figure.subplots(2, 2, width_ratios=(1.0, 0.012))
    (upper, bar), (lower, lower_bar) = panels
    view = _make_view(sweep)
    drawn = view.draw(upper, sweep.range, cmap=palette.DEPTH_MAP, vmin=0.0, vmax=float(np.quantile(sweep.range, 0.98)))
    palette.add_bar(figure, drawn, "range [m]", cax=bar)
    palette.style_axes(upper, "range of the nearest return (dark: none)", "", "elevation [°]")
    labelled = labels.is_labelled(sweep.label).any()
    if labelled:
        view.draw(lower, palette.label_colours(sweep.label, labels))
        entries = _list_entries(sweep.label, labels, max_entries=9)
        palette.add_legend(
            lower, entries, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(entries), frameon=False
        )
        lower_bar.set_axis_off()
    elif not np.any(sweep.intensity):
        lower_bar.set_axis_off()
    else:
        bright = float(np.quantile(sweep.intensity, 0.98)) or 1.0
        palette.add_bar(
            figure, view.draw(lower, sweep.intensity, cmap="magma", vmin=0.0, vmax=bright), "", cax=lower_bar
        )
    below = "label" if labelled else "intensity" if np.any(sweep.intensity) else "intensity: the sweep has none"
    palette.style_axes(lower, below, "azimuth [°], left is positive", "elevation [°]")
    left, right, bottom, top = view.extent
    for axes in (upper, lower):
        axes.set(xlim=(left, right), ylim=(bottom, top))
        if left - right > 300.0:
            axes.set_xticks(range(-180, 181, 45))
    return _save(figure, path)


def close_up(
    points: Array,
    label: Array,
    path: str | Path,
    *,
    boxes: Sequence[tuple[float, float, float, float]],
    labels: LabelSet = UNKNOWN_LABELS,
    legend: Mapping[int, tuple[str, str]] | None = None,
    title: str = "",
    notes: Sequence[tuple[float, float, str]] = (),
) -> Path:
    """Draw points (n, 3) from the side, x across and z up in metres, coloured by ``label`` (n,), as a PNG.

    Each of ``boxes`` (x from, x to, z from, z to) is one panel with equal scales. ``labels`` is the vocabulary;
    ``legend`` gives names and colours in its place. ``notes`` (x, z, text) are written into the first panel.
    """
    from matplotlib.colors import to_rgb

    table = dict(legend or {item: _make_entry(item, labels) for item in np.unique(label).tolist()})
    shapes = [(top - bottom) / (right - left) for left, right, bottom, top in boxes]
    figure = palette.new_figure(13.0, 0.45 + sum(12.2 * shape + 0.55 for shape in shapes), title)
    panels = np.atleast_1d(figure.subplots(len(boxes), 1, height_ratios=shapes))
    for axes, (left, right, bottom, top) in zip(panels, boxes, strict=True):
        seen = (points[:, 0] > left) & (points[:, 0] < right) & (points[:, 2] > bottom) & (points[:, 2] < top)
        size = float(np.clip(3e4 / max(int(seen.sum()), 1), 2.0, 14.0))
        for item, (_, colour) in table.items():
            x, _, z = points[seen & (label == item)].T
            axes.scatter(x, z, s=size, color=to_rgb(colour), linewidths=0)
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        palette.style_axes(axes, "", "x, world [m]", "z, world [m]")
    for x, z, text in notes:
        panels[0].text(x, z, text, color=palette.INK, fontsize=10, va="center", ha="left")
    used = [table[item] for item in table if (label == item).any()]
    palette.add_legend(panels[0], used, loc="upper left", ncols=len(used))
    return _save(figure, path)


@dataclass(frozen=True)
class _View:
    """Where the returns of one sweep go on an azimuth–elevation picture: into cells, or as dots."""

    azimuth: Array
    elevation: Array
    far_first: Array  # the order of drawing: the nearest dots last
    extent: tuple[float, float, float, float]
    cells: Array | None  # (rows, columns) index of the return in each cell, -1: none

    def draw(self, axes: Any, values: Array, **options: Any) -> Any:
        """Draw values (n,), or colours (n, 3), of the returns."""
        if self.cells is None:
            x, y = self.azimuth[self.far_first], self.elevation[self.far_first]
            size = _draw_dot(len(x))
            return axes.scatter(x, y, c=values[self.far_first], s=size, linewidths=0, rasterized=True, **options)
        image = np.asarray(values, dtype=np.float64)[self.cells]
        if image.ndim == 3:
            image = np.concatenate([image, (self.cells >= 0)[..., None]], axis=2)
        else:
            image[self.cells < 0] = np.nan
        return axes.imshow(image, extent=self.extent, origin="lower", aspect="auto", interpolation="nearest", **options)


def _make_view(sweep: Sweep) -> _View:
    azimuth, elevation = angles_deg(sweep.beam_direction[sweep.beam])
    far_first = np.argsort(-sweep.range, kind="stable")
    grid = range_grid(sweep)
    if grid is not None:
        return _View(azimuth, elevation, far_first, grid.extent, grid.cells)
    extent = (azimuth.max() + 1.0, azimuth.min() - 1.0, elevation.min() - 1.0, elevation.max() + 1.0)
    return _View(azimuth, elevation, far_first, extent, None)


def _draw_rings(axes: Any, reach: float) -> None:
    from matplotlib.patches import Circle

    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1e9) if reach / size <= 5)
    for radius in np.arange(step, reach, step):
        axes.add_patch(Circle((0, 0), radius, fill=False, edgecolor=palette.INK, linewidth=0.6, alpha=0.35))
        ground = {"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.8}
        text = {"color": palette.INK, "fontsize": 8, "ha": "center", "va": "center", "bbox": ground, "clip_on": True}
        axes.text(0, -radius, f"{radius:g} m", **text)


def _draw_dot(count: int) -> float:
    """The area of a dot in square points, smaller the more of them (``count``) there are."""
    return float(np.clip(1e5 / max(count, 1), 1.2, 6.0))


def _choose_window(values: Array, reach: float) -> tuple[float, float]:
    """The part of -reach to reach that holds the values and the sensor, with a margin."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    margin = 0.08 * reach
    return max(-reach, min(low, 0.0) - margin), min(reach, max(high, 0.0) + margin)


def _check_drawable(sweep: Sweep) -> None:
    if len(sweep) == 0:
        raise ResweepError("picture: the sweep has no return, so there is nothing to draw; choose another sweep")


def _list_entries(label: Array, labels: LabelSet, max_entries: int = 12) -> list[tuple[str, str]]:
    """Names and colours of the ``max_entries`` frequent labels, by id."""
    known, counts = np.unique(label, return_counts=True)
    listed = np.sort(known[np.argsort(-counts, kind="stable")[:max_entries]])
    return [_make_entry(int(item), labels) for item in listed]


def _make_entry(label: int, labels: LabelSet) -> tuple[str, str]:
    return labels.class_name(label), labels.colour(label)


def _make_title(sweep: Sweep, how: str) -> str:
    beams = f" on {sweep.n_beams:,} beams" if sweep.n_beams != len(sweep) else ""
    return f"{sweep.sensor or 'sweep'}, {how}: {len(sweep):,} returns{beams}"


def _save(figure: Any, path: str | Path) -> Path:
    target = Path(path)
    with atomic_file(target) as temporary:
        # Without matplotlib's version in the file, the same sweep gives the same bytes with another version.
        figure.savefig(temporary, dpi=_DPI, format="png", facecolor=palette.PAPER, metadata={"Software": None})
    return target
