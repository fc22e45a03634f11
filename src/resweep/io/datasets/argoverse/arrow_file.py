"""The layout of an Arrow file, checked against its size before Arrow reserves what it promises.

An Arrow file ends with a footer that names its record batches; each has the lengths of its columns and where their
buffers lie, and compressed buffers begin with the length that they expand to. Source: Arrow columnar format, sections
"IPC File Format", "Buffer Alignment" and "Compression"; the tables are FlatBuffers (File.fbs, Message.fbs).
"""

from __future__ import annotations

import struct

from resweep.io.reading_limits import check_expansion, compute_expansion_limit

_MAGIC = b"ARROW1"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages
_INT64 = 8


class _FlatTable:
    """A FlatBuffers table: its fields by number, each checked to lie within the bytes."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self._at = data, at
        self._fields = at - self._unpack("<i", at)
        self._size = self._unpack("<H", self._fields)

    def _unpack(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("a table before the beginning")
        return int(struct.unpack_from(kind, self.data, at)[0])

    def _place(self, field: int) -> int | None:
        slot = 4 + 2 * field
        offset = self._unpack("<H", self._fields + slot) if slot + 2 <= self._size else 0
        return self._at + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        """A plain number; 0 where it is left out."""
        place = self._place(field)
        return 0 if place is None else self._unpack(kind, place)

    def table(self, field: int) -> _FlatTable | None:
        """A table within this one."""
        place = self._place(field)
        return None if place is None else _FlatTable(self.data, place + self._unpack("<I", place))

    def rows(self, field: int, kind: str) -> list[tuple[int, ...]]:
        """The structs of a vector."""
        place = self._place(field)
        if place is None:
            return []
        start = place + self._unpack("<I", place)
        count, size = self._unpack("<I", start), struct.calcsize(kind)
        if count * size > len(self.data) - start - 4:
            raise ValueError(f"a list of {count} items beyond the end")
        return list(struct.iter_unpack(kind, self.data[start + 4 : start + 4 + count * size]))


def check_arrow(data: bytes, where: str) -> None:
    """Raise, a ValueError or a `ResweepError`, unless what the file promises is in it, or may be expanded from it."""
    if len(data) < 24 or not data.startswith(_MAGIC) or not data.endswith(_MAGIC):
        raise ValueError("it does not begin and end with ARROW1")
    try:
        length = struct.unpack_from("<i", data, len(data) - 10)[0]
        start = len(data) - 10 - length
        if length <= 0 or start < 8:
            raise ValueError("no footer")
        footer = data[start : len(data) - 10]
        table = _FlatTable(footer, struct.unpack_from("<I", footer)[0])
        blocks = [*table.rows(2, "<qi4xq"), *table.rows(3, "<qi4xq")]
        check_expansion(sum(_check_block(data, *block) for block in blocks), len(data), where)
    except struct.error as error:
        raise ValueError(f"a table beyond the end: {error}") from None


def _check_block(data: bytes, offset: int, head: int, body: int) -> int:
    """The bytes that the buffers of a record batch take in memory."""
    if min(offset, head, body) < 0 or offset + head + body > len(data):
        raise ValueError("a record batch beyond the end")
    message = data[offset + 8 : offset + head]
    table = _FlatTable(message, struct.unpack_from("<I", message)[0])
    kind, batch = table.number(1, "<B"), table.table(2)
    if kind == _DICTIONARY and batch is not None:
        batch = batch.table(1)
    if batch is None or kind not in (_DICTIONARY, _BATCH):
        raise ValueError("no record batch where one is named")
    longest = max([batch.number(0, "<q"), *(length for length, _ in batch.rows(1, "<qq"))])
    if not 0 <= longest <= compute_expansion_limit(len(data)):
        raise ValueError(f"a column of {longest} rows")
    compressed, total, start = batch.table(3) is not None, 0, offset + head
    for at, size in batch.rows(2, "<qq"):
        if min(at, size) < 0 or at + size > body:
            raise ValueError("a buffer beyond its record batch")
        expanded = struct.unpack_from("<q", data, start + at)[0] if compressed and size >= _INT64 else size
        total += max(size, expanded)
    return total
