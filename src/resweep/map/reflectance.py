"""What was seen of each disc: intensity, range, incidence, and the reflectance behind them (D, 3.1)."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.map.cloud import Cloud
from resweep.map.config import FalloffConfig, ReflectanceConfig
from resweep.neighbours import Neighbours
from resweep.pose import Array

_BLOCK = 1 << 20  # returns that are summed together: bounds memory
# Which law and how many hardly matters on SemanticKITTI 00 and 03 (docs/decisions/0017).
_AROUND = 32  # primitives whose reflectance counts for one in their middle
_FADE_M = 0.15  # so far away they count a quarter


def observe_discs(
    cloud: Cloud, centre: Array, normal: Array, seed: Array, config: ReflectanceConfig
) -> dict[str, Array]:
    """Columns (m,) of discs: ``intensity``, ``range_m``, ``cosine``, ``count``, ``reflectance``.

    Every measured point is given to the disc with the nearest centre; a disc keeps the mean over its points, and their
    number. Its reflectance is the one that predicts their intensities best, and those of the discs around it
    (`smooth_reflectance`): points at grazing incidence, whose light says little of it, count less. A disc without any
    keeps what its ``seed`` (m,), a row of the cloud, was seen with, and a count of 0. ``cosine`` is that of the
    incidence angle; `ReflectanceConfig` has the formula. Where points have colours, ``red``, ``green`` and ``blue`` are
    their means.
    """
    count = len(centre)
    near = Neighbours(centre)
    sums, weight = np.zeros((4, count)), np.zeros(count)
    number = np.zeros(count, np.int64)
    colour = np.zeros((3 if cloud.colour is not None else 0, count))
    seen = np.flatnonzero(cloud.seen)
    for begin in range(0, len(seen), _BLOCK):
        rows = seen[begin : begin + _BLOCK]
        disc = near.knn(cloud.points[rows], 1).index[:, 0]
        columns = observe_points(cloud, rows, normal[disc], config)
        own = measure_falloff(columns[2], config) ** 2  # least squares of intensity = reflectance · falloff
        for total, values in zip(sums, (*columns[:3], own * columns[3]), strict=True):
            total += np.bincount(disc, values, minlength=count)
        weight += np.bincount(disc, own, minlength=count)
        number += np.bincount(disc, minlength=count)
        for axis, total in enumerate(colour):
            total += np.bincount(disc, _take_colour(cloud, rows)[:, axis], minlength=count)
    alone = np.flatnonzero(number == 0)
    sums[:, alone] = observe_points(cloud, seed[alone], normal[alone], config)
    if len(colour):
        colour[:, alone] = _take_colour(cloud, seed[alone]).T
    mean_colour = np.rint(colour / np.maximum(number, 1)).astype(np.uint8)
    weight[alone] = 1.0
    mean = (sums / np.stack([*[np.maximum(number, 1)] * 3, weight])).astype(np.float32)
    mean[3] = smooth_reflectance(near, centre, mean[3], weight)
    names = ("intensity", "range_m", "cosine", "reflectance")
    found = {**dict(zip(names, mean, strict=True)), "count": number.astype(np.int32)}
    return {**found, **dict(zip(("red", "green", "blue"), mean_colour, strict=False))}


def smooth_reflectance(near: Neighbours, places: Array, reflectance: Array, weight: Array) -> Array:
    """The reflectance (m,) float32 at ``places`` (m, 3): the mean of the primitives around, by distance and weight.

    ``near`` finds the primitives, which have ``reflectance`` (n,) and ``weight`` (n,), such as how many returns it is
    the mean of. One return scatters by a quarter of its intensity or more, and most primitives have one or two: by
    themselves they would be noise.
    """
    found: Array = np.empty(len(places), np.float32)
    step = _BLOCK // _AROUND
    for part in (slice(begin, begin + step) for begin in range(0, len(places), step)):
        around = near.knn(places[part], min(_AROUND, len(reflectance)))
        counts = weight[around.index] / np.square(1.0 + around.distance2 / _FADE_M**2)
        found[part] = (counts * reflectance[around.index]).sum(axis=1) / counts.sum(axis=1)
    return found


def _take_colour(cloud: Cloud, rows: Array) -> Array:
    """Colours (m, 3) of some rows of a cloud that has them."""
    assert cloud.colour is not None
    return np.asarray(cloud.colour[rows])


def observe_points(cloud: Cloud, rows: Array, normal: Array, config: ReflectanceConfig) -> tuple[Array, ...]:
    """Intensity, range, cosine and reflectance of each of the cloud's ``rows`` on a disc with its ``normal``."""
    to_sensor = cloud.sensor[rows] - cloud.points[rows]
    distance = np.linalg.norm(to_sensor, axis=1)
    cosine = np.abs(np.einsum("ni,ni->n", to_sensor, normal)) / np.maximum(distance, 1e-6)
    cosine = np.minimum(cosine, 1.0)
    intensity = cloud.intensity[rows]
    return intensity, distance, cosine, compensate_range(intensity, distance, config) / measure_falloff(cosine, config)


def measure_falloff(cosine: Array, config: ReflectanceConfig) -> Array:
    """The share (n,) of the light that comes back at each cosine (n,) of incidence."""
    return portable.power(np.maximum(cosine, config.cosine_min), config.exponent)


def compensate_range(intensity: Array, distance: Array, config: FalloffConfig) -> Array:
    """Intensities (n,) as if measured from ``config.range_reference_m``; ``distance`` (n,) in metres."""
    return np.asarray(intensity * portable.power(distance / config.range_reference_m, config.range_exponent))
