"""``resweep sensors``: the catalog, one sensor's spec or picture, or the spec that a log shows."""

from __future__ import annotations

from pathlib import Path

from resweep.cli.options import outputs, sensing
from resweep.errors import ResweepError


def sensors(
    name: sensing.SensorName = None,
    plot: sensing.Plot = False,
    output: outputs.PlotOrFit = None,
    fit: sensing.Fit = None,
    template: outputs.Template = False,
    schema: outputs.Schema = False,
    rate: sensing.Rate = None,
    scatter: sensing.ScatterOf = None,
    json: outputs.JsonOfSensors = False,
) -> None:
    """List the sensors, show the spec of one, draw it, or fit one to a log.

    Examples:
      resweep sensors
      resweep sensors velodyne-hdl-64e --rate 5
      resweep sensors livox-avia --plot -o avia.png
      resweep sensors --fit LOG -o my-lidar.yaml
      resweep sensors kitti-hdl-64e --scatter seq00.world > scattering.yaml
      resweep sensors --template > my-lidar.yaml
    """
    from resweep.cli.shared.sensor_tables import add_scatter, draw_pattern, fit_to_log, print_catalog, print_spec
    from resweep.cli.shared.templates import print_settings
    from resweep.sensors import load_sensor, sensor_names

    if print_settings("sensor", template, schema, any((name, plot, output, fit, rate, scatter, json))):
        return
    if fit is not None:
        if name is not None or rate is not None:
            raise ResweepError("sensors: --fit takes a log, and no NAME or --rate of a sensor")
        fit_to_log(fit, output, plot, json, scatter)
        return
    if name is None:
        if plot or output is not None or rate is not None or scatter is not None:
            raise ResweepError("sensors: --plot, -o, --rate and --scatter need the NAME of a sensor")
        print_catalog([load_sensor(item) for item in sensor_names()], json)
        return
    sensor = load_sensor(name)
    if rate is not None:
        sensor = sensor.with_(rotation_rate_hz=rate)
    if scatter is not None:
        sensor = add_scatter(sensor, scatter)
    if plot or output is not None:
        draw_pattern(sensor, output or Path(f"{sensor.name}.png"), json)
    else:
        print_spec(sensor, json)
