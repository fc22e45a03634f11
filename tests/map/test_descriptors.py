"""Local descriptors: which group a neighbourhood looks like (C, 3.3)."""

from __future__ import annotations

import numpy as np

from resweep.labels import Group
from resweep.map.descriptors import describe


def test_descriptors_distinguish_planes_lines_and_clouds() -> None:
    eigenvalues = np.array([[1.0, 0.9, 0.01], [1.0, 0.02, 0.01], [1.0, 0.9, 0.8]])
    assert describe(eigenvalues).tolist() == [Group.SURFACE, Group.LINEAR, Group.NON_SURFACE]
    assert describe(np.zeros((1, 3))).shape == (1,)
