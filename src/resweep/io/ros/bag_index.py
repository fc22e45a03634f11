"""Messages of one topic straight from a bag's own index, whole or only their beginnings.

Bags hold clouds and small messages side by side, so going through them for stamps and poses would read every
point. Uncompressed bags allow better: their indexes say where each message is (ROS bag format 2.0; MCAP
specification, sections Chunk, Message Index and Chunk Index; rosbag2's SQLite schema). Where a bag is
compressed or has no index, nothing is given and the caller reads it through.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from resweep.files.untrusted import check_regular
from resweep.io.ros.bounded_files import BoundedPath

Messages = list[tuple[int, bytes]]


class _HiddenError(Exception):
    """The index does not lead to the messages' bytes."""


def read_messages(files: Sequence[Path], topic: str, limit: int | None) -> Messages | None:
    """Time of recording in ns and bytes (the first ``limit`` if given) of a topic's messages, by time.

    None where the bag is compressed, unindexed or damaged, or where two messages have one time.
    """
    found: Messages = []
    try:
        for file in files:
            found += _BY_SUFFIX[file.suffix.lower()](file, topic, limit)
    except (_HiddenError, struct.error, KeyError, ValueError, OverflowError, OSError, sqlite3.Error):
        return None
    found.sort(key=lambda item: item[0])
    times = [moment for moment, _ in found]
    return found if len(set(times)) == len(times) else None


def _read(stream: BinaryIO, at: int, size: int) -> bytes:
    stream.seek(at)
    data = stream.read(size)
    if len(data) != size:
        raise _HiddenError
    return data


def _cut(size: int, limit: int | None) -> int:
    return size if limit is None else min(size, limit)


def _read_sqlite(file: Path, topic: str, limit: int | None) -> Messages:
    check_regular(file)
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
        (ids,) = zip(*base.execute("SELECT id FROM topics WHERE name = ?", (topic,)).fetchall(), strict=True)
        places = base.execute(
            f"SELECT id, timestamp FROM messages WHERE topic_id IN ({','.join('?' * len(ids))})", ids
        ).fetchall()
        found: Messages = []
        blob: Callable[..., Any] | None = getattr(base, "blobopen", None)  # Python 3.11 and later
        for row, moment in places:
            if limit is not None and blob is not None:  # a blob gives its beginning without the rest
                with blob("messages", "data", row, readonly=True) as data:
                    found.append((moment, data.read(limit)))
            else:
                (whole,) = base.execute("SELECT data FROM messages WHERE id = ?", (row,)).fetchone()
                found.append((moment, whole[:limit]))
        return found


def _read_mcap(file: Path, topic: str, limit: int | None) -> Messages:
    found: Messages = []
    with BoundedPath(file).open("rb") as stream:
        channels: set[int] = set()
        chunks: list[tuple[int, dict[int, int]]] = []
        for kind, body in _read_mcap_summary(stream, file.stat().st_size):
            if kind == 0x04:
                number, _, length = struct.unpack_from("<HHI", body)
                if body[8 : 8 + length].decode() == topic:
                    channels.add(number)
            elif kind == 0x08:
                start, size = struct.unpack_from("<Q8xI", body, 16)
                offsets = dict(struct.iter_unpack("<HQ", body[36 : 36 + size]))
                (compression,) = struct.unpack_from("<I", body, 36 + size + 8)
                if compression:
                    raise _HiddenError
                chunks.append((start, offsets))
        if not chunks or not channels:
            raise _HiddenError
        for start, offsets in chunks:
            # Opcode, length, two times, size, checksum, an empty name of compression, and the records' length.
            body_start = start + 9 + 8 + 8 + 8 + 4 + 4 + 8
            for channel in channels & set(offsets):
                (length,) = struct.unpack("<Q", _read(stream, offsets[channel] + 1, 8))
                entries = _read(stream, offsets[channel] + 9, length)[6:]
                for moment, offset in struct.iter_unpack("<QQ", entries):
                    (size,) = struct.unpack("<Q", _read(stream, body_start + offset + 1, 8))
                    found.append((moment, _read(stream, body_start + offset + 31, _cut(size - 22, limit))))
    return found


def _read_mcap_summary(stream: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    """The records of the summary: opcode and content."""
    (start,) = struct.unpack("<Q", _read(stream, size - 8 - 20, 8))
    if not start:
        raise _HiddenError
    at, end = start, size - 8 - 29
    while at < end:
        kind, length = struct.unpack("<BQ", _read(stream, at, 9))
        yield kind, _read(stream, at + 9, length)
        at += 9 + length


def _read_bag(file: Path, topic: str, limit: int | None) -> Messages:
    found: Messages = []
    with BoundedPath(file).open("rb") as stream:
        if not stream.readline(64).startswith(b"#ROSBAG V2.0"):
            raise _HiddenError
        fields, _, _ = _read_bag_record(stream, stream.tell())
        (at,) = struct.unpack("<Q", fields[b"index_pos"])
        size = file.stat().st_size
        wanted: set[bytes] = set()
        chunks: list[int] = []
        while at < size:
            fields, _, at = _read_bag_record(stream, at)
            if fields[b"op"] == b"\x07" and fields[b"topic"].decode() == topic:
                wanted.add(fields[b"conn"])
            elif fields[b"op"] == b"\x06":
                chunks.append(struct.unpack("<Q", fields[b"chunk_pos"])[0])
        if not wanted or not chunks:
            raise _HiddenError
        for chunk in chunks:
            fields, body, at = _read_bag_record(stream, chunk)
            if fields[b"compression"] != b"none":
                raise _HiddenError
            while at < size:  # the chunk's index follows it, a record for each connection
                fields, entries, at = _read_bag_record(stream, at)
                if fields[b"op"] != b"\x04":
                    break
                if fields[b"conn"] in wanted:
                    for sec, nanosec, offset in struct.iter_unpack("<III", _read(stream, entries, at - entries)):
                        found.append((sec * 10**9 + nanosec, _read_bag_message(stream, body + offset, limit)))
    return found


def _read_bag_message(stream: BinaryIO, at: int, limit: int | None) -> bytes:
    fields, data, end = _read_bag_record(stream, at)
    while fields[b"op"] == b"\x07":  # a connection may be introduced right before its first message
        fields, data, end = _read_bag_record(stream, end)
    return _read(stream, data, _cut(end - data, limit))


def _read_bag_record(stream: BinaryIO, at: int) -> tuple[dict[bytes, bytes], int, int]:
    """A record's header fields, and where its data begin and end."""
    (length,) = struct.unpack("<I", _read(stream, at, 4))
    head = _read(stream, at + 4, length)
    fields: dict[bytes, bytes] = {}
    here = 0
    while here < length:
        (size,) = struct.unpack_from("<I", head, here)
        key, _, value = head[here + 4 : here + 4 + size].partition(b"=")
        fields[key] = value
        here += 4 + size
    (size,) = struct.unpack("<I", _read(stream, at + 4 + length, 4))
    start = at + 8 + length
    return fields, start, start + size


_BY_SUFFIX: dict[str, Callable[[Path, str, int | None], Messages]] = {
    ".bag": _read_bag,
    ".db3": _read_sqlite,
    ".mcap": _read_mcap,
}
