"""How much memory a saved world takes once it is read, from what its folder says of its arrays."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

from resweep.worlds.store.generations import find_arrays

ITEM_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2}
ITEM_BYTES |= {"int32": 4, "uint32": 4, "float32": 4}
# What a primitive takes in the native scene beside its arrays, as measured: the geometry and Embree's tree over it.
SCENE_BYTES = {"splats": 165, "volumes": 130, "mesh": 65, "instances": 300}
COUNTS = {"splats": "n_splats", "volumes": "n_volumes", "mesh": "n_faces", "instances": "n_instances"}


def count_bytes(folder: Path) -> int:
    """Bytes of the arrays in a folder once they are read, by their Zarr metadata."""
    total = 0
    for file in folder.rglob("zarr.json"):
        record = _read(file)  # reading the world itself will say what is damaged
        if isinstance(record, dict) and record.get("node_type") == "array" and isinstance(record.get("shape"), list):
            total += prod(record["shape"]) * ITEM_BYTES.get(str(record.get("data_type")), 8)
    return total


def estimate_memory(path: Path) -> int:
    """Bytes that the saved world in a folder takes in memory with its native scene; 0 if it cannot be read."""
    record = _read(path / "world.json")
    layers = record.get("layers") if isinstance(record, dict) else None
    arrays = find_arrays(path, record, f"{path}: world.json") if isinstance(record, dict) else path
    total = count_bytes(arrays)
    for layer in layers if isinstance(layers, list) else []:
        if isinstance(layer, dict):
            count = layer.get(COUNTS.get(str(layer.get("kind")), ""), 0)
            total += SCENE_BYTES.get(str(layer.get("kind")), 0) * (count if isinstance(count, int) else 0)
    return total


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
