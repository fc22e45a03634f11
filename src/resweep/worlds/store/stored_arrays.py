"""Arrays of a stored world, read only if they are as Resweep writes them.

A world may come from a stranger, and Zarr itself opens any version and any codec. Here the metadata of an array is
checked before Zarr sees it: version 3, the types and the codecs of the table below, chunks of rows. Every chunk is
checked before it is unpacked: the size that its Blosc header promises must be that of the chunk. No link is followed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.core.buffer import Buffer, cpu
from zarr.storage import MemoryStore

from resweep.files.strict_json import parse_json
from resweep.files.untrusted import check_no_link, open_regular, read_json, total_memory
from resweep.pose import Array
from resweep.remote.paths import is_remote, read_objects

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
_MAX_METADATA_BYTES = 1 << 20  # of one array; ours have about a thousand
_MAX_OVERHEAD_BYTES = 1 << 12  # of a chunk that cannot be packed, over the bytes in it


class StoredArray:
    """An array below ``root`` that was found to be one of ours: ``shape`` and ``dtype`` are known, nothing is read."""

    def __init__(self, root: Path, where: Path) -> None:
        self._files = _RemoteFiles(where) if is_remote(where) else _LocalFiles(root, where)
        self.shape, self.dtype, self._rows = _check_array(self._files.read_metadata())

    def read(self, first: int, end: int) -> Array:
        """The rows from ``first`` to ``end``, whose chunks are checked first."""
        numbers = range(first // self._rows, -(-end // self._rows))
        chunks = {number: ("c", str(number), *["0"] * (len(self.shape) - 1)) for number in numbers}
        array = self._files.open_array(chunks, self._rows * self.row_bytes)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError("its metadata changed while it was read")
        return np.asarray(array[first:end])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.dtype.itemsize * math.prod(self.shape[1:])


class _LocalFiles:
    """The files of an array in a folder: the array library reads them, once their headers are checked."""

    def __init__(self, root: Path, where: Path) -> None:
        self._root, self._where = root, where
        self._array: Any = None

    def read_metadata(self) -> Any:
        """What its zarr.json holds."""
        file = self._where / "zarr.json"
        check_no_link(self._root, file)
        if not file.is_file():
            raise ValueError("it has no zarr.json; only Zarr version 3 is read")
        return read_json(file, "save the world again")

    def open_array(self, chunks: Mapping[int, tuple[str, ...]], expected: int) -> Any:
        """The array, of which these ``chunks`` may be read: they unpack to the ``expected`` bytes."""
        for number, names in chunks.items():
            file = self._where.joinpath(*names)
            check_no_link(self._root, file)
            if not file.is_file():  # the array library would read it as zeros
                raise FileNotFoundError(f"chunk {number} is missing")
            with open_regular(file) as stream:
                _check_header(number, stream.read(_BLOSC.size), file.stat().st_size, expected)
        if self._array is None:
            self._array = zarr.open_array(str(self._where), mode="r", zarr_format=3)
        return self._array


class _RemoteFiles:
    """The files of an array in an object store: the bytes that were checked are the ones that are unpacked."""

    def __init__(self, where: Path) -> None:
        self._where = where
        self._metadata = b""

    def read_metadata(self) -> Any:
        """What its zarr.json holds."""
        try:
            (self._metadata,) = read_objects([self._where / "zarr.json"], _MAX_METADATA_BYTES)
        except FileNotFoundError as error:
            raise ValueError("it has no zarr.json; only Zarr version 3 is read") from error
        return parse_json(self._metadata)

    def open_array(self, chunks: Mapping[int, tuple[str, ...]], expected: int) -> Any:
        """An array in memory that has these ``chunks``, which unpack to the ``expected`` bytes."""
        held: dict[str, Buffer] = {"zarr.json": cpu.Buffer.from_bytes(self._metadata)}
        try:
            files = [self._where.joinpath(*names) for names in chunks.values()]
            found = read_objects(files, expected + _MAX_OVERHEAD_BYTES) if files else []
        except FileNotFoundError as error:
            raise FileNotFoundError(f"a chunk is missing: {error.filename}") from error
        for (number, names), data in zip(chunks.items(), found, strict=True):
            _check_header(number, data[: _BLOSC.size], len(data), expected)
            held["/".join(names)] = cpu.Buffer.from_bytes(data)
        return zarr.open_array(MemoryStore(held, read_only=True), mode="r", zarr_format=3)


def _check_header(number: int, header: bytes, size: int, expected: int) -> None:
    """Raise unless a chunk of ``size`` bytes that begins with ``header`` unpacks to the ``expected`` bytes."""
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
    """Raise unless the codecs are those that `resweep.worlds.store.tiled_columns` writes."""
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
