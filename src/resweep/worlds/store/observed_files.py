"""The observed space of a world on disk: two arrays beside its layers, and an entry ``observed`` in world.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from resweep.errors import InputError
from resweep.worlds.observed import SIDE, ObservedSpace
from resweep.worlds.store.layer_files import need
from resweep.worlds.store.stored_arrays import Budget
from resweep.worlds.store.tiled_columns import StoredColumns, create_column

FIELD = "observed"


def write_observed(observed: ObservedSpace, group: zarr.Group, level: int) -> dict[str, Any]:
    """Write the arrays of observed space; returns its entry in world.json."""
    for name, values in (("place", observed.place), ("bits", observed.bits)):
        create_column(group, f"{FIELD}/{name}", values.shape, values.dtype, level)[...] = values
    sizes = {"voxel_m": observed.voxel_m, "reach_m": observed.reach_m}
    return {"path": FIELD, **sizes, "n_blocks": len(observed)}


def read_observed(data: Mapping[str, Any], where: str, root: Path, budget: Budget) -> ObservedSpace | None:
    """The observed space of a world of which ``data`` is the index; None if it was saved without."""
    if FIELD not in data:
        return None
    entry, here = data[FIELD], f"{where}: {FIELD}"
    if need(entry, "path", str, here) != FIELD:
        raise InputError(f"{here}: field 'path' cannot be {entry['path']!r:.60}; save the world again")
    for name in ("voxel_m", "reach_m"):
        value = entry.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 1e-3 <= value <= 1e6:
            raise InputError(f"{here}: field '{name}' cannot be {value!r:.60}; save the world again")
    voxel_m, reach_m = float(entry["voxel_m"]), float(entry["reach_m"])
    count = need(entry, "n_blocks", int, here)
    if count <= 0:
        return ObservedSpace(voxel_m, np.zeros((0, 3), np.int32), np.zeros((0, SIDE), np.uint64), reach_m)
    columns = StoredColumns(root, FIELD, {}, budget=budget)
    place, bits = (columns.read(name, [(0, count)], row=row) for name, row in (("place", (3,)), ("bits", (SIDE,))))
    if place.dtype != np.int32 or bits.dtype != np.uint64:
        raise InputError(f"{root / FIELD}: is damaged (its arrays have other types); save the world again")
    return ObservedSpace(voxel_m, place, bits, reach_m)
