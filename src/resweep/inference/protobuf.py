"""The wire format of protobuf, read strictly: what is unknown, repeated or of another type is refused.

Strict, so that there is one way to read a message: onnxruntime, which reads the same bytes later, finds the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIRE = {"int": VARINT, "double": FIXED64, "bytes": BYTES, "text": BYTES, "message": BYTES, "float": FIXED32}
_PACKED = {"float": "<f", "double": "<d"}
_MAX_VARINT_BYTES = 10
MAX_DEPTH = 12  # of messages within each other


class GraphError(ValueError):
    """A network that is not accepted, and why."""


@dataclass(frozen=True)
class FieldKind:
    """A field: its name, its kind, whether it repeats, and for messages their fields; ``refused`` says why not."""

    name: str
    kind: str = "int"
    repeated: bool = False
    fields: Callable[[], Fields] | None = None
    refused: str = ""


Fields = Mapping[int, FieldKind]


class FieldCounter:
    """Counts the fields of a file: reading takes a microsecond for each."""

    def __init__(self, most: int) -> None:
        self.left = most

    def count(self, fields: int = 1) -> None:
        """Raise if the file has too many."""
        self.left -= fields
        if self.left < 0:
            raise GraphError("it has too many fields")


def read_message(data: memoryview, fields: Fields, counter: FieldCounter, depth: int = 0) -> dict[str, Any]:
    """The fields of a message by name; repeated ones as lists, those that are missing left out."""
    if depth > MAX_DEPTH:
        raise GraphError(f"more than {MAX_DEPTH} messages within each other")
    found: dict[str, Any] = {}
    for number, wire, value in _walk(data):
        counter.count()
        field = fields.get(number)
        if field is None:
            raise GraphError(f"it has the field {number}, which is unknown here")
        if field.refused:
            raise GraphError(field.refused)
        packed = field.repeated and wire == BYTES and _WIRE[field.kind] != BYTES
        if wire != _WIRE[field.kind] and not packed:
            raise GraphError(f"the field '{field.name}' has another type")
        if not field.repeated and field.name in found:
            raise GraphError(f"the field '{field.name}' is given twice")
        values = _unpack(value, field, counter) if packed else [_convert(value, field, counter, depth)]
        if field.repeated:
            found.setdefault(field.name, []).extend(values)
        else:
            found[field.name] = values[0]
    return found


def _walk(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """The number, wire type and value of each field: an integer, or the bytes of the others."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _read_varint(data, at)
            yield number, wire, value
            continue
        if wire == BYTES:
            size, at = _read_varint(data, at)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise GraphError("it is no protobuf message")
        if size > end - at:
            raise GraphError("it ends in the middle of a field")
        yield number, wire, data[at : at + size]
        at += size


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + _MAX_VARINT_BYTES, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place + 1
        shift += 7
    raise GraphError("it ends in the middle of a number")


def _convert(value: Any, field: FieldKind, counter: FieldCounter, depth: int) -> Any:
    if field.kind == "int":
        return _sign(value)
    if field.kind in _PACKED:
        return struct.unpack(_PACKED[field.kind], value)[0]
    if field.kind == "bytes":
        return value
    if field.kind == "text":
        return read_text(value)
    assert field.fields is not None
    return read_message(value, field.fields(), counter, depth + 1)


def read_text(value: memoryview) -> str:
    """The text in bytes."""
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphError("a name is no text") from error


def _unpack(value: memoryview, field: FieldKind, counter: FieldCounter) -> list[Any]:
    """The numbers of a field that has all of them in one piece."""
    if field.kind in _PACKED:
        size = struct.calcsize(_PACKED[field.kind])
        if len(value) % size:
            raise GraphError(f"the field '{field.name}' ends in the middle of a number")
        counter.count(len(value) // size)
        return [item[0] for item in struct.iter_unpack(_PACKED[field.kind], value)]
    numbers, at = [], 0
    while at < len(value):
        counter.count()
        number, at = _read_varint(value, at)
        numbers.append(_sign(number))
    return numbers


def _sign(value: int) -> int:
    """A varint as a signed integer of 64 bits."""
    return value - (1 << 64) if value >> 63 else value
