"""Colours of primitives in a view: each primitive is traced under a number of its own.

Events know no rows of layers, but instance ids. A copy of the world whose instance ids are the numbers of its
primitives tells which primitive each ray hit, however the scene is divided.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds import Layer, World

COLUMNS = ("red", "green", "blue")
_GREY = 128
_MAX_ID = 2**31 - 2  # instance ids are int32


def has_colours(layer: Layer) -> bool:
    """Whether the primitives of a layer have colours."""
    return all(name in layer.extra for name in COLUMNS)


def find_colours(world: World) -> Array:
    """Colours (n + 1, 3) uint8 of the numbered primitives of a world, from number 1 on; grey where there is none."""
    if not any(has_colours(layer) for layer in world.layers):
        raise ResweepError(
            "render: no primitive of the world has a colour; build it from a cloud with colours, or choose another view"
        )
    parts = [np.full((1, 3), _GREY, np.uint8)]
    for layer in world.layers:
        if has_colours(layer):
            parts.append(np.stack([np.asarray(layer.extra[name]) for name in COLUMNS], axis=1).astype(np.uint8))
        else:
            parts.append(np.full((len(layer), 3), _GREY, np.uint8))
    return np.concatenate(parts)


def number_primitives(world: World) -> World:
    """The world with the number of each primitive, from 1 on, as its instance id; copies of a mesh have one each."""
    layers: list[Layer] = []
    first = 1
    for layer in world.layers:
        count = len(layer)
        if first + count > _MAX_ID:
            raise ResweepError(f"render: more than {_MAX_ID:,} primitives cannot be coloured; choose another view")
        numbered = copy(layer)
        numbered.instance = np.arange(first, first + count, dtype=np.int32)
        layers.append(numbered)
        first += count
    return World(
        layers,
        world.origin,
        world.meta,
        world.labels,
        calibration=world.calibration,
        tile_size_m=world.tile_size_m,
        observed=world.observed,
        map_filter=world.map_filter,
    )
