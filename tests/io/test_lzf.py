"""The LZF codec: streams by hand from the format, and both directions on easy and hard data."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io.files import lzf


def test_decodes_a_stream_made_by_hand() -> None:
    # Literal "abc"; copy 3 from 3 back; long copy of 9 + 4 = 13 from 1 back (overlapping itself).
    stream = bytes([2]) + b"abc" + bytes([1 << 5, 2]) + bytes([7 << 5, 4, 0])
    assert lzf.decompress(stream, 19) == b"abcabc" + b"c" * 13


def test_far_distance_and_longest_copy() -> None:
    head = np.random.default_rng(0).bytes(8192)
    literals = b"".join(bytes([31]) + head[at : at + 32] for at in range(0, 8192, 32))
    stream = literals + bytes([7 << 5 | 31, 255, 255])
    assert lzf.decompress(stream, 8192 + 264) == head + head[:264]


@pytest.mark.parametrize("size", [0, 1, 4, 9, 10, 31, 32, 33, 64, 263, 264, 265, 8191, 8193, 70_000])
@pytest.mark.parametrize("kind", ["zeros", "noise", "few", "period", "floats"])
def test_round_trip(size: int, kind: str) -> None:
    rng = np.random.default_rng(size)
    data = {
        "zeros": bytes(size),
        "noise": rng.bytes(size),
        "few": rng.integers(0, 3, size).astype(np.uint8).tobytes(),
        "period": (b"seven..bytes" * (size // 12 + 1))[:size],
        "floats": np.cumsum(rng.normal(size=size // 4 + 1)).astype(np.float32).tobytes()[:size],
    }[kind]
    packed = lzf.compress(data)
    assert lzf.decompress(packed, size) == data
    assert len(packed) <= size + size // 32 + 1


def test_compresses_what_repeats() -> None:
    assert len(lzf.compress(bytes(100_000))) < 100_000 / 80
    assert len(lzf.compress(np.arange(20_000, dtype="<f8").tobytes())) < 160_000


@pytest.mark.parametrize(
    ("stream", "size"),
    [
        (bytes([1 << 5, 0]), 3),  # a copy before anything stands
        (bytes([5]) + b"abc", 6),  # literals cut short
        (bytes([0]) + b"a" + bytes([7 << 5, 1]), 11),  # a copy cut short
        (bytes([0]) + b"a", 2),  # less than promised
        (bytes([1]) + b"ab", 1),  # more than promised
    ],
)
def test_damaged_streams(stream: bytes, size: int) -> None:
    with pytest.raises(ResweepError, match=r"cloud\.pcd: damaged"):
        lzf.decompress(stream, size, "cloud.pcd")
