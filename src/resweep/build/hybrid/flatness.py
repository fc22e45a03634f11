"""What is a plane among its nearest points: surfaces of a cloud whose beams are not known well enough to ask them.

C's descriptors (3.3) look at neighbourhoods of one size. Where points lie far apart, as in crowns, few are within
reach, and few points always look like a plane or a line; where a stem is thinner than the neighbourhood, it looks like
a line. Here a neighbourhood is as wide as its nearest points lie, and too few of them are no surface.
"""

from __future__ import annotations

import numpy as np

from resweep.labels import Group
from resweep.neighbours import Neighbours
from resweep.pose import Array

# Chosen by hand.
_SIZES = ((12, 0.15), (40, 0.1))  # nearest points, and their variance off the plane over that across it, at most
_MIN_POINTS = 8  # of a neighbourhood that can be a plane: a plane through fewer says little
_LINE = 0.05  # variance across, over that along, below which neighbours are a line
_RADII = 2.0  # how far neighbours may lie, in R̄ of C 3.1


def find_flat(near: Neighbours, asked: Array, described: Array, radius_m: float) -> Array:
    """The `Group` (n,) int8 of points: SURFACE where their nearest points are a plane, else as ``described`` (n,).

    What is described as a plane and is none becomes NON_SURFACE. Points of which ``asked`` (n,) is 0 are skipped.
    """
    flat: Array = np.zeros(len(asked), bool)
    for k, thin in _SIZES:
        wanted = np.where(asked > 0, np.int32(k), np.int32(0))
        shape = near.pca(wanted, np.float32(_RADII * radius_m), only=("eigenvalues", "count"))
        values = shape.eigenvalues
        plane = (values[:, 1] > _LINE * values[:, 0]) & (values[:, 2] < thin * values[:, 1])
        flat |= plane & (shape.count >= _MIN_POINTS)
    group = np.where(described == Group.SURFACE, np.int8(Group.NON_SURFACE), described)
    return np.asarray(np.where(flat, np.int8(Group.SURFACE), group), np.int8)
