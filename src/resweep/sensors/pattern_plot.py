"""A picture of a sensor: where it fires, when, and the spot of one beam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from resweep.files import atomic_file
from resweep.pose import Array
from resweep.sensors.firing import Firing, fire
from resweep.sensors.patterns import Rosette
from resweep.sensors.spec import Beam, Sensor
from resweep.sensors.stencil import find_half_widths, random_offsets, stencil

_MAX_DOTS = 120_000
_ZOOM_DEG = 6.0


def plot_sensor(sensor: Sensor, path: str | Path) -> Path:
    """Write a PNG of the firing pattern and the beam to ``path``; returns the path.

    The whole field by azimuth and elevation coloured by time; of a wide field also a few degrees around
    the middle, where single pulses show; the elevation of each ring, or for a rosette the coverage as
    frames add up; and the spot of a beam with its rays.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    firing = fire(sensor)
    azimuth, elevation = angles_deg(firing.direction)
    figure = Figure(figsize=(13.0, 8.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{sensor.title or sensor.name}: {_summarise(sensor, firing)}", fontsize=13)
    wide = bool(np.ptp(azimuth) > 2.0 * np.ptp(elevation))
    if wide:
        grid = figure.add_gridspec(2, 3, height_ratios=(1.15, 1.0))
        field, zoom, rings, spot = (
            figure.add_subplot(cell) for cell in (grid[0, :], grid[1, 0], grid[1, 1], grid[1, 2])
        )
    else:
        grid = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.0, 0.9))
        boxes = (grid[:, :2], grid[0, 2], grid[1, 2])
        field, rings, spot = (figure.add_subplot(cell) for cell in boxes)
    _draw_field(figure, field, azimuth, elevation, firing)
    if wide:
        _draw_zoom(zoom, azimuth, elevation, firing)
    else:
        field.set_aspect("equal")
    if isinstance(sensor.pattern, Rosette):
        _draw_coverage(rings, sensor)
    else:
        _draw_rings(rings, sensor)
    _draw_spot(spot, sensor.beam)
    target = Path(path)
    with atomic_file(target) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    return target


def angles_deg(direction: Array) -> tuple[Array, Array]:
    """Azimuth and elevation in degrees of unit directions (b, 3)."""
    x, y, z = np.asarray(direction, dtype=np.float64).T
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def compute_coverage(sensor: Sensor, n_sweeps: int, cell_deg: float = 1.0) -> Array:
    """Share of the field's cells hit after 1, 2, … ``n_sweeps`` sweeps (n_sweeps,).

    Cells are ``cell_deg`` squares of azimuth and elevation; the field is what all the sweeps reach.
    """
    cells = []
    for index in range(n_sweeps):
        azimuth, elevation = angles_deg(fire(sensor, index).direction)
        row = np.floor((elevation + 90.0) / cell_deg).astype(np.int64)
        cells.append(np.unique(row * 100_000 + np.floor((azimuth + 180.0) / cell_deg).astype(np.int64)))
    every, first = np.unique(np.concatenate(cells), return_index=True)
    sweep_of = np.repeat(np.arange(n_sweeps), [len(part) for part in cells])[first]
    return np.cumsum(np.bincount(sweep_of, minlength=n_sweeps)) / len(every)


def _summarise(sensor: Sensor, firing: Firing) -> str:
    pace = f"{1.0 / sensor.sweep_period_s:g} Hz" if sensor.sweep_period_s < 1.0 else f"{sensor.sweep_period_s:g} s"
    step = f", {firing.azimuth_step_deg:.3g}° in azimuth" if firing.azimuth_step_deg else ""
    rings = f"{firing.n_rings} ring" + ("s" if firing.n_rings > 1 else "")
    return f"{len(firing):,} pulses a sweep, {rings}, {pace}{step}"


