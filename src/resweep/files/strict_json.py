"""JSON as its standard has it (RFC 8259): finite numbers, every key once, and lists within each other up to a bound."""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_DEPTH = 100  # of lists and objects within each other; ours have less than ten
_INTEGERS = range(-(2**63), 2**64)  # what arrays hold
_MAX_DIGITS = 25  # of an integer: longer ones are in no array, and take long to read
_OUTSIDE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; ValueError for NaN, infinity, a key given twice, huge integers and deep nesting."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")  # some programs begin UTF-8 with a byte order mark
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        return make_decoder().decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def make_decoder() -> json.JSONDecoder:
    """What decodes JSON piece by piece as `parse_json` does, but for the bound on nesting."""
    return json.JSONDecoder(
        parse_float=_parse_float,
        parse_int=_parse_integer,
        parse_constant=_refuse_constant,
        object_pairs_hook=_make_object,
    )


def format_json(value: Any, **layout: Any) -> str:
    """The JSON text of plain data, ValueError for NaN and infinity; ``layout`` is that of `json.dumps`."""
    return json.dumps(value, allow_nan=False, **layout)


def replace_not_finite(value: Any) -> Any:
    """Plain data with None in place of every NaN and infinity, for facts that a reader of JSON is to get as null."""
    if isinstance(value, dict):
        return {key: replace_not_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_not_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _check_depth(text: str) -> None:
    depth = 0
    for found in _OUTSIDE.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"more than {MAX_DEPTH} lists or objects within each other")
        elif mark in "]}":
            depth -= 1


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text:.40} is too large")
    return value


def _parse_integer(text: str) -> int:
    if len(text) > _MAX_DIGITS or int(text) not in _INTEGERS:
        raise ValueError(f"the number {text:.40} is too large")
    return int(text)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise ValueError(f"the key {twice!r:.80} is given twice")
    return made
