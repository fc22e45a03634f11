"""How bright each laser reports the same surface: its gain, estimated from what several lasers saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.views import SweepView, join_voxels
from resweep.calibration import Calibration
from resweep.pose import Array
from resweep.voxels import number_voxels

# Chosen by hand where a line names no source.
_VOXEL_M = 0.4  # in which lasers see about the same surface
_MIN_RETURNS, _MIN_LASERS = 6, 3  # of a voxel
_MIN_OF_LASER = 500  # returns, for its gain to be known
_ITERATIONS = 8  # of the alternation; chosen by hand
_SAME = 0.03  # gains that differ less from 1 are left alone
_LIMITS = (0.2, 5.0)  # of a gain; a bound chosen by hand
_DIGITS = 4  # of a gain


def estimate_gain(parts: Sequence[Sequence[SweepView]], calibration: Calibration) -> Array | None:
    """The gain (k,) of each laser, 1 in the middle; None where all are alike or intensities are unknown.

    In turns, each voxel's brightness is the mean over its returns, with gains taken out, and each laser's gain is what
    it reports over that.
    """
    voxel, ring, light, cells = join_voxels(_gather(part, calibration) for part in parts)
    if len(light) == 0 or light.max() <= 0:
        return None
    count = len(calibration.range_m)
    own = np.unique(voxel * count + ring)  # pairs of a voxel and a laser
    lasers = np.bincount(own // count, minlength=cells)
    used = (np.bincount(voxel)[voxel] >= _MIN_RETURNS) & (lasers[voxel] >= _MIN_LASERS)
    voxel, ring, light = voxel[used], ring[used], light[used]
    known = np.bincount(ring, minlength=count) >= _MIN_OF_LASER
    if np.count_nonzero(known) < 2:
        return None
    number = np.maximum(np.bincount(voxel, minlength=cells), 1)
    gain = np.ones(count)
    for _ in range(_ITERATIONS):
        brightness = np.bincount(voxel, light / gain[ring], cells) / number
        expected = np.bincount(ring, brightness[voxel], count)
        gain = np.where(known & (expected > 0), np.bincount(ring, light, count) / np.maximum(expected, 1e-12), 1.0)
        gain = np.where(known, np.clip(gain / np.median(gain[known]), *_LIMITS), 1.0)
    return None if float(np.abs(gain - 1.0).max()) < _SAME else np.asarray(np.round(gain, _DIGITS))


def _gather(part: Sequence[SweepView], calibration: Calibration) -> tuple[Array, Array, Array]:
    """Voxel, laser and intensity (n,) of the returns of views."""
    points = np.concatenate([*(view.place(calibration).place for view in part), np.zeros((0, 3))])
    ring = np.concatenate([*(view.ring for view in part), np.zeros(0, np.int64)])
    light = np.concatenate([*(view.intensity for view in part), np.zeros(0)])
    voxel = number_voxels(points, _VOXEL_M) if len(points) else np.zeros(0, np.int64)
    return voxel, ring, light
