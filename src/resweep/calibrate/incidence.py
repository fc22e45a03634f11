"""How reported intensities fall with incidence: the exponent of the cosine, estimated from surfaces seen repeatedly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep import portable
from resweep.calibrate.views import SweepView, join_voxels
from resweep.calibration import Calibration
from resweep.pose import Array
from resweep.voxels import number_voxels

# Chosen by hand where a line names no source.
_VOXEL_M = 0.4  # in which a surface is flat
_MIN_RETURNS = 6  # of a voxel
_MIN_OF_ALL = 2000  # returns on flat voxels, for the exponent to be known
_FLAT = 0.05  # of the second largest spread of a voxel's points: the least, at most
_MIN_COSINE = 0.1  # as `ReflectanceConfig.cosine_min`
_EXPONENTS = np.arange(0.125, 1.51, 0.125)  # settings have 0 for intensities that count as reflectance
_DIGITS = 2  # of the exponent


def estimate_exponent(parts: Sequence[Sequence[SweepView]], calibration: Calibration) -> float | None:
    """The power of the cosine of incidence by which intensities fall; None where too little shows it.

    Voxels that are flat give normals. For each exponent, each voxel has the reflectance that predicts the intensities
    of its returns best; the exponent with the least squared error counts. 1 is the diffuse law, 0 a sensor that
    compensates incidence.
    """
    voxel, cosine, light, cells = join_voxels(_gather(part, calibration) for part in parts)
    if len(light) < _MIN_OF_ALL or light.max() <= 0:
        return None
    errors = [_measure_error(voxel, portable.power(cosine, float(power)), light, cells) for power in _EXPONENTS]
    best = int(np.argmin(errors))
    if not 0 < best < len(_EXPONENTS) - 1:
        return float(_EXPONENTS[best])
    left, middle, right = errors[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return round(float(_EXPONENTS[best] + shift * (_EXPONENTS[1] - _EXPONENTS[0])), _DIGITS)


def _measure_error(voxel: Array, fall: Array, light: Array, cells: int) -> float:
    """The squared error of intensities, each voxel with its best reflectance."""
    reflectance = np.bincount(voxel, light * fall, cells) / np.maximum(np.bincount(voxel, fall * fall, cells), 1e-12)
    return float(((light - reflectance[voxel] * fall) ** 2).sum())


def _gather(part: Sequence[SweepView], calibration: Calibration) -> tuple[Array, Array, Array]:
    """Voxel, cosine of incidence and intensity (n,) of returns in flat voxels; gains of lasers are taken out."""
    placed = [view.place(calibration) for view in part]
    points = np.concatenate([*(one.place for one in placed), np.zeros((0, 3))])
    along = np.concatenate([*(one.along for one in placed), np.zeros((0, 3))])
    ring = np.concatenate([*(view.ring for view in part), np.zeros(0, np.int64)])
    light = np.concatenate([*(view.intensity for view in part), np.zeros(0)]) / calibration.find_gain(ring)
    if len(points) == 0:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    voxel = number_voxels(points, _VOXEL_M)
    count = np.bincount(voxel)
    mean = np.stack([np.bincount(voxel, points[:, axis]) for axis in range(3)], axis=1) / count[:, None]
    off = points - mean[voxel]
    matrices = np.zeros((len(count), 3, 3))
    for i in range(3):
        for j in range(i, 3):
            matrices[:, i, j] = matrices[:, j, i] = np.bincount(voxel, off[:, i] * off[:, j]) / count
    spread, axes = portable.eigh3(matrices)
    flat = (count >= _MIN_RETURNS) & (spread[:, 0] < _FLAT * spread[:, 1])
    used = flat[voxel]
    cosine = np.abs((along * axes[voxel, :, 0]).sum(axis=1))[used]
    return voxel[used], np.clip(cosine, _MIN_COSINE, 1.0), light[used]
