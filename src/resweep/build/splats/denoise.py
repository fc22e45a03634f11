"""Local denoising of a map before splats grow on it (C, 3.4)."""

from __future__ import annotations

import numpy as np

from resweep.neighbours import Pca
from resweep.pose import Array

DENOISE_COLUMNS = ("normal", "eigenvalues", "mean_offset", "count")  # of the shapes that it reads
SIGMAS = 3.0  # C, 3.4
_FEW = 8  # neighbours below which a standard deviation is unreliable; chosen by hand


def denoise(shape: Pca) -> Array:
    """Which points (n,) bool lie within three standard deviations of the plane through their neighbourhood.

    The plane passes through the neighbourhood's mean; the deviation of its points from it is √λ₃. Each point
    is judged once, in the neighbourhood that it is the centre of, so that the result has no order.
    """
    offset = np.einsum("ni,ni->n", shape.mean_offset, shape.normal)
    noisy = np.abs(offset) > SIGMAS * np.sqrt(np.maximum(shape.eigenvalues[:, 2], 0.0))
    return np.asarray(~(noisy & (shape.count >= _FEW)))
