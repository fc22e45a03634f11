"""What the tests of scenes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def _corners(mesh: Any) -> Any:
    return mesh.vertices.astype(np.float64)[mesh.faces]


@pytest.fixture(scope="session")
def areas() -> Callable[[Any], Any]:
    """A function: areas (m,) of a mesh's triangles, square metres."""

    def of(mesh: Any) -> Any:
        a, b, c = np.moveaxis(_corners(mesh), 1, 0)
        return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)

    return of


@pytest.fixture(scope="session")
def volume() -> Callable[[Any], float]:
    """A function: the volume that a mesh encloses, positive if it is closed and faces outward."""

    def of(mesh: Any) -> float:
        a, b, c = np.moveaxis(_corners(mesh), 1, 0)
        return float((a * np.cross(b, c)).sum() / 6)

    return of
