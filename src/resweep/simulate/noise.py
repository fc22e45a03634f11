"""Range noise as a recording shows it, drawn by range and incidence."""

from __future__ import annotations

import numpy as np

from resweep import _core, portable
from resweep.normal import find_normal
from resweep.pose import Array
from resweep.sensor_scatter import RangeNoise
from resweep.sensors.spec import Receiver
from resweep.simulate.beam_channels import CHANNELS, BeamChannels

_RANGE, _INCIDENCE = CHANNELS.index("range_m"), CHANNELS.index("incidence_deg")


def find_sigma(noise: RangeNoise, channels: BeamChannels) -> Array:
    """Sigma (b,) of each beam, metres; 0 where nothing or a volume was hit."""
    return noise.find_sigma(channels.values[:, _RANGE], channels.values[:, _INCIDENCE], channels.surface)


def draw_noise(noise: RangeNoise, channels: BeamChannels, receiver: Receiver | None, *, seed: int, index: int) -> Array:
    """What is added to the range of each beam (b,) of sweep ``index``, metres.

    Noise that the ``receiver`` of the sensor has added already counts: only what is missing is drawn.
    """
    sigma = find_sigma(noise, channels)
    if receiver is not None:
        cosine = portable.cos(np.radians(channels.values[:, _INCIDENCE].astype(np.float64)))
        own = receiver.find_range_sigma(channels.values[:, _RANGE], cosine)
        sigma = np.sqrt(np.maximum(sigma**2 - own**2, 0.0))
    beams = np.flatnonzero(sigma > 0).astype(np.int32)
    added = np.zeros(len(channels))
    # Of another sweep, as it were: the tracer draws its own noise from the same numbers.
    drawn = _core.draw_uniform(seed, index + 2**32, beams, _core.Purpose.RANGE_NOISE)
    added[beams] = sigma[beams] * find_normal(drawn)
    return added


def add_noise(ranges: Array, added: Array, step_m: float = 0.0) -> Array:
    """Ranges (n,) float32 with what is ``added`` (n,), in steps of ``step_m`` (0: not rounded), above 0."""
    noisy = np.maximum(ranges + added, 1e-3)
    return np.asarray(np.round(noisy / step_m) * step_m if step_m else noisy, np.float32)
