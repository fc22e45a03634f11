"""A recorded sweep beside the same beams fired in its world, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.calibrate.scatter.range_scatter import SAME_SURFACE_M
from resweep.pose import Array
from resweep.sensor_scatter import find_incidence
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class ScatterPair:
    """The first returns of both, by beam (b,): of a recorded sweep, and of the same beams in the world without noise.

    ``recorded`` and ``simulated`` are ranges, NaN where nothing returned, ``intensity`` and ``expected`` intensities
    without gains, ``incidence_deg``, ``surface`` and ``label`` those of the primitive that was hit, ``points`` (b, 3)
    where. ``counted`` leaves out beams that returned from what the world does not hold, and those of unknown space.
    ``blind`` is the chance that a blind sector takes the return. ``order`` (b,) lists the beams along each ring.
    """

    recorded: Array
    simulated: Array
    intensity: Array
    expected: Array
    incidence_deg: Array
    surface: Array
    label: Array
    points: Array
    counted: Array
    blind: Array
    ring: Array
    order: Array

    @property
    def same(self) -> Array:
        """Beams (b,) that returned from the same surface or volume in both."""
        with np.errstate(invalid="ignore"):
            near = np.abs(self.recorded - self.simulated) < SAME_SURFACE_M
        return np.asarray(near & self.counted)


def pair_sweeps(recorded: Sweep, simulated: Sweep, mappable: Array, blind: Array | None, known: Array) -> ScatterPair:
    """The pair of a recorded sweep and of its beams in the world, which ``simulated`` has, with what they hit.

    ``mappable`` (n,) marks the recorded returns that the world can hold, ``known`` (b,) the beams through space that
    was recorded. Intensities are without the gains of lasers.
    """
    count = recorded.n_beams
    real, fired = (np.flatnonzero(sweep.return_index == 0) for sweep in (recorded, simulated))

    def spread(sweep: Sweep, rows: Array, values: Array, rest: float) -> Array:
        found = np.full((count, *values.shape[1:]), rest, values.dtype if rest == 0 else np.float32)
        found[sweep.beam[rows]] = values[rows]
        return found

    counted = known.copy()
    counted[recorded.beam[~mappable]] = False
    cosine = np.asarray(simulated.extra.get("cosine", np.ones(len(simulated))), np.float32)
    return ScatterPair(
        spread(recorded, real, recorded.range, np.nan),
        spread(simulated, fired, simulated.range, np.nan),
        spread(recorded, real, recorded.intensity, 0.0),
        spread(simulated, fired, simulated.intensity, 0.0),
        find_incidence(spread(simulated, fired, cosine, 0.0)),
        spread(simulated, fired, simulated.extra["primitive"] != VOLUMES, 0.0).astype(bool),
        spread(simulated, fired, simulated.label, 0.0),
        spread(simulated, fired, simulated.world_points(), 0.0),
        counted,
        np.zeros(count) if blind is None else blind,
        recorded.beam_ring,
        order_along_rings(recorded.beam_ring, recorded.beam_column),
    )
