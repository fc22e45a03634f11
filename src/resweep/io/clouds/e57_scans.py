"""The list of scans in an E57 file, checked before the library reads it.

The list is XML, and the library walks through all of it whenever the file is opened. Copies of a scan cost nothing
there: a small file could list so many that reading it has no end.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from resweep.errors import InputError
from resweep.files.untrusted import open_regular

_HEADER = struct.Struct("<8sIIQQQQ")  # signature, version, length of the file, place and length of the XML, page size
_PAGE, _CHECKSUM = 1024, 4  # bytes of a page, the last four its checksum (ASTM E2807)
_MAX_XML_BYTES = 64 << 20
_MAX_SCANS = 10_000  # of a file; drives with a tripod have some hundred
_POINTS = re.compile(rb"<points\b[^>]*?\bfileOffset\s*=\s*[\"']\s*0*(\d+)")


def check_scans(path: Path) -> None:
    """Raise unless the file lists at most `_MAX_SCANS` scans, each with points of its own.

    What is damaged in other ways is left to the library, which reports it.
    """
    places = _POINTS.findall(_read_xml(path))
    if len(places) > _MAX_SCANS:
        raise InputError(f"{path}: lists {len(places)} scans, at most {_MAX_SCANS} are read; export it in parts")
    if len(set(places)) < len(places):
        twice = next(place for at, place in enumerate(places) if place in places[:at])
        scans = [at for at, place in enumerate(places) if place == twice]
        raise InputError(f"{path}: scans {scans[0]} and {scans[1]} have the same points; it is damaged: fetch it again")


def _read_xml(path: Path) -> bytes:
    """The XML of a file; nothing where its header names no place for it."""
    size = path.stat().st_size
    with open_regular(path) as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size:
            return b""
        *_, start, length, page = _HEADER.unpack(head)
        if page != _PAGE or start + length > size:
            return b""
        if length > _MAX_XML_BYTES:
            raise InputError(f"{path}: its list of scans has {length:,} bytes, at most {_MAX_XML_BYTES:,} are read")
        first, within = divmod(start, _PAGE)
        file.seek(first * _PAGE)
        pages = file.read(_PAGE * ((within + length) // (_PAGE - _CHECKSUM) + 1))
    content = b"".join(pages[at : at + _PAGE - _CHECKSUM] for at in range(0, len(pages), _PAGE))
    return content[within : within + length]
