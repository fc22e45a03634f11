"""The coordinate system of a LAS file: kept as provenance, compared between tiles, refused where it is not in metres.

LAS 1.4 has it as WKT (OGC 01-009 or WKT 2), older files as GeoTIFF keys. Neither is computed with here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Any

from resweep.errors import InputError

_PROJECTION = "LASF_Projection"
_WKT, _KEYS = 2112, 34735
_GEOGRAPHIC_KEY, _PROJECTED_KEY, _LINEAR_UNITS_KEY, _MODEL_KEY = 2048, 3072, 3076, 1024  # GeoTIFF 1.1, 7.1
_PROJECTED_MODEL, _GEOGRAPHIC_MODEL, _METRE = 1, 2, 9001
_LENGTHS = {9002: "feet", 9003: "US survey feet"}  # EPSG codes of units, but for the metre
_USER_DEFINED = 32767
_NODE = re.compile(r"\b(PROJCS|PROJCRS|PROJECTEDCRS)\s*\[", re.IGNORECASE)
_GEOGRAPHIC = re.compile(r"^\s*(GEOGCS|GEOGCRS|GEODCRS|GEOGRAPHICCRS|GEODETICCRS)\s*\[", re.IGNORECASE)
_VERTICAL = re.compile(r"\b(VERT_CS|VERTCRS|VERTICALCRS)\s*\[", re.IGNORECASE)
_CODE = re.compile(r'(?:AUTHORITY|ID)\s*\[\s*"EPSG"\s*,\s*"?(\d+)"?\s*\]\s*\]\s*$', re.IGNORECASE)
_UNIT = re.compile(r'\b(?:LENGTHUNIT|UNIT)\s*\[\s*"([^"]*)"\s*,\s*([-+.\deE]+)', re.IGNORECASE)
_ANGLE = ("degree", "radian", "grad", "gon")


def read_crs(records: Iterable[Any]) -> str:
    """The coordinate system in laspy's records: its WKT, ``EPSG:code``, or nothing."""
    keys = ""
    for record in records:
        if record.user_id != _PROJECTION:
            continue
        data = record.record_data_bytes()
        if record.record_id == _WKT:
            text: str = data.rstrip(b"\0").decode("utf-8", "replace").strip()
            if text:
                return text
        elif record.record_id == _KEYS:
            keys = _describe_keys(data)
    return keys


def _describe_keys(data: bytes) -> str:
    """``EPSG:code`` of the GeoTIFF keys of a file; with a unit where it is not the metre."""
    keys = {}
    for key, place, _, value in struct.iter_unpack("<4H", data[8 : 8 + (len(data) - 8) // 8 * 8]):
        if place == 0:  # the value itself, not where it is
            keys[key] = value
    if keys.get(_MODEL_KEY) == _GEOGRAPHIC_MODEL:
        return f"EPSG:{keys.get(_GEOGRAPHIC_KEY, _USER_DEFINED)} in degrees"
    code = keys.get(_PROJECTED_KEY, _USER_DEFINED)
    name = "" if code == _USER_DEFINED else f"EPSG:{code}"
    unit = keys.get(_LINEAR_UNITS_KEY, _METRE)
    length = _LENGTHS.get(unit, f"units EPSG:{unit}")
    return name if unit == _METRE else f"{name or 'a system of its own'} in {length}"


def is_wkt(text: str) -> bool:
    """Whether a coordinate system is given as WKT."""
    return "[" in text


def is_same_crs(one: str, other: str) -> bool:
    """Whether two coordinate systems are the same: by the code of their horizontal part, else by their text."""
    codes = _find_code(one), _find_code(other)
    return codes[0] == codes[1] if all(codes) else " ".join(one.split()) == " ".join(other.split())


def name_crs(text: str) -> str:
    """A short name of a coordinate system, for people."""
    code = _find_code(text)
    found = re.search(r'\[\s*"([^"]*)"', text)
    name = found.group(1) if found else text
    return f"{name} (EPSG:{code})" if code and is_wkt(text) else name


def check_metres(text: str, where: str) -> None:
    """Raise if coordinates are known to be in degrees or feet."""
    unit = ""
    if not is_wkt(text):
        unit = text.partition(" in ")[2]
    elif _GEOGRAPHIC.search(text):
        unit = "degrees"
    else:
        for part in (_cut(text, _NODE), _cut(text, _VERTICAL)):
            lengths = [(name, float(size)) for name, size in _UNIT.findall(part) if not name.lower().startswith(_ANGLE)]
            unit = unit or next((name for name, size in lengths if abs(size - 1.0) > 1e-9), "")
    if unit:
        raise InputError(
            f"{where}: coordinates in {unit} ({name_crs(text)}), metres are needed; {explain_reprojection()}"
        )


def explain_reprojection() -> str:
    """How a cloud in degrees or feet becomes one in metres, as a command line of PDAL."""
    return (
        "convert it to a system in metres, such as UTM: pdal translate -i IN.laz -o OUT.laz -f filters.reprojection "
        "--filters.reprojection.out_srs=EPSG:326ZZ (ZZ: the zone, 327ZZ in the south; and "
        "--filters.reprojection.in_srs=... where the file names no system)"
    )


def _find_code(text: str) -> str:
    """EPSG code of the horizontal part of a coordinate system, or nothing."""
    if not is_wkt(text):
        found = re.match(r"EPSG:(\d+)$", text)
        return found.group(1) if found else ""
    found = _CODE.search(_cut(text, _NODE) or text)
    return found.group(1) if found else ""


def _cut(text: str, begin: re.Pattern[str]) -> str:
    """The node of a WKT that ``begin`` finds, up to its closing bracket."""
    found = begin.search(text)
    if found is None:
        return ""
    depth = 0
    for at in range(found.end() - 1, len(text)):
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return text[found.start() : at + 1]
    return text[found.start() :]
