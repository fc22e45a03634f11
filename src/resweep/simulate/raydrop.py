"""Raydrop (D, 4.2): beams that return in the world and that the sensor loses, drawn with learned probabilities.

A network predicts how likely each return is lost (`resweep.simulate.realism`). Losses are sampled, not thresholded, and
come in patches: what takes a return, such as a pane of glass, takes those beside it too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from resweep import _core
from resweep.config import Spec
from resweep.pose import Array
from resweep.simulate.beam_channels import BeamChannels, number_beams
from resweep.sweep import BeamStatus, Sweep

DROP_PROBABILITY = "drop_probability"  # the name of its column
_PATCH_DRAW = 2**32  # added to the number of a sweep
_Chance = Annotated[float, Field(ge=0.0, le=1.0)]


class DropPatches(Spec):
    """How numbers of neighbouring beams come to be the same."""

    along: _Chance
    """Chance that a beam has the number of the one before it on its ring."""
    across: _Chance
    """Chance that it has that of the ring below, if not that."""


def draw_patches(
    channels: BeamChannels, patches: DropPatches, purpose: _core.Purpose, *, seed: int, index: int
) -> Array:
    """A number (b,) from 0 to 1 for each beam of sweep ``index``, the same in patches of beams side by side.

    Each by itself is uniform. Beams of different rings are neighbours if their numbers on the rings are.
    """
    ring, number = channels.laser, number_beams(channels)
    if len(ring) == 0:
        return np.zeros(0)
    rings, columns = int(ring.max()) + 1, int(number.max()) + 1
    cells = np.arange(3 * rings * columns, dtype=np.int32)
    # Of another sweep, as it were, so that these numbers are none of the beams' own.
    drawn = _core.draw_uniform(seed, index + _PATCH_DRAW, cells, purpose).reshape(3, rings, columns)
    level, new, own = drawn[0].copy(), drawn[1] >= patches.along, drawn[2] >= patches.across
    new[:, 0] = True
    first = np.maximum.accumulate(np.where(new, np.arange(columns), 0), axis=1)  # where the patch of a beam begins
    level[0] = level[0, first[0]]
    for row in range(1, rings):
        level[row] = np.where(own[row], level[row], level[row - 1])[first[row]]
    return np.asarray(level[ring, number])


def draw_drop_levels(channels: BeamChannels, patches: DropPatches, *, seed: int, index: int) -> Array:
    """Levels (b,) from 0 to 1 for the beams of sweep ``index``: one below its probability of a drop is dropped.

    Each is uniform. Neighbours share them as ``patches`` say: what takes a return, such as a pane of glass, takes those
    beside it too.
    """
    purpose = _core.Purpose.RAYDROP
    if patches.along == patches.across == 0.0:
        return _core.draw_uniform(seed, index, np.arange(len(channels), dtype=np.int32), purpose)
    return draw_patches(channels, patches, purpose, seed=seed, index=index)


def drop_beams(sweep: Sweep, channels: BeamChannels, probability: Array, level: Array) -> Sweep:
    """The sweep without the returns of beams whose ``level`` (b,) lies below their ``probability`` (b,) of a drop.

    Their status is `BeamStatus.DROPPED_BY_MODEL`. ``beam_extra["drop_probability"]`` (b,) has the probability of every
    beam, and ``extra["drop_probability"]`` that of each return.
    """
    dropped = channels.occupied & (level < probability)
    kept = replace(
        sweep,
        extra={**sweep.extra, DROP_PROBABILITY: probability[sweep.beam]},
        beam_extra={**sweep.beam_extra, DROP_PROBABILITY: probability},
    ).select(~dropped[sweep.beam])
    kept.beam_status[dropped] = BeamStatus.DROPPED_BY_MODEL
    return kept
