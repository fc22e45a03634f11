"""One value of a JSON record changed, by a path such as ``bins.0.beams``."""

from __future__ import annotations

from typing import Any


def set_at(record: dict[str, Any], place: str, value: Any) -> None:
    """Set the item at ``place``, whose parts are keys and numbers of rows."""
    *above, last = place.split(".")
    holder: Any = record
    for name in above:
        holder = holder[int(name)] if isinstance(holder, list) else holder[name]
    holder[int(last) if isinstance(holder, list) else last] = value
