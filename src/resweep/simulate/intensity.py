"""Intensities that are drawn: networks predict the share of each bin of intensity, and simulation draws from that.

A mean would be smoother than any recording. Drawn intensities have the spread and the steps of the recorded ones.
Part of the scatter belongs to the surface (paint, leaves, dirt) and is the same in every sweep; the rest is that of a
recorded sweep (`resweep.simulate.recorded_scatter`).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator
from scipy.signal import lfilter

from resweep import _core
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.normal import find_normal, find_share
from resweep.pose import Array
from resweep.quantities import NotNegative, Number
from resweep.sensor_scatter import Texture
from resweep.simulate.beam_channels import BeamChannels
from resweep.simulate.recorded_scatter import RecordedScatter, replay_scatter
from resweep.voxels import find_cells

SHARE_STEPS = 4096.0  # of the shares of bins, which networks give to some six digits
_SURFACE = 2**32 - 1  # in place of the number of a sweep: what belongs to a surface is the same in all of them
_PRIMES = (73_856_093, 19_349_663, 83_492_791)  # mix the three numbers of a cell into one


class IntensityModel(Spec):
    """What the outputs of an intensity network mean: the share of each bin of intensity.

    ``knots`` (k, m) are quantiles of the recorded intensities within each bin, evenly spaced from the least to the
    largest, and ``means`` (k,) their means. Drawn intensities are rounded to ``step`` (0: not rounded).
    """

    knots: tuple[tuple[Number, ...], ...]
    means: tuple[Number, ...]
    step: NotNegative = 0.0
    textures: tuple[Texture, ...] = ()
    ring_correlation: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Of what does not belong to surfaces, if no recorded scatter is kept: the correlation of neighbours on a ring."""
    scatter: RecordedScatter | None = None
    """The recorded scatter that is replayed for what does not belong to surfaces."""

    @model_validator(mode="after")
    def _check(self) -> IntensityModel:
        sizes = {len(row) for row in self.knots}
        if len(self.means) < 2 or len(self.means) != len(self.knots) or len(sizes) != 1 or min(sizes) < 2:
            raise SettingsError(
                "knots", "expected quantiles of at least two bins, with their means; learn the model again"
            )
        if sum(texture.share for texture in self.textures) > 1.0:
            raise SettingsError("textures", "their shares are more than 1 together; learn the model again")
        return self

    def average(self, shares: Array) -> Array:
        """The mean (n,) float32 of the intensities that shares (n, k) stand for."""
        whole = np.maximum(shares.sum(axis=1), 1e-12)
        return np.asarray((shares * np.array(self.means, np.float32)).sum(axis=1) / whole, np.float32)

    def draw(self, shares: Array, level: Array) -> Array:
        """The intensities (n,) float32 at the ``level`` (n,), 0 to 1, of the distributions that shares (n, k) give."""
        # Whole numbers add up to the same sum on every processor.
        counts = np.round(np.clip(shares, 0.0, 1.0) * np.float32(SHARE_STEPS)).astype(np.int32)
        counts[counts.max(axis=1) == 0] = 1
        above = np.cumsum(counts, axis=1)
        place = np.asarray(level) * above[:, -1]
        rows = np.arange(len(counts))
        chosen = np.minimum((above <= place[:, None]).sum(axis=1), counts.shape[1] - 1)
        within = (place - (above[rows, chosen] - counts[rows, chosen])) / np.maximum(counts[rows, chosen], 1)
        knots = np.array(self.knots)
        at = np.clip(within, 0.0, 1.0) * (knots.shape[1] - 1)
        low = np.minimum(at.astype(np.int64), knots.shape[1] - 2)
        left, right = knots[chosen, low], knots[chosen, low + 1]
        return self.round(left + (at - low) * (right - left))

    def round(self, values: Array) -> Array:
        """Intensities (n,) float32 in the steps of the sensor."""
        rounded = np.round(np.asarray(values, np.float64) / self.step) * self.step if self.step else values
        return np.asarray(np.maximum(rounded, 0.0), np.float32)

    def draw_levels(
        self, channels: BeamChannels, points: Array, scatter: Array | None = None, *, seed: int, index: int
    ) -> Array:
        """Levels (b,) from 0 to 1 for the beams of sweep ``index`` that return from ``points`` (b, 3) in the world.

        Each is uniform. Those of returns in one cell of a texture resemble each other, in all sweeps of a seed, and
        those of neighbours in the same sweep as recorded ones do: ``scatter`` has the recorded levels.
        """
        rest = 1.0 - sum(texture.share for texture in self.textures)
        purpose = _core.Purpose.INTENSITY_NOISE
        if scatter is None:
            own = draw_along_rings(channels, self.ring_correlation, purpose, seed=seed, index=index)
        else:
            own = find_normal(replay_scatter(scatter, channels, purpose, seed=seed, index=index))
        normal = np.sqrt(rest) * own
        for number, texture in enumerate(self.textures):
            cell = mix_cells(find_cells(points, texture.size_m), number)
            normal = normal + np.sqrt(texture.share) * find_normal(_core.draw_uniform(seed, _SURFACE, cell, purpose))
        return find_share(normal)


def mix_cells(cell: Array, number: int) -> Array:
    """One int32 (n,) not below 0 for each cell (n, 3) of the ``number``-th grid, by which random numbers are drawn."""
    mixed = (cell * np.array(_PRIMES, np.int64)).sum(axis=1) + number * 2_654_435_761
    mixed ^= mixed >> 15
    mixed *= 0x2C1B3C6D
    mixed ^= mixed >> 12
    return np.asarray(mixed & 0x7FFFFFFF, np.int32)


def draw_along_rings(
    channels: BeamChannels, correlation: float, purpose: _core.Purpose, *, seed: int, index: int
) -> Array:
    """A standard normal number (b,) for each beam of sweep ``index``.

    Those of neighbours on a ring correlate by ``correlation``, and those of beams n steps apart by its n-th power. With
    0 each depends on the number of its beam alone.
    """
    beams = np.arange(len(channels), dtype=np.int32)
    own = find_normal(_core.draw_uniform(seed, index, beams, purpose))
    if correlation == 0.0 or len(own) == 0:
        return own
    order = np.lexsort((channels.turn, channels.laser))
    found = np.empty_like(own)
    start = [correlation * own[order[0]]]  # as if a number like the first went before
    found[order] = lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], own[order], zi=start)[0]
    return found
