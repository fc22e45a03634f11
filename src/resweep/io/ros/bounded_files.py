"""Bags opened by `rosbags` within bounds: no read beyond a file's end, and no chunk that expands without end.

The library reads as many bytes as a record says, for which Python reserves memory before it finds the file's end; and
it decompresses chunks whole. Here it gets files that know their size, and decompressors that know a limit.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from resweep.files.untrusted import check_regular
from resweep.io.reading_limits import check_expansion, decompress_within
from resweep.optional import require

_WHERE = "a compressed part of the bag"


class _BoundedFile(io.BufferedReader):
    """A file that is never asked for more than it holds."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


class BoundedPath(type(Path())):  # type: ignore[misc]
    """A path that opens such files; `rosbags` takes anything that opens like a path."""

    def open(self, mode: str = "r", *given: Any, **options: Any) -> Any:
        """The open file."""
        if mode != "rb":
            return super().open(mode, *given, **options)
        check_regular(self)
        return _BoundedFile(io.FileIO(str(self)))


@cache
def bound_decompression() -> None:
    """Put limits on what `rosbags` decompresses in this process."""
    import bz2

    lz4 = require("lz4.frame", "reading ROS bags").LZ4FrameDecompressor
    first = require("rosbags.rosbag1.reader", "reading ROS bags")
    chunks = require("rosbags.rosbag2.storage_mcap", "reading ROS bags")
    second = require("rosbags.rosbag2.reader", "reading ROS bags")
    zstd = second.zstd
    first.decompressors.update(bz2=_bound_decompressor(bz2.BZ2Decompressor), lz4=_bound_decompressor(lz4))
    chunks.DECOMPRESSORS.update(lz4=_bound_decompressor(lz4), zstd=_bound_decompressor(zstd.ZstdDecompressor))
    second.zstd = SimpleNamespace(decompress=_bound_decompressor(zstd.ZstdDecompressor), open=_open_zstd(zstd))


def _bound_decompressor(make: Callable[[], Any]) -> Callable[..., bytes]:
    def decompress(data: bytes, size: int | None = None) -> bytes:
        del size  # what the file claims
        return decompress_within(make, data, _WHERE)

    return decompress


def _open_zstd(zstd: Any) -> Callable[..., Any]:
    """What opens a compressed bag file as its contents, which the library copies to a file."""

    @contextmanager
    def open_file(file: Any, mode: str) -> Iterator[Any]:
        size, read = os.fstat(file.fileno()).st_size, 0
        with zstd.open(file, mode) as contents:

            def read_part(count: int) -> bytes:
                nonlocal read
                part: bytes = contents.read(count)
                read += len(part)
                check_expansion(read, size, _WHERE)
                return part

            yield SimpleNamespace(read=read_part)

    return open_file
