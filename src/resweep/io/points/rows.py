"""Rows of mixed numbers, in binary and in text: the bodies of PCD and PLY files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from resweep.errors import FaultKind, InputError, SweepError
from resweep.pose import Array


def pack(columns: Mapping[str, Array], order: Literal["<", ">"] = "<") -> Array:
    """Columns (n,) as packed records (n,) in byte order ``<`` or ``>``."""
    dtype = np.dtype([(name, values.dtype.newbyteorder(order)) for name, values in columns.items()])
    rows = np.empty(len(next(iter(columns.values()))), dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


def unpack(rows: Array) -> dict[str, Array]:
    """The records' fields as columns in the machine's byte order."""
    assert rows.dtype.names is not None
    return {
        name: np.ascontiguousarray(rows[name]).astype(rows[name].dtype.newbyteorder("=")) for name in rows.dtype.names
    }


def to_text(columns: Mapping[str, Array]) -> bytes:
    """Columns as lines of text, with the digits that bring every number back exactly."""
    texts = []
    for values in columns.values():
        if values.dtype.kind == "f":
            digits = "%.9g" if values.dtype.itemsize == 4 else "%.17g"
            texts.append([digits % value for value in values.tolist()])
        else:
            texts.append([str(value) for value in values.tolist()])
    lines = [" ".join(row) for row in zip(*texts, strict=True)]
    return ("\n".join(lines) + "\n").encode("ascii") if lines else b""


def from_text(words: Sequence[bytes], dtype: np.dtype[Any], count: int, where: str) -> Array:
    """``count`` records of ``dtype`` from the numbers of a text body, as text."""
    widths = [max(1, int(np.prod(dtype[name].shape))) for name in dtype.names or ()]
    need = count * sum(widths)
    if len(words) != need:
        short = len(words) < need
        problem = "truncated" if short else "longer than its header says"
        raise SweepError(
            f"{where}: {problem} ({len(words)} numbers, {need} expected); fetch or write it again",
            FaultKind.TRUNCATED if short else FaultKind.UNREADABLE,
        )
    rows = np.zeros(count, dtype)
    table = np.array(words, dtype=bytes).reshape(count, sum(widths))
    at = 0
    for name, width in zip(dtype.names or (), widths, strict=True):
        cells = table[:, at : at + width]
        try:
            rows[name] = _parse_numbers(cells, dtype[name].base).reshape(rows[name].shape)
        except ValueError as error:
            raise InputError(f"{where}: field '{name}' holds something that is no number ({error})") from error
        at += width
    return rows


def _parse_numbers(cells: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return cells.astype(dtype)
    try:
        return cells.astype(dtype)
    except ValueError:  # integers written as 3.0 or 3e0
        values, limit = cells.astype(np.float64), np.iinfo(dtype)
        if not (np.isfinite(values).all() and values.min() >= limit.min and values.max() <= limit.max):
            raise ValueError(f"integers must lie within {limit.min} to {limit.max}") from None
        return values.astype(dtype)
