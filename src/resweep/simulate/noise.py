"""Range noise as a recording shows it: how far ranges scatter from beam to beam, against range and incidence."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from resweep import _core, portable
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.pose import Array
from resweep.quantities import Number
from resweep.sensors.spec import Receiver
from resweep.simulate.beam_channels import CHANNELS, BeamChannels
from resweep.simulate.normal import find_normal

_RANGE, _INCIDENCE = CHANNELS.index("range_m"), CHANNELS.index("incidence_deg")


class RangeNoise(Spec):
    """Sigma of the range noise of surfaces, by bins of range and of incidence.

    Of volumes none is known: where in them a beam ends is drawn anyway. Ranges are rounded to ``step_m`` (0: not
    rounded).
    """

    range_edges_m: tuple[Number, ...]
    """Edges (r) of the bins of range, metres."""
    incidence_edges_deg: tuple[Number, ...]
    """Edges (i) of the bins of incidence, degrees from the normal."""
    sigma_m: tuple[tuple[Annotated[float, Field(ge=0.0, le=1.0)], ...], ...]
    """Sigma (r + 1, i + 1), metres."""
    step_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Step that ranges are rounded to, metres."""

    @model_validator(mode="after")
    def _check(self) -> RangeNoise:
        columns = {len(row) for row in self.sigma_m}
        if len(self.sigma_m) != len(self.range_edges_m) + 1 or columns != {len(self.incidence_edges_deg) + 1}:
            raise SettingsError(
                "sigma_m", "expected a value for each bin of range and incidence; learn the model again"
            )
        return self

    def find_sigma(self, channels: BeamChannels) -> Array:
        """Sigma (b,) of each beam, metres; 0 where nothing or a volume was hit."""
        row = _find_bins(channels.values[:, _RANGE], self.range_edges_m)
        column = _find_bins(channels.values[:, _INCIDENCE], self.incidence_edges_deg)
        return np.where(channels.surface, np.array(self.sigma_m)[row, column], 0.0)

    def draw(self, channels: BeamChannels, receiver: Receiver | None, *, seed: int, index: int) -> Array:
        """What is added to the range of each beam (b,) of sweep ``index``, metres.

        Noise that the ``receiver`` of the sensor has added already counts: only what is missing is drawn.
        """
        sigma = self.find_sigma(channels)
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

    def add(self, ranges: Array, added: Array) -> Array:
        """Ranges (n,) float32 with what is ``added`` (n,), in the steps of the sensor, above 0."""
        noisy = np.maximum(ranges + added, 1e-3)
        return np.asarray(np.round(noisy / self.step_m) * self.step_m if self.step_m else noisy, np.float32)


def _find_bins(values: Array, edges: tuple[float, ...]) -> Array:
    """The bin (n,) of each value: how many edges are not above it. Of few edges this is faster than a search."""
    found: Array = np.zeros(len(values), np.uint8)
    for edge in edges:
        found += values >= np.float32(edge)
    return found
