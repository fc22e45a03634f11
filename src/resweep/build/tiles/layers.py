"""Layers of a unit cut to its square, and those of several units put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.map.store.grid import Square
from resweep.worlds import Layer


def cut_layers(layers: Sequence[Layer], square: Square) -> list[Layer]:
    """The layers without the primitives whose centres lie outside the square, and without layers that lose all."""
    kept = []
    for layer in layers:
        inside = square.contains(layer.centres)
        if inside.any():
            kept.append(layer.select(np.flatnonzero(inside)))
    return kept


def join_layers(parts: Sequence[Sequence[Layer]]) -> list[Layer]:
    """Layers of one kind and name as one each, in the order in which they first come."""
    found: dict[tuple[str, str], list[Layer]] = {}
    for layers in parts:
        for layer in layers:
            found.setdefault((layer.kind, layer.name), []).append(layer)
    return [type(same[0]).join(same) for same in found.values()]
