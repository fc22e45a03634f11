"""Sensors for people: the catalog as a table, a spec, and what was fitted to a log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.outputs import print_table
from resweep.errors import ResweepError
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from resweep.calibrate import SensorFit
    from resweep.calibrate.sensor.fit_sensor import SensorFigures
    from resweep.sensors import Sensor


def add_scatter(sensor: Sensor, world: Path) -> Sensor:
    """The sensor with the scatter that the build of a world estimated, as far as it carries over."""
    from resweep.worlds import load_world

    calibration = load_world(world).calibration
    if calibration is None or calibration.scatter is None:
        raise ResweepError(f"{world}: knows no scatter; give a world that was built from a drive with intensities")
    return sensor.with_scatter(calibration.scatter)


def fit_to_log(log: str, output: Path | None, plot: bool, json: bool, scatter: Path | None = None) -> None:
    """Fit a sensor to a log, with the scatter of a world if one is given; write, draw and print it."""
    from resweep.calibrate import fit_sensor
    from resweep.files import atomic_file

    if output is not None and output.suffix.lower() not in (".yaml", ".yml"):
        raise ResweepError(f"{output}: a fitted sensor is written as YAML; give -o NAME.yaml")
    found = fit_sensor(log, None if output is None else output.stem)
    if scatter is not None:
        found = replace(found, sensor=add_scatter(found.sensor, scatter))
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(found.sensor.to_yaml(), encoding="utf-8")
    if json:
        typer.echo(format_json(_record_fit(found, output), indent=2))
    else:
        _print_fit(found)
        typer.echo(str(output) if output else "give -o NAME.yaml to keep it")
    if plot:
        draw_pattern(found.sensor, (output or Path(f"{found.sensor.name}.yaml")).with_suffix(".png"), json=False)


def draw_pattern(sensor: Sensor, path: Path, json: bool) -> None:
    """Draw the firing pattern and the beam of a sensor, and print where."""
    from resweep.sensors.pattern_plot import plot_sensor

    plot_sensor(sensor, path)
    typer.echo(format_json({"name": sensor.name, "png": str(path)}) if json else str(path))


def _record_fit(found: SensorFit, output: Path | None) -> dict[str, Any]:
    """A fitted sensor for ``--json``."""
    from resweep.sensors import measure_pattern

    return {
        **found.sensor.model_dump(mode="json", exclude_none=True),
        **measure_pattern(found.sensor),
        "nearest": found.pattern.nearest.name,
        "elevation_rms_deg": round(found.pattern.elevation_rms_deg, 3),
        "character": found.figures.to_dict(),
        "yaml": None if output is None else str(output),
    }


def _print_fit(found: SensorFit) -> None:
    """Print a fitted sensor: its rings, its reach, the nearest of the catalog, and what its returns show."""
    grid, block = found.pattern.grid, found.sensor.pattern.model_dump()["channels"]
    offset, delay = block["azimuth_offset_deg"], block["firing_time_s"]
    seen = [ring for ring, value in enumerate(grid.elevations_deg) if value == value]
    rows = [
        (
            str(ring),
            f"{grid.elevations_deg[ring]:.3f}",
            f"{grid.channels.height_m[ring]:.3f}",
            f"{grid.step[ring] * 360.0 / grid.turn:.4f}",
            "-" if offset is None else f"{offset[at]:.3f}",
            "-" if delay is None else f"{1e6 * delay[at]:.2f}",
            str(int(found.pattern.returns[ring])),
        )
        for at, ring in enumerate(seen)
    ]
    titles = ("ring", "elevation °", "height m", "step °", "azimuth offset °", "delay µs", "returns")
    print_table((), titles, rows)
    sensor = found.sensor
    typer.echo(
        f"{sensor.n_channels} rings, {grid.n_columns} columns a turn, {sensor.rotation_rate_hz:g} Hz, "
        f"{sensor.range_min_m:g} to {sensor.range_max_m:g} m"
    )
    typer.echo(
        f"nearest in the catalog: {found.pattern.nearest.name}, {found.pattern.elevation_rms_deg:.2f}° RMS in elevation"
    )
    _print_figures(found.figures)


def _print_figures(figures: SensorFigures) -> None:
    from rich.table import Table

    from resweep.terminal import make_console

    table = Table(box=None, pad_edge=False, header_style="bold", title=f"from {figures.basis}", title_justify="left")
    for title in ("figure", "value", "what it rests on, or why it is unknown"):
        table.add_column(title, overflow="fold")
    for name, quantity in figures.quantities.items():
        table.add_row(name, quantity.describe(), quantity.note)
    make_console().print(table)


def print_catalog(catalog: list[Sensor], json: bool) -> None:
    """Print sensors, one a line, or as JSON."""
    from resweep.sensors import measure_pattern

    rows = [(sensor, measure_pattern(sensor)) for sensor in catalog]
    if json:
        keys = ("name", "title", "range_min_m", "range_max_m")
        brief = [{**{key: getattr(sensor, key) for key in keys}, **figures} for sensor, figures in rows]
        typer.echo(format_json(brief, indent=2))
        return
    cells = [
        (
            sensor.name,
            str(figures["channels"]),
            f"{figures['elevation_from_deg']:.1f}…{figures['elevation_to_deg']:.1f}",
            f"{sensor.range_min_m:g}…{sensor.range_max_m:g}",
            f"{1e3 * sensor.beam.divergence_h_rad:.2g}×{1e3 * sensor.beam.divergence_v_rad:.2g}",
            f"{figures['pulses_per_sweep']:,}",
            sensor.receiver.mode,
        )
        for sensor, figures in rows
    ]
    note = "beam: full divergence, horizontal × vertical; pulses: in one sweep"
    print_table(("name",), ("rings", "elevation °", "range m", "beam mrad", "pulses"), cells, "mode", note)


def print_spec(sensor: Sensor, json: bool) -> None:
    """Print the YAML of a sensor, with what follows from it as comments; or all of it as JSON."""
    from resweep.sensors import measure_pattern

    figures = measure_pattern(sensor)
    if json:
        typer.echo(format_json({**sensor.model_dump(mode="json", exclude_none=True), **figures}, indent=2))
        return
    typer.echo(sensor.to_yaml(), nl=False)
    typer.echo(f"# {figures['pulses_per_sweep']:,} pulses in a sweep of {figures['sweep_period_s']:g} s")
    if sensor.scatter is not None:
        typer.echo(f"# scatter: {sensor.scatter.describe()}")
    if figures["azimuth_step_deg"]:
        typer.echo(f"# azimuth step {figures['azimuth_step_deg']:g}°")
