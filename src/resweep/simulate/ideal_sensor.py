"""A sensor that measures without errors."""

from __future__ import annotations

from resweep.sensors import Sensor

_RECEIVER = (
    "range_noise_sigma_m",
    "range_noise_per_m",
    "range_noise_per_tan_m",
    "range_quantisation_m",
    "intensity_noise_sigma",
)
_POINTING = ("encoder_step_rad", "sigma_h_rad", "sigma_v_rad")


def make_ideal_sensor(sensor: Sensor) -> Sensor:
    """The sensor without noise, scatter, steps, and errors of its lasers and its pointing; beam and pattern stay."""
    receiver = {f"receiver.{name}": 0.0 for name in _RECEIVER}
    pointing = {f"pointing.{name}": 0.0 for name in _POINTING}
    return sensor.with_(lasers=None, scatter=None, **receiver, **pointing)