def _draw_field(figure: Any, axes: Any, azimuth: Array, elevation: Array, firing: Firing) -> None:
    # Whole columns are left out, since every n-th pulse would show rings or lines that are not there.
    thin = max(1, -(-len(firing) // _MAX_DOTS))
    keep = firing.column % thin == 0
    size = float(np.clip(6e4 / max(int(keep.sum()), 1), 0.6, 12.0))
    unit, scale = ("s", 1.0) if firing.time[-1] > 1.0 else ("ms", 1e3)
    colour = scale * firing.time[keep]
    dots = axes.scatter(azimuth[keep], elevation[keep], c=colour, s=size, cmap="viridis", linewidths=0, rasterized=True)
    figure.colorbar(dots, ax=axes, label=f"time in the sweep [{unit}]", pad=0.01)
    title = "Field of view" if thin == 1 else f"Field of view, one column in {thin} shown"
    _label(axes, title, "azimuth [°], left is positive", "elevation [°]")
    around = np.ptp(azimuth) > 300.0
    axes.set_xlim((180, -180) if around else (azimuth.max() + 3, azimuth.min() - 3))
    axes.set_ylim(elevation.min() - 3, elevation.max() + 3)
    if around:
        axes.set_xticks(range(-180, 181, 45))


def _draw_zoom(axes: Any, azimuth: Array, elevation: Array, firing: Firing) -> None:
    middle = float(np.median(elevation))
    near = (np.abs(azimuth) < _ZOOM_DEG / 2) & (np.abs(elevation - middle) < _ZOOM_DEG / 2)
    size = float(np.clip(6e3 / max(int(near.sum()), 1), 1.5, 30.0))
    axes.scatter(azimuth[near], elevation[near], c=firing.time[near], s=size, cmap="viridis", linewidths=0)
    _label(axes, f"The middle {_ZOOM_DEG:g}°, pulse by pulse", "azimuth [°]", "elevation [°]")
    axes.set_xlim(_ZOOM_DEG / 2, -_ZOOM_DEG / 2)
    axes.set_ylim(middle - _ZOOM_DEG / 2, middle + _ZOOM_DEG / 2)
    axes.set_aspect("equal")


def _draw_rings(axes: Any, sensor: Sensor) -> None:
    elevations = np.array(sensor.elevations_deg)
    marker = {"marker": "o", "markersize": 3.0} if len(elevations) <= 256 else {}
    axes.plot(np.arange(len(elevations)), elevations, linewidth=0.8, color="tab:blue", **marker)
    _label(axes, "Elevation of each ring", "ring", "elevation [°]")


def _draw_coverage(axes: Any, sensor: Sensor, n_sweeps: int = 20) -> None:
    seconds = sensor.sweep_period_s * np.arange(1, n_sweeps + 1)
    axes.plot(seconds, 100.0 * compute_coverage(sensor, n_sweeps), marker="o", markersize=3.0, color="tab:blue")
    _label(
        axes, "Coverage grows with time (cells of 1°)", "seconds", f"cells hit, of those hit in {seconds[-1]:g} s [%]"
    )
    axes.set_ylim(0, 105)


def _draw_spot(axes: Any, beam: Beam) -> None:
    from matplotlib.patches import Ellipse, Rectangle

    half = 1e3 * find_half_widths(beam)  # milliradians, as tangents at 1 m
    shape = (
        Rectangle((-half[0], -half[1]), 2 * half[0], 2 * half[1], facecolor="tab:red", alpha=0.15, edgecolor="tab:red")
        if beam.spot == "rectangular"
        else Ellipse((0, 0), 2 * half[0], 2 * half[1], facecolor="tab:red", alpha=0.15, edgecolor="tab:red")
    )
    axes.add_patch(shape)
    if beam.rays == "random":
        rays = random_offsets(beam, np.random.default_rng(0).random((beam.n_rays, 2)))
    else:
        rays = stencil(beam)[0]
    axes.scatter(*(1e3 * rays.T), s=14, color="tab:red", zorder=3)
    reach = 1.25 * max(float(half.max()), 1e-3)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    many = "1 ray" if beam.rays_per_pulse == 1 else f"{beam.rays_per_pulse} rays"
    _label(axes, f"Spot of one beam: {beam.spot}, {many}", "across [mrad = mm at 1 m]", "up [mrad]")


def _label(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
