"""Worlds read from a folder or an object store, whole or in part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.remote import find_path, recover_output
from resweep.worlds.layers.square_tiles import TileTable
from resweep.worlds.store.generations import find_arrays, read_generation
from resweep.worlds.store.index import (
    INDEX,
    read_calibration,
    read_index,
    read_labels,
    read_map_filter,
    read_origin,
    read_tile_size,
)
from resweep.worlds.store.layer_files import ReadState, need, read_layer
from resweep.worlds.store.near import choose_near_tiles
from resweep.worlds.store.observed_files import read_observed
from resweep.worlds.world import World

NEAR_M = 250.0  # twice the range of most sensors


def load_world(
    path: str | Path,
    bounds: ArrayLike | None = None,
    *,
    near: Trajectory | Log | ArrayLike | None = None,
    range_m: float = NEAR_M,
) -> World:
    """Read a world from a folder or a URL, or only its tiles that reach into ``bounds``, or come ``near`` a drive.

    ``bounds`` are the lowest and highest corner, (2, 2) or (2, 3), in world coordinates. ``near`` is a trajectory, a
    log with poses, or poses (n, 4, 4): tiles within ``range_m`` metres of it are read. Twice the range of a sensor is
    what its sweeps depend on. Tiles are read whole, so geometry may reach beyond them. Faces and instances keep the
    order they were saved in.

    Example: ``part = rs.load_world("seq00.world", near=log, range_m=240)``
    """
    path = find_path(path)
    recover_output(path)
    return read_generation(path, lambda: read_index(path), lambda data: _read(path, data, bounds, near, range_m))


def _read(path: Path, data: dict[str, Any], bounds: Any, near: Any, range_m: float) -> World:
    """The world at ``path`` of which ``data`` is the index, or the tiles of it that `load_world` describes."""
    where = str(path / INDEX)
    origin = read_origin(data, where)
    reading = ReadState(find_arrays(path, data, where), _make_choice(origin, bounds, near, range_m))
    layers = []
    for number, entry in enumerate(need(data, "layers", list, where)):
        layer = read_layer(entry, f"{where}: layers[{number}]", reading)
        if layer is not None:
            layers.append(layer)
    if not layers:
        region = "the bounds" if near is None else f"{range_m:g} m of the drive"
        raise ResweepError(f"{path}: no layer has anything within {region}; the world spans {data.get('bounds')}")
    meta, labels = need(data, "meta", dict, where), read_labels(data, where)
    size_m = read_tile_size(data, where)
    calibration, observed = read_calibration(data, where), read_observed(data, where, reading.root, reading.budget)
    known: dict[str, Any] = {"tile_size_m": size_m, "observed": observed, "map_filter": read_map_filter(data, where)}
    return World(layers, origin, meta, labels, calibration=calibration, **known)


def _make_choice(origin: Array, bounds: Any, near: Any, range_m: float) -> Callable[[TileTable], Array] | None:
    """What chooses the tiles to read; None for all."""
    if bounds is not None and near is not None:
        raise ResweepError("near: is given together with bounds; give one of them")
    if near is not None:
        return choose_near_tiles(near, range_m, origin)
    return None if bounds is None else partial(TileTable.within, bounds=_find_offsets(bounds, origin))


def _find_offsets(bounds: ArrayLike, origin: Array) -> Array:
    """Bounds (2, 2) or (2, 3) in world coordinates as metres from the origin."""
    try:
        box = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ResweepError(f"bounds: expected two corners of numbers ({error})") from error
    if box.shape not in ((2, 2), (2, 3)) or np.isnan(box).any() or (box[0] > box[1]).any():
        raise ResweepError(f"bounds: expected the lowest and the highest corner, (2, 2) or (2, 3), got {bounds!r}")
    return np.asarray(box - origin[: box.shape[1]])
