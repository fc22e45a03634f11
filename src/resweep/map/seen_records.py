"""From where, and how often, each primitive of a world was seen."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from resweep.map.cloud import Cloud
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.worlds import Layer
from resweep.worlds.layers.seen import COLUMN, COMPLETED, pack_seen

_NEAR_M = 1.0  # a return farther from every primitive belongs to none; chosen by hand
_BLOCK = 1 << 20  # returns that are looked at together: bounds memory, changes no byte


def record_seen(cloud: Cloud, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers with the column ``seen`` (`resweep.worlds.layers.seen`) from the returns of a map.

    Every measured return counts for the primitive whose centre is nearest, of splats and volumes alike. A primitive
    without any takes the range and incidence of the return nearest to it, with a count of 0. Other kinds of layer, and
    primitives that are marked as completed already, stay as they are.
    """
    chosen = [at for at, layer in enumerate(layers) if layer.keeps_extra]
    rows = np.flatnonzero(cloud.seen)
    if not chosen or len(rows) == 0:
        return tuple(layers)
    found: list[Layer] = list(layers)
    scattered = [layers[at] for at in chosen]
    centre = np.concatenate([layer.centres for layer in scattered])
    normals = [(layer.normals, layer.centres) for layer in scattered]
    normal = np.concatenate([np.zeros_like(at) if normal is None else normal for normal, at in normals])
    records = _observe(cloud, rows, centre, normal)
    ends = np.cumsum([len(layer) for layer in scattered])
    for at, layer, end in zip(chosen, scattered, ends, strict=True):
        own = slice(int(end) - len(layer), int(end))
        packed = pack_seen(records[0][own], (records[1][own], records[2][own]), None)
        if layer.normals is not None:
            packed = pack_seen(records[0][own], (records[1][own], records[2][own]), (records[3][own], records[4][own]))
        old = layer.extra.get(COLUMN)
        if old is not None:
            packed = np.where((old & COMPLETED) > 0, old, packed).astype(np.uint32)
        copied = copy(layer)
        copied.extra = {**layer.extra, COLUMN: packed}
        found[at] = copied
    return tuple(found)


def _observe(cloud: Cloud, rows: Array, centre: Array, normal: Array) -> tuple[Array, ...]:
    """Count, least and largest range, and least and largest cosine (m,) of the returns on primitives."""
    count = np.zeros(len(centre), np.int64)
    least, largest = np.full((2, len(centre)), np.inf, np.float32), np.full((2, len(centre)), -np.inf, np.float32)
    near = Neighbours(centre)
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK]
        owner = near.knn(cloud.points[block], 1, _NEAR_M).index[:, 0]
        block, owner = block[owner >= 0], owner[owner >= 0]
        count += np.bincount(owner, minlength=len(centre))
        for column, values in enumerate(_measure(cloud, block, normal[owner])):
            np.minimum.at(least[column], owner, values)
            np.maximum.at(largest[column], owner, values)
    alone = np.flatnonzero(count == 0)
    if len(alone):
        nearest = rows[Neighbours(cloud.points[rows]).knn(centre[alone], 1).index[:, 0]]
        for column, values in enumerate(_measure(cloud, nearest, normal[alone])):
            least[column, alone] = largest[column, alone] = values
    return count, least[0], largest[0], least[1], largest[1]


def _measure(cloud: Cloud, rows: Array, normal: Array) -> tuple[Array, Array]:
    """Range and cosine of the incidence (k,) of some returns of a cloud on surfaces with ``normal`` (k, 3)."""
    to_sensor = cloud.sensor[rows] - cloud.points[rows]
    distance = np.linalg.norm(to_sensor, axis=1)
    cosine = np.abs(np.einsum("ni,ni->n", to_sensor, normal)) / np.maximum(distance, 1e-6)
    return distance.astype(np.float32), np.minimum(cosine, 1.0).astype(np.float32)
