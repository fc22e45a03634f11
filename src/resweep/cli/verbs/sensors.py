"""``resweep sensors``: the catalog, one sensor's spec or picture, or the spec that a log shows."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resweep.cli.shared.completion import complete_sensors
from resweep.cli.shared.options import Schema, Template, parse_local
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.sensors import Sensor
    from resweep.sensors.infer.spec_fit import SpecFit


def sensors(
    name: Annotated[
        str | None, typer.Argument(autocompletion=complete_sensors, help="A catalog name or a sensor's YAML file.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the firing pattern and the beam to a PNG.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            parser=parse_local,
            metavar="PATH",
            help="The PNG to write (NAME.png if left out), or the YAML of --fit.",
        ),
    ] = None,
    fit: Annotated[
        str | None, typer.Option("--fit", metavar="LOG", help="Estimate the sensor that recorded LOG.")
    ] = None,
    template: Template = False,
    schema: Schema = False,
    rate: Annotated[float | None, typer.Option("--rate", metavar="HZ", help="Another rotation rate.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
) -> None:
    """List the sensors, show the spec of one, draw it, or fit one to a log.

    Examples:

      resweep sensors

      resweep sensors velodyne-hdl-64e --rate 5

      resweep sensors livox-avia --plot -o avia.png

      resweep sensors --fit LOG -o my-lidar.yaml

      resweep sensors --template > my-lidar.yaml
    """
    from resweep.cli.shared.sensor_tables import count_figures, print_catalog, print_spec
    from resweep.cli.shared.templates import make_sensor_template, print_help
    from resweep.sensors import Sensor, load_sensor, sensor_names

    if template or schema:
        given = any((name, plot, output, fit, rate, json, template and schema))
        print_help(make_sensor_template() if template else None, Sensor, given)
        return

    if fit is not None:
        if name is not None or rate is not None:
            raise ResweepError("sensors: --fit takes a log, and no NAME or --rate of a sensor")
        _fit_to_log(fit, output, plot, json)
        return
    if name is None:
        if plot or output is not None or rate is not None:
            raise ResweepError("sensors: --plot, -o and --rate need the NAME of a sensor")
        print_catalog([load_sensor(item) for item in sensor_names()], json)
        return
    sensor = load_sensor(name)
    if rate is not None:
        sensor = sensor.with_(rotation_rate_hz=rate)
    if plot or output is not None:
        _plot(sensor, output or Path(f"{sensor.name}.png"), json)
    elif json:
        typer.echo(
            json_format.dumps({**sensor.model_dump(mode="json", exclude_none=True), **count_figures(sensor)}, indent=2)
        )
    else:
        print_spec(sensor)


def _fit_to_log(log: str, output: Path | None, plot: bool, json: bool) -> None:
    from resweep.calibrate import fit_sensor
    from resweep.cli.shared.sensor_tables import make_fit_record, print_fit
    from resweep.files import atomic_file

    if output is not None and output.suffix.lower() not in (".yaml", ".yml"):
        raise ResweepError(f"{output}: a fitted sensor is written as YAML; give -o NAME.yaml")
    found = fit_sensor(log, None if output is None else output.stem)
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(found.sensor.to_yaml(), encoding="utf-8")
    if json:
        typer.echo(json_format.dumps(make_fit_record(found, output), indent=2))
    else:
        print_fit(found)
        typer.echo(str(output) if output else "give -o NAME.yaml to keep it")
    if plot:
        _plot(found.sensor, (output or Path(f"{found.sensor.name}.yaml")).with_suffix(".png"), json=False)


def _make_record(found: SpecFit, character: Character, output: Path | None) -> dict[str, Any]:
    return {
        **found.sensor.model_dump(mode="json", exclude_none=True),
        **_count_figures(found.sensor),
        "nearest": found.nearest.name,
        "elevation_rms_deg": round(found.elevation_rms_deg, 3),
        "character": character.to_dict(),
        "yaml": None if output is None else str(output),
    }


def _print_fit(found: SpecFit) -> None:
    from rich.table import Table

    from resweep.terminal import make_console

    grid, block = found.grid, found.sensor.pattern.model_dump()["channels"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ring", "elevation °", "height m", "step °", "azimuth offset °", "delay µs", "returns"):
        table.add_column(title, justify="right", no_wrap=True)
    seen = [ring for ring, value in enumerate(grid.elevations_deg) if value == value]
    for at, ring in enumerate(seen):
        offset, delay = block["azimuth_offset_deg"], block["firing_time_s"]
        table.add_row(
            str(ring),
            f"{grid.elevations_deg[ring]:.3f}",
            f"{grid.channels.height_m[ring]:.3f}",
            f"{grid.step[ring] * 360.0 / grid.turn:.4f}",
            "-" if offset is None else f"{offset[at]:.3f}",
            "-" if delay is None else f"{1e6 * delay[at]:.2f}",
            str(int(found.returns[ring])),
        )
    make_console().print(table)
    sensor = found.sensor
    typer.echo(
        f"{sensor.n_channels} rings, {grid.n_columns} columns a turn, {sensor.rotation_rate_hz:g} Hz, "
        f"{sensor.range_min_m:g} to {sensor.range_max_m:g} m"
    )
    typer.echo(f"nearest in the catalog: {found.nearest.name}, {found.elevation_rms_deg:.2f}° RMS in elevation")


def _print_character(character: Character) -> None:
    from rich.table import Table

    from resweep.terminal import make_console

    table = Table(box=None, pad_edge=False, header_style="bold", title=f"from {character.basis}", title_justify="left")
    for title in ("figure", "value", "what it rests on, or why it is unknown"):
        table.add_column(title, overflow="fold")
    for name, quantity in character.quantities.items():
        table.add_row(name, quantity.describe(), quantity.note)
    make_console().print(table)


def _plot(sensor: Sensor, path: Path, json: bool) -> None:
    from resweep.sensors.pattern_plot import plot_sensor

    plot_sensor(sensor, path)
    typer.echo(json_format.dumps({"name": sensor.name, "png": str(path)}) if json else str(path))
