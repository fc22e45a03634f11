"""Facts for people: numbers and nested settings as text, and a world's record in few lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LISTED = 8  # values of a list that are shown
_COUNTED = ("labels", "first sweep: labels", "categories")  # names with counts, shown in one paragraph


def format_fact(value: Any, name: str = "") -> str:
    """A fact as text; nested settings are indented, one a line."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e5 else f"{value:.10g}"  # times since 1970, UTM coordinates
    if isinstance(value, Mapping) and name in _COUNTED:
        counts = sorted(value.items(), key=lambda item: -item[1])
        return ", ".join(f"{key} {format_fact(count)}" for key, count in counts) or "none"
    if isinstance(value, Mapping):
        return "\n".join(_format_entry(str(key), item) for key, item in value.items())
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(item, float) for item in value):
            return f"{format_fact(value[0])} to {format_fact(value[1])}"
        if value and all(isinstance(item, Mapping) for item in value):
            return "\n".join(_format_entry(str(at), item) for at, item in enumerate(value))
        shown = ", ".join(format_fact(item) for item in value[:_LISTED])
        return f"{shown}, ... ({len(value)})" if len(value) > _LISTED else shown
    return str(value)


def _format_entry(name: str, value: Any) -> str:
    text = format_fact(value)
    nested = isinstance(value, Mapping) or "\n" in text
    return f"{name}:\n" + "\n".join(f"  {line}" for line in text.splitlines()) if nested else f"{name}: {text}"


def collapse(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts, with nested settings of provenance counted in place of listed."""
    meta = facts.get("provenance")
    return {**facts, "provenance": _collapse_settings(meta)} if isinstance(meta, Mapping) else dict(facts)


def _collapse_settings(meta: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: f"{_count_values(value)} settings, listed with --all" if isinstance(value, Mapping) else value
        for key, value in meta.items()
    }


def _count_values(value: Any) -> int:
    return sum(map(_count_values, value.values())) if isinstance(value, Mapping) else 1


def summarise_world(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a world's record says, in few lines: size, bounds, each layer, labels, calibration, provenance."""
    from resweep.worlds.store.generations import find_arrays
    from resweep.worlds.store.memory_sizes import count_bytes

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
    summary["provenance"] = _collapse_settings(meta) if isinstance(meta, Mapping) else {}
    versions = facts.get("versions")
    summary["written by"] = f"resweep {versions.get('resweep', '?')}" if isinstance(versions, Mapping) else "unknown"
    return summary


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(row, list) and len(row) == 3 for row in value)


def _describe_layer(path: Path, layer: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Kind and name, number of primitives, extent and memory of a layer."""
    from resweep.worlds.store.memory_sizes import count_bytes, count_rows

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
    from resweep.calibration import Calibration
    from resweep.errors import ResweepError

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
