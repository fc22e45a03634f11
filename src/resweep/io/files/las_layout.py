"""The layout of a LAS or LAZ file, checked against its size before anything is decoded.

The decoders believe what headers say: they loop over four billion records, or reserve any amount of memory and end the
process when they get none. Source of the fields: LAS specification 1.4 R15, sections 2.4 to 2.7; of the compressed
ones: LASzip specification (compressed header, chunk table, layered chunks).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from resweep.errors import FaultKind, SweepError
from resweep.files.untrusted import open_regular
from resweep.io.reading_limits import check_expansion

_HEADER_BYTES = {0: 227, 1: 227, 2: 227, 3: 235, 4: 375}  # by minor version
_POINT_BYTES = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # by point format
_VLR_BYTES, _EVLR_BYTES = 54, 60
_LASZIP = (b"laszip encoded", 22204)
_LAYERED = 3  # LASzip's compressor of point formats 6 and later
# Layers of each kind of item in a chunk; extra bytes (14) have a layer each.
_LAYERS = dict(enumerate((9, 1, 2, 1), start=10))  # points, colours, colours with infrared, wave packets
_BYTES14 = 14


@dataclass(frozen=True)
class _LasHeader:
    minor: int
    size: int
    points_at: int
    vlrs: int
    format: int
    compressed: bool
    record: int
    points: int
    evlrs_at: int
    evlrs: int


def check_layout(path: Path) -> None:
    """Raise `SweepError` unless every record, point and chunk of the file lies within it."""
    size = path.stat().st_size
    with open_regular(path) as file:
        try:
            header = _read_header(file)
            _check_header(header, size)
            laszip = _check_records(file, header, size)
            if not header.compressed:
                _require(
                    header.points_at + header.points * header.record <= size, "fewer points than its header counts"
                )
            elif header.points:
                if laszip is None:
                    raise LasDamageError("no record of its compression")
                check_expansion(header.points * header.record, size, str(path))
                _check_chunks(file, header, size, laszip)
        except (struct.error, LasDamageError) as error:
            raise SweepError(
                f"{path}: truncated or not a LAS file ({error}); fetch or write it again", FaultKind.TRUNCATED
            ) from error


class LasDamageError(Exception):
    """A file is damaged; the message is what is wrong."""


def _require(good: bool, problem: str) -> None:
    if not good:
        raise LasDamageError(problem)


def _read_header(file: BinaryIO) -> _LasHeader:
    data = file.read(375)
    _require(data[:4] == b"LASF", "it does not begin with LASF")
    minor = struct.unpack_from("<B", data, 25)[0]
    size, points_at, vlrs, kind, record, points = struct.unpack_from("<HIIBHI", data, 94)
    evlrs_at = evlrs = 0
    if minor >= 4:
        evlrs_at, evlrs, points = struct.unpack_from("<QIQ", data, 235)
    return _LasHeader(minor, size, points_at, vlrs, kind & 0x3F, bool(kind & 0xC0), record, points, evlrs_at, evlrs)


def _check_header(header: _LasHeader, size: int) -> None:
    minimum = _HEADER_BYTES.get(header.minor)
    _require(minimum is not None, f"version 1.{header.minor}, which is unknown")
    _require((minimum or 0) <= header.size <= header.points_at <= size, "its points begin beyond its end")
    _require(header.format < len(_POINT_BYTES), f"point format {header.format}, which is unknown")
    minimum = _POINT_BYTES[header.format]
    _require(header.record >= minimum, f"points of {header.record} bytes, format {header.format} has {minimum}")


def _check_records(file: BinaryIO, header: _LasHeader, size: int) -> bytes | None:
    """Go through the variable-length records; gives that of LASzip."""
    room = header.points_at - header.size
    _require(header.vlrs * _VLR_BYTES <= room, f"{header.vlrs} records in {room} bytes")
    at, laszip = header.size, None
    for _ in range(header.vlrs):
        file.seek(at)
        user, number, length = struct.unpack("<2x16sHH", file.read(22))
        at += _VLR_BYTES + length
        _require(at <= header.points_at, "a record that reaches into the points")
        if (user.rstrip(b"\0"), number) == _LASZIP:
            file.seek(at - length)
            laszip = file.read(length)
    if header.evlrs:
        _require(header.points_at <= header.evlrs_at <= size, "records after its end")
        _require(header.evlrs * _EVLR_BYTES <= size - header.evlrs_at, f"{header.evlrs} records after its points")
        at = header.evlrs_at
        for _ in range(header.evlrs):
            file.seek(at)
            (length,) = struct.unpack("<20xQ", file.read(28))
            at += _EVLR_BYTES + length
            _require(at <= size, "a record that reaches beyond its end")
    return laszip


def _check_chunks(file: BinaryIO, header: _LasHeader, size: int, laszip: bytes) -> None:
    """Check the table of chunks, and the layers in each chunk where they are stored in layers."""
    kind, chunk_points, items = struct.unpack_from("<H10xI16xH", laszip)
    _require(len(laszip) >= 34 + 6 * items and items > 0, "no record of its compression")
    described = list(struct.iter_unpack("<HHH", laszip[34 : 34 + 6 * items]))
    _require(sum(item[1] for item in described) == header.record, "a compression of other points than its own")
    start = header.points_at + 8
    file.seek(header.points_at)
    (table,) = struct.unpack("<q", file.read(8))
    if table == -1:  # written to a stream: the offset of the table is at the very end
        file.seek(size - 8)
        (table,) = struct.unpack("<q", file.read(8))
    _require(start <= table <= size - 8, "a table of chunks beyond its end")
    file.seek(table + 4)
    (chunks,) = struct.unpack("<I", file.read(4))
    _require(0 < chunks <= header.points, f"{chunks} chunks of {header.points} points")
    if 0 < chunk_points < 0xFFFFFFFF:
        _require(chunks == -(-header.points // chunk_points), f"{chunks} chunks of {chunk_points} points each")
    _check_table(file, header.points_at, laszip, table - start)
    if kind == _LAYERED:
        _require(all(item[0] in _LAYERS or item[0] == _BYTES14 for item in described), "a compression that is unknown")
        layers = sum(_LAYERS.get(item[0], item[1]) for item in described)
        ends = list(_walk_layers(file, start, table, header.record, layers, chunks))
        _require(ends[-1] == table, "chunks that do not fill it")


def _check_table(file: BinaryIO, points_at: int, laszip: bytes, room: int) -> None:
    """Check that the chunks of the table, which is compressed itself, fill the ``room`` before it."""
    import lazrs

    file.seek(points_at)
    try:
        entries = lazrs.read_chunk_table(file, lazrs.LazVlr(laszip))
    except (lazrs.LazrsError, ValueError, OSError) as error:
        raise LasDamageError(f"no table of chunks: {error}") from error
    _require(sum(size for _, size in entries or ()) == room, "chunks that do not fill it")


def _walk_layers(file: BinaryIO, at: int, end: int, record: int, layers: int, chunks: int) -> Iterator[int]:
    """The end of each chunk: a whole point, the number of points, the bytes of each layer, and the layers."""
    for _ in range(chunks):
        file.seek(at + record + 4)
        at += record + 4 + 4 * layers + sum(struct.unpack(f"<{layers}I", file.read(4 * layers)))
        _require(at <= end, "a chunk that reaches beyond its end")
        yield at
