"""How much memory a saved world takes once it is read, from the metadata of its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from resweep.files.strict_json import parse_json
from resweep.files.untrusted import MAX_JSON_BYTES, read_bytes
from resweep.worlds.layers import KINDS
from resweep.worlds.store.generations import find_arrays

ITEM_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2}
ITEM_BYTES |= {"int32": 4, "uint32": 4, "float32": 4}


def count_bytes(folder: Path) -> int:
    """Bytes of the arrays in a folder once they are read, by their Zarr metadata."""
    total = 0
    for file in folder.rglob("zarr.json"):
        record = _read(file)  # reading the world itself raises the error
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
            kind = KINDS.get(str(layer.get("kind")))
            total += 0 if kind is None else kind.scene_bytes * count_rows(layer)
    return total


def count_rows(entry: Mapping[str, Any]) -> int:
    """The rows of a layer by its entry in world.json; 0 if it has none."""
    kind = KINDS.get(str(entry.get("kind")))
    count = 0 if kind is None else entry.get(kind.count_field, 0)
    return count if isinstance(count, int) else 0


def _read(file: Path) -> Any:
    try:
        return parse_json(read_bytes(file, MAX_JSON_BYTES))
    except (OSError, ValueError):
        return None
