"""LZF, the compression inside PCD files: literal runs and copies from the last 8 kB.

The stream is a row of tokens. A control byte below 32 precedes that many plus one literal bytes. Any other
holds in its upper three bits the length of a copy minus two (7: the next byte adds to it) and in its lower
five, with one more byte, the distance back minus one. Source of the layout: the LibLZF format notes.
"""

from __future__ import annotations

import numpy as np

from resweep.errors import InputError
from resweep.pose import Array

_LITERALS_MAX = 32
_COPY_MAX = 264
_DISTANCE_MAX = 8192
# A copy costs two or three bytes and interrupts a literal run, so copies shorter than this gain little.
_COPY_MIN = 5


def compress(data: bytes) -> bytes:
    """The LZF stream of ``data``, at most 1/32 and a byte longer than it."""
    if len(data) < 2 * _COPY_MIN:
        return _pack_literals(data)
    source, worth = _find_candidates(np.frombuffer(data, np.uint8))
    sources = memoryview(source.data)
    out = bytearray()
    end = len(data)
    pending = at = 0
    while (at := worth.find(1, at)) >= 0:
        back = sources[at]
        stop = min(at + _COPY_MAX, end)
        # The lowest set bit of the difference is the number of leading bytes that agree.
        differs = int.from_bytes(data[at:stop], "little") ^ int.from_bytes(data[back : back + stop - at], "little")
        length = ((differs & -differs).bit_length() - 1) >> 3 if differs else stop - at
        if pending < at:
            out += _pack_literals(data[pending:at])
        distance = at - back - 1
        if length < 9:
            out += bytes(((length - 2) << 5 | distance >> 8, distance & 255))
        else:
            out += bytes((7 << 5 | distance >> 8, length - 9, distance & 255))
        at += length
        pending = at
    out += _pack_literals(data[pending:])
    return bytes(out)


def _find_candidates(data: Array) -> tuple[Array, bytes]:
    """For each byte, where the bytes from it on occurred last, and whether copying from there is worth it."""
    count = len(data) - _COPY_MIN + 1
    # Eight bytes from every position on, read in place, of which the first few are kept.
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    key = np.ndarray((count,), "<u8", padded.data, strides=(1,)) & np.uint64((1 << 8 * _COPY_MIN) - 1)
    # Sixteen bits, because NumPy sorts those by radix; equal hashes stay in order of position.
    digest = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)).astype(np.uint16)
    order = np.argsort(digest, kind="stable").astype(np.int32)
    source = np.full(count, -1, np.int32)
    source[order[1:]] = np.where(digest[order[1:]] == digest[order[:-1]], order[:-1], -1)
    worth = (source >= 0) & (np.arange(count, dtype=np.int32) - source <= _DISTANCE_MAX)
    worth[worth] = key[worth] == key[source[worth]]
    return source, worth.astype(np.uint8).tobytes()


def _pack_literals(data: bytes) -> bytes:
    if len(data) <= _LITERALS_MAX:
        return bytes((len(data) - 1,)) + data if data else b""
    whole = len(data) - len(data) % _LITERALS_MAX
    runs = np.full((whole // _LITERALS_MAX, _LITERALS_MAX + 1), _LITERALS_MAX - 1, np.uint8)
    runs[:, 1:] = np.frombuffer(data, np.uint8, whole).reshape(-1, _LITERALS_MAX)
    return runs.tobytes() + _pack_literals(data[whole:])


def decompress(stream: bytes, size: int, where: str = "LZF data") -> bytes:
    """The ``size`` bytes that ``stream`` encodes; ``where`` names the file in errors."""
    out = bytearray()
    at, end = 0, len(stream)
    try:
        while at < end:
            control = stream[at]
            at += 1
            if control < _LITERALS_MAX:
                out += stream[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += stream[at]
                at += 1
            length += 2
            start = len(out) - ((control & 31) << 8 | stream[at]) - 1
            at += 1
            if start < 0:
                raise InputError(f"{where}: damaged LZF data (a copy from before the beginning, at byte {at})")
            piece = out[start : start + length]
            if len(piece) < length:  # a copy that overlaps itself repeats
                piece = (piece * (length // len(piece) + 1))[:length]
            out += piece
            if len(out) > size:
                break
    except IndexError as error:
        raise InputError(f"{where}: damaged LZF data (it ends within a copy); write or fetch the file again") from error
    if at != end or len(out) != size:
        raise InputError(f"{where}: damaged LZF data ({len(out)} bytes, {size} expected); write or fetch it again")
    return bytes(out)
