"""Facts for people: numbers and nested settings as text."""

from __future__ import annotations

from collections.abc import Mapping
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
    if not isinstance(meta, Mapping):
        return dict(facts)
    counted = {
        key: f"{_count_values(value)} settings, listed with --all" if isinstance(value, Mapping) else value
        for key, value in meta.items()
    }
    return {**facts, "provenance": counted}


def _count_values(value: Any) -> int:
    return sum(map(_count_values, value.values())) if isinstance(value, Mapping) else 1
