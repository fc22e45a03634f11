"""Beam and receiver for beams that were recorded: their pattern is that of the recording."""

from __future__ import annotations

from resweep.log import Log
from resweep.sensors import Sensor

NAME = "recorded"  # of a sensor of which nothing is known
_SPEC = {
    "name": NAME,
    "range_max_m": 200.0,
    "wavelength_nm": 905.0,
    "rotation_rate_hz": 10.0,
    "pattern": {"kind": "spinning", "azimuth_resolution_deg": 0.2, "channels": {"elevation_deg": [0.0]}},
    "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
    "receiver": {"mode": "strongest"},
}


def make_unknown_sensor() -> Sensor:
    """A sensor whose beams are one exact ray each, up to 200 m."""
    return Sensor.model_validate(_SPEC)


def make_one_ray_sensor(slope: float, range_max_m: float) -> Sensor:
    """A sensor without noise whose one ray stands for a beam ``slope`` wide at 1 m, up to ``range_max_m``."""
    beam = {"divergence_h_rad": slope, "divergence_v_rad": slope, "rays": "single"}
    return Sensor.model_validate({**_SPEC, "range_max_m": range_max_m, "beam": beam})


def make_recorded_sensor(log: Log) -> Sensor:
    """Beam and receiver of the sensor that recorded a log, without range noise; its pattern is not used.

    Where the sensor is unknown, each beam is one exact ray up to 200 m. There is no range noise either way: the
    surfaces of a world built from a recording hold its noise already. Biases, gains and scatter are those of the
    world's calibration.
    """
    if log.sensor is None:
        return make_unknown_sensor()
    noises = ("range_noise_sigma_m", "range_noise_per_m", "range_noise_per_tan_m")
    return log.sensor.with_(lasers=None, scatter=None, **{f"receiver.{name}": 0.0 for name in noises})
