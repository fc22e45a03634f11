"""Arrays of a stored world, read only if they are as Resweep writes them.

A world may come from a stranger, and Zarr itself opens any version and any codec. Here the metadata of an array is
checked before Zarr sees it: version 3, the types and the codecs of the table below, chunks of rows. Every chunk is
checked before it is unpacked: the size that its Blosc header promises must be that of the chunk. No link is followed.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from resweep.files.untrusted import check_no_link, read_json, total_memory
from resweep.pose import Array

CHUNK_ROWS = 1 << 16
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
MAX_BYTES = 1 << 38  # of all that is read of one world; less where the machine has less memory
_MAX_CHUNK_BYTES = 1 << 26
_MAX_ROW_VALUES = 64  # the widest column has 16
_CODECS = ("bytes", "blosc", "crc32c")
_KEYS = {
    *("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "attributes", "zarr_format"),
    *("node_type", "storage_transformers", "dimension_names"),
}
# c-blosc, README_CHUNK_FORMAT.rst: version, versionlz, flags, typesize, then three little-endian 32-bit sizes:
# unpacked, of a block, packed. Zarr's crc32c codec puts four bytes behind it.
_BLOSC = struct.Struct("<4BIII")
_CRC_BYTES = 4


class StoredArray:
    """An array below ``root`` that was found to be one of ours: ``shape`` and ``dtype`` are known, nothing is read."""

    def __init__(self, root: Path, where: Path) -> None:
        self._root, self._where = root, where
        file = where / "zarr.json"
        check_no_link(root, file)
        if not file.is_file():
            raise ValueError("it has no zarr.json; only Zarr version 3 is read")
        data = read_json(file, "save the world again")
        self.shape, self.dtype, self._rows = _check_array(data)
        self._array: Any = None

    def read(self, first: int, end: int) -> Array:
        """The rows from ``first`` to ``end``, whose chunks are checked first."""
        self._check_chunks(first, end)
        if self._array is None:
            self._array = zarr.open_array(str(self._where), mode="r", zarr_format=3)
            if self._array.shape != self.shape or self._array.dtype != self.dtype:
                raise ValueError("its metadata changed while it was read")
        return np.asarray(self._array[first:end])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def _check_chunks(self, first: int, end: int) -> None:
        """Raise unless every chunk of some rows is a file whose unpacked size is that of a chunk."""
        expected = self._rows * self.row_bytes
        for number in range(first // self._rows, -(-end // self._rows)):
            file = self._where.joinpath("c", str(number), *["0"] * (len(self.shape) - 1))
            check_no_link(self._root, file)
            if not file.is_file():  # the array library would read it as zeros
                raise FileNotFoundError(f"chunk {number} is missing")
            size = file.stat().st_size
            with file.open("rb") as stream:
                header = stream.read(_BLOSC.size)
            if len(header) < _BLOSC.size:
                raise ValueError(f"chunk {number} is cut off after {size} bytes")
            _, _, _, _, unpacked, _, packed = _BLOSC.unpack(header)
            if packed != size - _CRC_BYTES:
                raise ValueError(f"chunk {number} has {size} bytes, its header says {packed + _CRC_BYTES}")
            if unpacked != expected:
                raise ValueError(f"chunk {number} would unpack to {unpacked:,} bytes, a chunk has {expected:,}")


class Budget:
    """The bytes that reading one world may take: `MAX_BYTES`, or the memory of the machine."""

    def __init__(self) -> None:
        self.limit = min(MAX_BYTES, total_memory())
        self.spent = 0

    def take(self, count: int) -> None:
        """Count further bytes; raise ValueError once they are too many."""
        self.spent += count
        if self.spent > self.limit:
            raise ValueError(
                f"the world takes more than {self.limit / 2**30:.0f} GiB, the limit on this machine; "
                "read a part of it with bounds"
            )


def _check_array(data: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and rows a chunk that the metadata of an array give; ValueError if it is not one of ours."""
    if not isinstance(data, dict):
        raise ValueError("zarr.json holds no array")
    if data.get("zarr_format") != 3 or data.get("node_type") != "array":
        raise ValueError(f"Zarr version {data.get('zarr_format')!r:.20}; only arrays of version 3 are read")
    unknown = sorted(set(data) - _KEYS)
    if unknown or data.get("storage_transformers"):
        raise ValueError(f"zarr.json: {(unknown or ['storage_transformers'])[0]!r:.40} is not allowed")
    if data.get("data_type") not in DTYPES:
        raise ValueError(f"type {data.get('data_type')!r:.40} is not allowed; numbers are")
    dtype = np.dtype(data["data_type"]).newbyteorder("<")
    shape = _check_shape(data.get("shape"), "shape")
    if math.prod(shape[1:]) > _MAX_ROW_VALUES or not 1 <= len(shape) <= 3 or shape[0] >= 1 << 40:
        raise ValueError(f"shape {list(shape)} is not that of a column")
    if (data.get("chunk_key_encoding") or {}) != {"name": "default", "configuration": {"separator": "/"}}:
        raise ValueError("chunk_key_encoding is not the default")
    _check_codecs(data.get("codecs"), dtype)
    if not isinstance(data.get("fill_value"), int | float):
        raise ValueError("fill_value is no number")
    return shape, dtype, _check_grid(data.get("chunk_grid"), shape, dtype)


def _check_shape(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
        raise ValueError(f"{what} {value!r:.40} is no list of sizes")
    return tuple(value)


def _check_grid(grid: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The rows of a chunk."""
    settings = grid.get("configuration") if isinstance(grid, dict) and grid.get("name") == "regular" else None
    chunk = _check_shape(settings.get("chunk_shape") if isinstance(settings, dict) else None, "chunk_shape")
    if len(chunk) != len(shape) or chunk[1:] != shape[1:] or chunk[0] < 1:
        raise ValueError(f"chunks {list(chunk)} are no rows of {list(shape)}")
    if math.prod(chunk) * dtype.itemsize > _MAX_CHUNK_BYTES:
        raise ValueError(
            f"a chunk would have {math.prod(chunk) * dtype.itemsize:,} bytes; {_MAX_CHUNK_BYTES:,} at most"
        )
    return chunk[0]


def _check_codecs(codecs: Any, dtype: np.dtype[Any]) -> None:
    """Raise unless the codecs are those that `resweep.worlds.tiles` writes."""
    if not isinstance(codecs, list) or not all(isinstance(codec, dict) for codec in codecs):
        raise ValueError("codecs are no list")
    names = [codec.get("name") for codec in codecs]
    if names != list(_CODECS):
        strange = next((name for name in names if name not in _CODECS), names)
        raise ValueError(f"codec {strange!r:.40} is not allowed; {', '.join(_CODECS)} are, in this order")
    settings = [codec.get("configuration") or {} for codec in codecs]
    if not all(isinstance(item, dict) for item in settings):
        raise ValueError("the configuration of a codec is no mapping")
    order, packing, check = settings
    wanted = {"typesize": dtype.itemsize, "cname": "zstd", "shuffle": "shuffle"}
    if order.get("endian", "little") != "little" or set(order) - {"endian"} or check:
        raise ValueError("bytes are not little-endian")
    if any(packing.get(key) != value for key, value in wanted.items()):
        raise ValueError(f"blosc has other settings than {wanted}")
