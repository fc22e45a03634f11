"""The native scene of a world, and the native plan of a sensor."""

from __future__ import annotations

import numpy as np

from resweep import _core
from resweep.errors import ResweepError
from resweep.sensors import Sensor, stencil
from resweep.worlds import World
from resweep.worlds.native import build_scene
from resweep.worlds.stream.cells import build_divided_scene, make_cells

# The native values of the choices in a sensor's spec.
_SPOTS = {
    "circular": _core.Spot.CIRCULAR,
    "rectangular": _core.Spot.RECTANGULAR,
    "elliptical": _core.Spot.ELLIPTICAL,
}
_PROFILES = {"uniform": _core.Profile.UNIFORM, "gaussian": _core.Profile.GAUSSIAN}
_MODES = {
    "first": _core.ReturnMode.FIRST,
    "last": _core.ReturnMode.LAST,
    "strongest": _core.ReturnMode.STRONGEST,
    "strongest-and-last": _core.ReturnMode.STRONGEST_AND_LAST,
    "multiple": _core.ReturnMode.MULTIPLE,
}
_STRONGEST_BY = {"ray": _core.StrongestBy.RAY, "echo": _core.StrongestBy.ECHO}


def make_native_scene(world: World) -> _core.Scene:
    """Build the world's acceleration structure, divided into cells if it has many tiles.

    Arrays stay shared with a world that is not divided.
    """
    try:
        cells = make_cells(world)
        return build_scene(world.lower()) if cells is None else build_divided_scene(cells)
    except RuntimeError as error:
        raise ResweepError(f"world {world!r} cannot be traced: {error}") from error


def make_native_plan(sensor: Sensor) -> _core.Plan:
    """Beam, receiver and noise of a sensor as the tracer takes them."""
    beam, receiver, pointing = sensor.beam, sensor.receiver, sensor.pointing
    drawn = beam.rays == "random"
    offsets, shares = (np.zeros((0, 2), np.float32), np.zeros(0, np.float32)) if drawn else stencil(beam)
    falls = receiver.intensity_falloff == "range-squared"
    return _core.Plan(
        beam=_core.Beam(
            offsets=np.ascontiguousarray(offsets),
            shares=np.ascontiguousarray(shares),
            random=drawn,
            n_rays=beam.rays_per_pulse,
            spot=_SPOTS[beam.spot],
            profile=_PROFILES[beam.profile],
            divergence_h=beam.divergence_h_rad,
            divergence_v=beam.divergence_v_rad,
        ),
        receiver=_core.Receiver(
            mode=_MODES[receiver.mode],
            max_returns=receiver.max_returns,
            strongest_by=_STRONGEST_BY[receiver.strongest_by],
            signal_cutoff=receiver.signal_cutoff_m,
            threshold=receiver.detection_threshold,
            range_min=sensor.range_min_m,
            range_max=sensor.range_max_m,
            falloff_reference=receiver.falloff_reference_m if falls else 0.0,
            separation=receiver.return_separation_m,
            signal_reference=0.0 if falls or receiver.detection is None else receiver.detection.reference_m,
        ),
        noise=_core.Noise(
            range_sigma=receiver.range_noise_sigma_m,
            range_sigma_per_m=receiver.range_noise_per_m,
            range_quantum=receiver.range_quantisation_m,
            intensity_sigma=receiver.intensity_noise_sigma,
            encoder_step=pointing.encoder_step_rad,
            pointing_sigma_h=pointing.sigma_h_rad,
            pointing_sigma_v=pointing.sigma_v_rad,
        ),
        calibration=_make_native_calibration(sensor),
    )


def _make_native_calibration(sensor: Sensor) -> _core.SensorCalibration | None:
    """Errors and gains of lasers, and the detection curve, for the tracer; None if the spec has none of them."""
    lasers, curve, slant = sensor.lasers, sensor.receiver.detection, sensor.receiver.range_noise_per_tan_m
    if lasers is None and curve is None and slant == 0.0:
        return None
    lists = (
        None if lasers is None else lasers.range_bias_m,
        None if lasers is None else lasers.intensity_gain,
        None if curve is None else curve.signal,
        None if curve is None else curve.probability,
    )
    bias, gain, signal, probability = (np.asarray(() if values is None else values, np.float32) for values in lists)
    return _core.SensorCalibration(
        range_bias=bias, gain=gain, signal=signal, probability=probability, range_sigma_per_tan=slant
    )
