"""A world's record in few lines: its size, bounds and layers, labels, calibration and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.worlds.store.generations import find_arrays
from resweep.worlds.store.memory_sizes import count_bytes, count_rows


def summarise_world(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the world in the folder ``path`` is, from ``facts``, which are its record as `describe` gives it."""
    layers = [layer for layer in facts.get("layers", []) if isinstance(layer, Mapping)]
    arrays = find_arrays(path, facts, f"{path}: world.json")
    disk = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    memory = sum(count_bytes(arrays / str(layer.get("path", "-"))) for layer in layers)
    summary: dict[str, Any] = {"kind": f"world, {_format_bytes(disk)} on disk, {_format_bytes(memory)} in memory"}
    if _is_box(facts.get("bounds")):
        low, high = facts["bounds"]
        summary["bounds m"] = {axis: [float(low[at]), float(high[at])] for at, axis in enumerate("xyz")}
    rows = [_describe_layer(arrays, layer) for layer in layers]
    widths = [max(len(row[at]) for row in rows) for at in range(3)] if rows else []
    summary["layers"] = "\n".join(
        f"{name:<{widths[0]}}  {number:>{widths[1]}}  {size:>{widths[2]}}  {held}" for name, number, size, held in rows
    )
    summary["vocabulary"] = facts.get("vocabulary", "unknown")
    summary["labels"] = facts.get("labels", {})
    summary["calibration"] = _describe_calibration(facts.get("calibration"))
    meta = facts.get("meta")
    summary["provenance"] = dict(meta) if isinstance(meta, Mapping) else {}
    versions = facts.get("versions")
    summary["written by"] = f"resweep {versions.get('resweep', '?')}" if isinstance(versions, Mapping) else "unknown"
    return summary


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(row, list) and len(row) == 3 for row in value)


def _describe_layer(path: Path, layer: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Kind and name, number of primitives, extent and memory of a layer."""
    kind = str(layer.get("kind", "?"))
    number = f"{count_rows(layer):,}"
    what = {"mesh": " triangles", "instances": " copies"}.get(kind, "")
    name = kind if layer.get("name", kind) in ("", kind) else f"{kind} '{layer['name']}'"
    size = "-"
    if _is_box(layer.get("bounds")):
        low, high = layer["bounds"]
        size = " x ".join(f"{top - bottom:.1f}" for bottom, top in zip(low, high, strict=True)) + " m"
    held = _format_bytes(count_bytes(path / str(layer.get("path", "-"))))
    return name, f"{number}{what}", size, held


def _describe_calibration(found: Any) -> str:
    if not isinstance(found, Mapping):
        return "none"
    try:
        calibration = Calibration.from_dict(found)
    except (ResweepError, KeyError, TypeError, ValueError) as error:
        return f"damaged ({error})"
    return "\n".join(calibration.describe())


def _format_bytes(count: float) -> str:
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return f"{count:.3g} {units[0]}"
