"""Scatter of intensities as it was recorded: levels of whole sweeps, which simulated sweeps replay at other azimuths.

Intensities of a real sensor scatter in ways that no simple law has. Neighbours are alike for a while and then are not,
a strong return makes the next one of the same laser weaker, and rings above each other have part of it in common.
Levels that were recorded together have all of that; each by itself is uniform, so that what is drawn stays calibrated.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from resweep import _core
from resweep.config import Spec
from resweep.errors import InputError
from resweep.inference.checked_network import read_model_file
from resweep.pose import Array
from resweep.simulate.beam_channels import BeamChannels, number_beams

STEPS = 256  # of the levels that are kept
_HEAD = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '\|u1', 'fortran_order': False, "
    rb"'shape': \((\d{1,9}), (\d{1,9}), (\d{1,9})\), \} *\n",
    re.DOTALL,
)
_SWEEP_DRAW = 2**32  # added to the number of a sweep: what is chosen once a sweep, and not for each beam


class RecordedScatter(Spec):
    """Where recorded levels are kept."""

    file: Annotated[str, Field(pattern=r"^[a-z0-9_-]+\.npy$")]
    """The file of the levels, beside the card: one byte by sweep, ring and number of the beam on its ring."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of that file."""
    sweeps: Annotated[int, Field(ge=1, le=1000)]
    """Recorded sweeps it holds."""

    def read(self, folder: Path) -> Array:
        """The levels (sweeps, rings, columns) uint8 in the folder of a model."""
        path = folder / self.file
        data = read_model_file(path, "learn the model again")
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise InputError(f"{path}: is damaged, or not that of its card; learn the model again")
        # As NumPy writes it, and no other way: its own reader reserves whatever memory a header claims.
        head = _HEAD.match(data)
        shape = tuple(int(item) for item in head.groups()) if head is not None else ()
        if head is None or shape[0] != self.sweeps or math.prod(shape) != len(data) - head.end() or 0 in shape:
            raise InputError(f"{path}: holds no levels of {self.sweeps} sweeps; learn the model again")
        return np.frombuffer(data, np.uint8, offset=head.end()).reshape(shape)


def replay_scatter(levels: Array, channels: BeamChannels, purpose: _core.Purpose, *, seed: int, index: int) -> Array:
    """Levels (b,) from 0 to 1 for the beams of sweep ``index``: those of a recorded sweep, turned about the axis.

    Which one, and how far it is turned, is drawn by ``seed`` and ``index``, and so is what lies between two steps.
    """
    sweeps, rings, columns = levels.shape
    beams = np.arange(len(channels), dtype=np.int32)
    chosen = _core.draw_uniform(seed, index + _SWEEP_DRAW, np.arange(2, dtype=np.int32), purpose)
    sweep, turn = min(int(chosen[0] * sweeps), sweeps - 1), int(chosen[1] * columns)
    kept = levels[sweep, channels.laser % rings, (number_beams(channels) + turn) % columns]
    return np.asarray((kept + _core.draw_uniform(seed, index, beams, purpose)) / STEPS)
