"""Layers of a unit cut to its square, and those of several units put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep.map.store.grid import Square
from resweep.pose import Array
from resweep.worlds import Layer, Splats, Volumes

_COLUMNS = ("label", "reflectance", "instance")


def cut_layers(layers: Sequence[Layer], square: Square) -> list[Layer]:
    """The layers without the primitives whose centres lie outside the square, and without layers that lose all."""
    kept = []
    for layer in layers:
        assert isinstance(layer, Splats | Volumes)
        inside = square.contains(layer.centre if isinstance(layer, Splats) else layer.mean)
        if inside.any():
            kept.append(_join([layer], [np.flatnonzero(inside)]))
    return kept


def join_layers(parts: Sequence[Sequence[Layer]]) -> list[Layer]:
    """Layers of one kind and name as one each, in the order in which they first come."""
    found: dict[tuple[str, str], list[Layer]] = {}
    for layers in parts:
        for layer in layers:
            found.setdefault((layer.kind, layer.name), []).append(layer)
    return [_join(same, [np.arange(layer.n_primitives) for layer in same]) for same in found.values()]


def _join(layers: Sequence[Layer], rows: Sequence[Array]) -> Layer:
    """Some rows of layers that are alike, as one layer."""

    def column(name: str) -> Array:
        return np.concatenate([getattr(layer, name)[chosen] for layer, chosen in zip(layers, rows, strict=True)])

    first = layers[0]
    assert isinstance(first, Splats | Volumes)
    extra = {
        name: np.concatenate([layer.extra[name][chosen] for layer, chosen in zip(layers, rows, strict=True)])  # type: ignore[union-attr]
        for name in first.extra
    }
    same: dict[str, Any] = {name: column(name) for name in _COLUMNS}
    if isinstance(first, Splats):
        same |= {name: column(name) for name in ("centre", "normal", "radius")}
        settings = {name: getattr(first, name) for name in ("name", "depth", "gap_m", "incidence_exponent")}
        return Splats(**same, extra=extra, **settings)
    same |= {name: column(name) for name in ("mean", "covariance", "permeability")}
    exposure = None if first.exposure_m is None else column("exposure_m")
    return Volumes(**same, exposure_m=exposure, extra=extra, name=first.name, tau=first.tau, element_m=first.element_m)
