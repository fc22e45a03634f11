"""Bounds on what a file may make a reader hold, checked before anything is allocated.

Compressed data of recordings expand a few times. What expands a hundred times over is no recording, and would fill
the memory with a file of a few kilobytes.
"""

from __future__ import annotations

import io
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import FaultKind, SweepError
from resweep.pose import Array

_FREE_BYTES = 64 << 20  # what any file may expand to: sweeps of zeros compress well
_MAX_EXPANSION = 100
_MAX_SCAN_POINTS = 1 << 24  # of a turn of a LiDAR on a vehicle, which has half a million; 4 GB while it is read
_GZIP = 16 + zlib.MAX_WBITS
# What Python's zipfile raises for archives that are damaged, encrypted or compressed in other ways.
UNZIP_ERRORS = (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError)
_NPY_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def compute_expansion_limit(size: int) -> int:
    """The bytes that ``size`` bytes of compressed data may expand to."""
    return max(_FREE_BYTES, _MAX_EXPANSION * size)


def check_expansion(size: int, compressed: int, where: str) -> None:
    """Raise if ``size`` bytes are more than ``compressed`` ones may expand to."""
    limit = compute_expansion_limit(compressed)
    if size > limit:
        raise SweepError(
            f"{where}: {compressed} bytes expand to {size} or more, {limit} at most are read; "
            "it is damaged, or crafted to fill the memory",
            FaultKind.UNREADABLE,
        )


def decompress_within(make: Callable[[], Any], data: bytes, where: str) -> bytes:
    """The contents of compressed data of any number of parts, within the limit.

    ``make`` gives a decompressor of one part, with the methods of those in Python's own modules.
    """
    limit, found, rest = compute_expansion_limit(len(data)), bytearray(), bytes(data)
    while rest:
        part = make()
        found += part.decompress(rest, limit + 1 - len(found))
        check_expansion(len(found), len(data), where)
        if not part.eof:
            raise EOFError("compressed data end before their end mark")
        rest = (part.unused_data or b"").lstrip(b"\0")  # some writers pad with zeros
    return bytes(found)


def check_scan_size(path: Path, row_bytes: int) -> None:
    """Raise if a scan, whose format has no header to check it by, holds more points than any sensor measures."""
    size = path.stat().st_size
    if size > _MAX_SCAN_POINTS * row_bytes:
        raise SweepError(
            f"{path}: {size:,} bytes are {size // row_bytes:,} points, a scan has {_MAX_SCAN_POINTS:,} at most; "
            "check that it is one",
            FaultKind.UNREADABLE,
        )


def gunzip(data: bytes, where: str) -> bytes:
    """The contents of gzip data, within the limit."""
    return decompress_within(lambda: zlib.decompressobj(_GZIP), data, where)


def read_member(archive: zipfile.ZipFile, name: str, size: int, where: str) -> bytes:
    """The bytes of a member of an archive of ``size`` bytes, within the limit, whatever its directory says."""
    entry = archive.getinfo(name)
    check_expansion(entry.file_size, size, f"{where}, {name}")
    with archive.open(entry) as stream:
        return stream.read(entry.file_size + 1)


def parse_npy(data: bytes, where: str) -> Array:
    """The array in the bytes of a ``.npy`` file, whose shape must be that of the bytes there are."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in _NPY_HEADERS:
        raise ValueError(f"{where}: .npy version {version} is unknown")
    try:
        shape, fortran, dtype = _NPY_HEADERS[version](stream)
    except (SyntaxError, tokenize.TokenError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{where}: no .npy header ({error})") from None
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"{where}: holds Python objects or nothing ({dtype})")
    body, count = data[stream.tell() :], 1
    for length in shape:  # Python's integers do not overflow
        count *= int(length)
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(body):
        raise ValueError(f"{where}: {len(body)} bytes are no array of shape {shape} and type {dtype}")
    flat = np.frombuffer(body, dtype, count)
    # A copy, since others may write to it.
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")
