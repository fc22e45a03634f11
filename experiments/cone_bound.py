"""How near any world can come to repeated shots if each shot is one ray drawn over the spot and the encoder's step.

Along a ring, the ranges of a direction are then those of a mixture: of the ranges that rays hit at each place across,
weighed by how often a ray of that direction goes there. Richardson and Lucy's iterations find the distributions at all
places that make given shots most likely. They are found by the very shots that they are compared with, without noise in
what is simulated: no world that is built from other shots comes as near.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from resweep.evaluation import Shots

Array = NDArray[Any]

PLACES = 2  # a step of the encoder
ROUNDS = 200  # more change the third digit at most
_FINE = 64  # parts of a place in which the weights are summed


def least_distance(shots: Shots, spot_deg: float) -> float:
    """The mean over lasers of the least Bhattacharyya distance; ``spot_deg`` is the spot's full width across."""
    return float(np.mean([_of_laser(shots[shots.laser == laser], spot_deg) for laser in np.unique(shots.laser)]))


def _of_laser(shots: Shots, spot_deg: float) -> float:
    angles, angle = np.unique(shots.angle, return_inverse=True)
    bins, row = np.unique(shots.bin, return_inverse=True)
    real = np.zeros((len(angles), len(bins)))
    np.add.at(real, (angle, row), 1.0)
    real /= real.sum(axis=1, keepdims=True)
    weights = weigh_places(angles, spot_deg / shots.angle_deg)
    places = np.full((weights.shape[1], len(bins)), 1.0 / len(bins))
    for _ in range(ROUNDS):
        places *= weights.T @ (real / np.maximum(weights @ places, 1e-12)) + 1e-12
        places /= places.sum(axis=1, keepdims=True)
    return float(-np.log(np.sqrt(real * (weights @ places)).sum() / len(angles)))


def weigh_places(angles: Array, spot: float) -> Array:
    """The chance (a, p) that a shot reported at an angle goes to a place; a ``spot`` so many steps wide, uniform.

    The encoder's error is uniform within a step.
    """
    reach = int(np.ceil((1 + spot) / 2)) + 1
    count = int(angles[-1] - angles[0]) + 1 + 2 * reach
    fine = (np.arange(count * PLACES * _FINE) + 0.5) / (PLACES * _FINE) - reach - 0.5 + angles[0]
    off = np.abs(fine[None, :] - angles[:, None])
    chance = np.clip((1 + spot) / 2 - off, 0.0, min(1.0, spot))
    weights = chance.reshape(len(angles), count * PLACES, _FINE).sum(axis=2)
    used = weights.any(axis=0)
    return np.asarray((weights / weights.sum(axis=1, keepdims=True))[:, used])
