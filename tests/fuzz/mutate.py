"""Mutants of a file's bytes: small damage of many kinds, the same for the same random numbers.

Containers that check themselves would turn nearly every mutant away at the door. So gzip data, zip archives, E57 pages
and chunks of Zarr are often opened, changed inside, and closed again with checksums that hold.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import struct
import zipfile
from collections.abc import Callable

from tests.fuzz.mutate_columns import change_columns
from tests.fuzz.mutate_json import damage_json
from tests.fuzz.mutate_models import mutate_model
from tests.fuzz.mutate_onnx import mutate_onnx

Mutation = Callable[[bytearray, random.Random], bytearray]
_BYTES = (0, 1, 0x7F, 0x80, 0xFF, 0x20, 0x0A, 0x2D)
_INTEGERS = (0, 1, -1, 2, 255, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 10**9, 10**12)
_FLOATS = (0.0, -0.0, 1e-300, 1e300, -1e30, float("nan"), float("inf"), 1e9)
_NUMBERS = (
    *("0", "-1", "1", "2", "65535", "65536", "4294967295", "1000000000", "1e12", "1e400", "-1e30", "1e-300"),
    *("nan", "NaN", "inf", "-Infinity", "null", "true", '"x"', "[]", "{}", "9" * 30, "9" * 5000, "0x10", "1_000", "''"),
)
_WORDS = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b":",
        b",",
        b"\n",
        b" ",
        b"\t",
        b"\0",
        b"\x1b[31m",
        b"[/b]",
        b"\xff\xfe",
        b"&a ",
        b"*a",
    ),
    *(
        b"<<: ",
        b"!!python/object:os.system x",
        b"---",
        b"? ",
        b"- ",
        b"# ",
        b"..",
        b"/etc/passwd",
        b"null",
        b"[" * 2000,
    ),
)
_TOKEN = re.compile(rb"[A-Za-z_]\w*")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutate(data: bytes, name: str, rng: random.Random) -> bytes:
    """``data`` of a file of that ``name``, a path, with one to four changes."""
    meant = rng.random() < 0.3  # numbers that cannot be, in a file that is whole
    if meant and (changed := change_columns(data, name, rng)) is not None:
        return changed
    if name.endswith(".onnx") and rng.random() < 0.8:
        return mutate_onnx(data, rng)
    if rng.random() < 0.6:
        damages = [mutate_model(data, name, rng), damage_json(data, rng) if name.endswith(".json") else None]
        if found := [damaged for damaged in damages if damaged is not None]:
            return rng.choice(found)
    if rng.random() < 0.7 and (inner := _open(data, name, rng)) is not None:
        content, close = inner
        return close((change_columns(content, "", rng) if meant else None) or _change(content, rng))
    return _change(data, rng)


def _change(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    kinds = _TEXT if _is_text(data) and rng.random() < 0.8 else _BINARY
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        changed = rng.choice(kinds)(changed, rng)
    return bytes(changed)


def _is_text(data: bytes) -> bool:
    head = data[:2000]
    return bool(head) and sum(byte < 9 or byte > 126 for byte in head) < 0.02 * len(head)


def _at(data: bytearray, rng: random.Random) -> int:
    """A place, more often near the beginning, where headers are."""
    size = max(1, len(data))
    return rng.randrange(min(size, 400)) if rng.random() < 0.5 else rng.randrange(size)


def _flip_bit(data: bytearray, rng: random.Random) -> bytearray:
    if data:
        data[_at(data, rng)] ^= 1 << rng.randrange(8)
    return data


def _set_bytes(data: bytearray, rng: random.Random) -> bytearray:
    at, value = _at(data, rng), rng.choice(_BYTES)
    for place in range(at, min(len(data), at + rng.choice((1, 2, 4, 4, 8)))):
        data[place] = value
    return data


def _set_number(data: bytearray, rng: random.Random) -> bytearray:
    """An integer or float of an extreme value over the bytes at a place, often an aligned one."""
    at = _at(data, rng)
    code = rng.choice("hHiIqQfd")
    at -= at % struct.calcsize(code) if rng.random() < 0.7 else 0
    if code in "fd":
        value: float = rng.choice(_FLOATS)
        packed = struct.pack(rng.choice("<>") + "d", value) if code == "d" else struct.pack("<f", _narrow(value))
    else:
        bits = 8 * struct.calcsize(code)
        packed = (rng.choice(_INTEGERS) % (1 << bits)).to_bytes(bits // 8, rng.choice(("little", "little", "big")))
    data[at : at + len(packed)] = packed
    return data


def _narrow(value: float) -> float:
    return value if value != value or abs(value) == float("inf") or abs(value) < 3e38 else 3e38


def _truncate(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.choice((0, 1, _at(data, rng), len(data) - 1, rng.randrange(len(data) + 1)))]


def _cut(data: bytearray, rng: random.Random) -> bytearray:
    at = _at(data, rng)
    del data[at : at + rng.choice((1, 2, 4, 16, 100))]
    return data


def _repeat(data: bytearray, rng: random.Random) -> bytearray:
    at, length = _at(data, rng), rng.choice((1, 4, 16, 100, 1000))
    data[at:at] = data[at : at + length] * rng.choice((1, 1, 2, 50))
    return data


def _splice(data: bytearray, rng: random.Random) -> bytearray:
    """Bytes from one place over those of another."""
    source, target, length = _at(data, rng), _at(data, rng), rng.choice((1, 4, 8, 32, 200))
    piece = data[source : source + length]
    data[target : target + len(piece)] = piece
    return data


def _extend(data: bytearray, rng: random.Random) -> bytearray:
    return data + bytes(rng.randrange(256) for _ in range(rng.choice((1, 8, 100))))


def _change_number(data: bytearray, rng: random.Random) -> bytearray:
    return _replace(data, _NUMBER, [word.encode() for word in _NUMBERS], rng)


def _change_token(data: bytearray, rng: random.Random) -> bytearray:
    """A word in the place of another, of the same file or of none."""
    words = [found[0] for found in list(_TOKEN.finditer(data))[:500]] or [b"x"]
    return _replace(data, _TOKEN, [rng.choice(words), rng.choice(words), b"", b"x" * 300, b"null", b"-1"], rng)


def _replace(data: bytearray, pattern: re.Pattern[bytes], words: list[bytes], rng: random.Random) -> bytearray:
    found = list(pattern.finditer(data))
    if not found:
        return _flip_bit(data, rng)
    chosen = rng.choice(found[:60] if rng.random() < 0.5 else found)
    data[chosen.start() : chosen.end()] = rng.choice(words)
    return data


def _insert_word(data: bytearray, rng: random.Random) -> bytearray:
    at = _at(data, rng)
    data[at:at] = rng.choice(_WORDS)
    return data


def _change_lines(data: bytearray, rng: random.Random) -> bytearray:
    """A line repeated, left out, or exchanged with another."""
    lines = bytes(data).split(b"\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines.insert(two, lines[one])
    elif kind == 1:
        del lines[one]
    else:
        lines[one], lines[two] = lines[two], lines[one]
    return bytearray(b"\n".join(lines))


_BINARY: tuple[Mutation, ...] = (
    *(_flip_bit, _set_bytes, _set_bytes, _set_number, _set_number, _set_number),
    *(_truncate, _cut, _repeat, _splice, _extend),
)
_TEXT: tuple[Mutation, ...] = (
    *(_change_number, _change_number, _change_number, _change_token, _change_token, _insert_word, _change_lines),
    *(_flip_bit, _truncate, _cut, _repeat, _splice),
)


def _open(data: bytes, name: str, rng: random.Random) -> tuple[bytes, Callable[[bytes], bytes]] | None:
    """What a container holds, and what closes it again around other contents; None for what is no container."""
    if name.endswith(".gz"):
        return gzip.decompress(data), lambda inner: gzip.compress(inner, 1, mtime=0)
    if name.endswith((".sweep", ".npz")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        chosen = rng.choice(sorted(members))
        return members[chosen], lambda inner: _zip({**members, chosen: inner})
    if name.endswith(".e57"):
        return unpage_e57(data), page_e57
    if "/c/" in name and len(data) > 4:  # a chunk of Zarr, whose last four bytes are its CRC-32C
        return data[:-4], lambda inner: inner + _crc(inner).to_bytes(4, "little")
    return None


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return file.getvalue()


_PAGE = 1024  # bytes of an E57 page, the last four its CRC-32C, most significant byte first (ASTM E2807)
_CRC = [0] * 256
for _byte in range(256):
    _value = _byte
    for _ in range(8):
        _value = _value >> 1 ^ (0x82F63B78 if _value & 1 else 0)
    _CRC[_byte] = _value


def unpage_e57(data: bytes) -> bytes:
    """The contents of an E57 file without the checksums of its pages."""
    return b"".join(data[at : at + _PAGE - 4] for at in range(0, len(data), _PAGE))


def page_e57(content: bytes) -> bytes:
    """Contents as the pages of an E57 file, each with its checksum."""
    pages = []
    for at in range(0, len(content), _PAGE - 4):
        page = content[at : at + _PAGE - 4].ljust(_PAGE - 4, b"\0")
        pages.append(page + _crc(page).to_bytes(4, "big"))
    return b"".join(pages)


def _crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
