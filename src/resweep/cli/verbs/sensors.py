"""``resweep sensors``: the catalog, one sensor's spec or picture, or the spec that a log shows."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.options import outputs, sensing
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.sensors import Sensor


def sensors(
    name: sensing.SensorName = None,
    plot: sensing.Plot = False,
    output: outputs.PlotOrFit = None,
    fit: sensing.Fit = None,
    template: outputs.Template = False,
    schema: outputs.Schema = False,
    rate: sensing.Rate = None,
    json: outputs.JsonOfSensors = False,
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


def _plot(sensor: Sensor, path: Path, json: bool) -> None:
    from resweep.sensors.pattern_plot import plot_sensor

    plot_sensor(sensor, path)
    typer.echo(json_format.dumps({"name": sensor.name, "png": str(path)}) if json else str(path))
