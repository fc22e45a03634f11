"""Mutants of JSON by its structure: a value of another kind, a missing key, a number beyond all bounds, deep nesting.

Most changes of bytes make a text that is no JSON, which is refused at the door; these are JSON, or nearly so, whose
contents are wrong.
"""

from __future__ import annotations

import json
import random
from typing import Any

_RAW = "\x00raw\x00"  # stands around what json itself would not write
_WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 0.5, -0.0, 1e15, -1e15, 1e300, -1e300, 2**31, 2**63 - 1, -(2**63), 10**18),
    *("", "x", "0.5", "nan", "..", "../../x", "/etc/passwd", "\x1b[31m", "a" * 300, "\ud83d\ude00"),
    *([], {}, [[]], [None], [0.0], [0.0] * 7, {"": None}, {"x": {}}, [[0.0, 1.0], [2.0]]),
)
_TEXTS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 30, "9" * 5000, "[" * 80 + "]" * 80, "[" * 3000)


def damage_json(data: bytes, rng: random.Random) -> bytes | None:
    """``data`` of a JSON file with one to three changes of its values; None for what is no JSON, or holds none."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict | list):
        return None
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = _list_holders(root)
        if not holders:
            return None
        # As often a value near the root as one of the many in long lists.
        holder = rng.choice(holders[:12] if rng.random() < 0.5 else holders)
        _damage(holder, rng)
    return _unwrap(json.dumps(root)).encode()


def _list_holders(root: Any) -> list[Any]:
    """All lists and objects that hold something, the outer ones first."""
    found, left = [], [root]
    while left:
        item = left.pop(0)
        if item:
            found.append(item)
            left += [inner for inner in (item.values() if isinstance(item, dict) else item) if _holds(inner)]
    return found


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)


def _damage(holder: Any, rng: random.Random) -> None:
    """Change one value of a list or an object, or the keys or the length of it."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = rng.choice(keys)
    kind = rng.randrange(9)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = f"{_RAW}{rng.choice(_TEXTS)}{_RAW}"
    elif kind == 2 and isinstance(holder, dict):
        holder[rng.choice(("more", "x" * 200, "", f"{key}_", "__class__"))] = holder.pop(key)
    elif kind == 2:
        holder[key:key] = [holder[key]] * rng.choice((1, 2, 1000))
    elif kind == 3:
        other = rng.choice(keys)
        holder[key], holder[other] = holder[other], holder[key]
    elif kind == 4:
        holder[key] = [holder[key]] if rng.random() < 0.5 else {"value": holder[key]}
    elif kind == 5 and isinstance(holder[key], int | float | str):
        holder[key] = str(holder[key]) if not isinstance(holder[key], str) else rng.choice((0, 1.5, -3))
    elif kind == 6 and isinstance(holder[key], list | dict) and holder[key]:
        holder[key] = type(holder[key])()
    elif kind == 7 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = rng.choice((-holder[key], holder[key] * 1e9, holder[key] + 0.5, 1e14, -1e14))
    else:
        holder[key] = rng.choice(_WRONG)


def _unwrap(text: str) -> str:
    """The text with what stands between marks as it is, without its quotes."""
    mark = json.dumps(_RAW)[1:-1]
    parts = text.split(mark)
    for at in range(1, len(parts), 2):
        parts[at - 1] = parts[at - 1].removesuffix('"')
        if at + 1 < len(parts):
            parts[at + 1] = parts[at + 1].removeprefix('"')
    return "".join(parts)
