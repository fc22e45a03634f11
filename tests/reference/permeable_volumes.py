"""The NumPy reference of permeable volumes: cpp/scene/volumes, cpp/map/permeability, cpp/trace/predict (A, III-C, IV).

Every ray is held against every volume: exact, and slow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from resweep.pose import Array
from resweep.worlds.layers.volumes import Volumes

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
CELL = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, eq=False)
class Crossings:
    """How rays cross volumes, (rays, volumes) each: A, eqs. 1 to 3.

    ``centre`` and ``sigma`` are those of the range, metres; ``offset`` is the least Mahalanobis distance;
    ``half`` is half the chord within the isosurface, 0 where the ray does not meet the volume.
    """

    centre: Array
    sigma: Array
    offset: Array
    half: Array

    @property
    def hit(self) -> Array:
        """Which rays meet which volumes before them or around them."""
        return (self.half > 0) & (self.centre + self.half >= 0)


def crossings(volumes: Volumes, origins: Array, directions: Array) -> Crossings:
    """The crossings of rays (n, 3) with volumes."""
    precision = np.linalg.inv(volumes.matrices)
    away = volumes.mean[None].astype(np.float64) - np.asarray(origins, np.float64)[:, None]
    direction = np.asarray(directions, np.float64)
    weighed = np.einsum("vij,nj->nvi", precision, direction)
    squared = np.einsum("nvi,ni->nv", weighed, direction)
    centre = np.einsum("nvi,nvi->nv", weighed, away) / squared
    nearest = centre[..., None] * direction[:, None] - away
    offset = np.sqrt(np.einsum("nvi,vij,nvj->nv", nearest, precision, nearest))
    sigma = 1.0 / np.sqrt(squared)
    half = sigma * np.sqrt(np.maximum(volumes.tau**2 - offset**2, 0.0))
    return Crossings(centre, sigma, offset, half)


def pass_probability(volumes: Volumes, at: Crossings, slope: float = 0.0) -> Array:
    """The chance (rays, volumes) that each ray passes; ``slope`` is the width of the beam at 1 m."""
    if volumes.exposure_m is None:
        return np.broadcast_to(volumes.permeability, at.centre.shape)
    width = slope * np.maximum(at.centre, 0.0)
    hit = at.sigma * np.exp(-0.5 * at.offset**2) * (1 + width / volumes.element_m) ** 2
    return np.asarray(np.asarray(volumes.permeability, np.float64) ** (hit / volumes.exposure_m))


def march(volumes: Volumes, origins: Array, directions: Array, range_max_m: float, rng: np.random.Generator) -> Array:
    """Ranges (n,) of rays drawn volume by volume; infinity where all are passed.

    The nearest of the volumes that stop a ray is the one whose drawn range, held within the chord, is least.
    """
    at = crossings(volumes, origins, directions)
    stops = at.hit & (rng.random(at.centre.shape) >= pass_probability(volumes, at))
    return _nearest(at, stops, at.centre + at.sigma * rng.standard_normal(at.centre.shape), range_max_m)


def _nearest(at: Crossings, stops: Array, drawn: Array, range_max_m: float) -> Array:
    kept = np.clip(drawn, np.maximum(at.centre - at.half, 0.0), at.centre + at.half)
    kept = np.where(stops & (kept < range_max_m), kept, np.inf)
    row, first = np.arange(len(kept)), kept.argmin(axis=1)
    return np.where(np.isfinite(kept[row, first]), np.maximum(drawn[row, first], 0.0), np.inf)


def keyed_ranges(volumes: Volumes, origins: Array, directions: Array, keys: Array, range_max_m: float) -> Array:
    """As `march`, with the tracer's own random numbers for pulses with these ``keys`` (n,) uint64."""
    at = crossings(volumes, origins, directions)
    cell = np.zeros(at.centre.shape, np.uint64)
    if np.isfinite(volumes.element_m):
        place = origins[:, None].astype(np.float64) + at.centre[..., None] * directions[:, None]
        steps = np.floor(place / volumes.element_m).astype(np.int64)
        with np.errstate(over="ignore"):
            for axis in range(3):
                cell = cell * CELL + (steps[..., axis] & 0xFFFFFFFF).astype(np.uint64)
    number = np.arange(1, len(volumes) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        draw = mix(mix(keys[:, None] + GOLDEN * number[None]) ^ cell)
    stops = at.hit & ((draw >> np.uint64(40)).astype(np.float64) / 2.0**24 >= pass_probability(volumes, at))
    z = ndtri(((mix(draw) & np.uint64(0xFFFFFFFF)).astype(np.float64) + 0.5) / 2.0**32)
    return _nearest(at, stops, at.centre + at.sigma * z, range_max_m)


def mix(word: Array) -> Array:
    """The finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


def count_beams(
    volumes: Volumes, origins: Array, directions: Array, lengths: Array, returned: Array, slope: float = 0.0
) -> tuple[Array, Array, Array]:
    """Beams (v,) that passed each volume and that it stopped, and the mean exposure of both, metres.

    A beam that ends within tau of volumes is stopped by the one whose Gaussian is densest there; it has
    passed those whose middle it had reached.
    """
    at = crossings(volumes, origins, directions)
    reached = at.hit & (at.centre - at.half <= lengths[:, None])
    mahalanobis2 = at.offset**2 + ((lengths[:, None] - at.centre) / at.sigma) ** 2
    score = mahalanobis2 + np.log(np.linalg.det(volumes.matrices))
    score = np.where(reached & returned[:, None] & (mahalanobis2 <= volumes.tau**2), score, np.inf)
    row, densest = np.arange(len(score)), score.argmin(axis=1)
    stopped = np.zeros(at.centre.shape, bool)
    stopped[row, densest] = np.isfinite(score[row, densest])
    passed = reached & ~stopped & (at.centre < lengths[:, None])
    width = slope * np.maximum(at.centre, 0.0)
    hit = at.sigma * np.exp(-0.5 * at.offset**2) * (1 + width / volumes.element_m) ** 2
    number = (passed | stopped).sum(axis=0)
    exposure = np.where(passed | stopped, hit, 0.0).sum(axis=0) / np.maximum(number, 1)
    return passed.sum(axis=0), stopped.sum(axis=0), exposure
