"""Local descriptors: what kind of surface a neighbourhood looks like (C, 3.3)."""

from __future__ import annotations

import numpy as np

from resweep.labels import Group
from resweep.pose import Array


def describe(eigenvalues: Array) -> Array:
    """The `Group` (n,) int8 that best describes neighbourhoods with ``eigenvalues`` (n, 3), descending (C, eq. 7).

    Planar neighbourhoods are SURFACE: descriptors cannot distinguish ground from walls.
    """
    first = np.maximum(eigenvalues[:, 0], np.finfo(np.float32).tiny)
    linearity = (eigenvalues[:, 0] - eigenvalues[:, 1]) / first
    planarity = (eigenvalues[:, 1] - eigenvalues[:, 2]) / first
    sphericity = eigenvalues[:, 2] / first
    best = np.argmax(np.stack([planarity, linearity, sphericity]), axis=0)
    groups: Array = np.array([Group.SURFACE, Group.LINEAR, Group.NON_SURFACE], np.int8)
    return np.asarray(groups[best])
