"""Images of what a LiDAR saw, for layouts whose loaders ask for a camera's: its returns as points. No photographs."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from resweep.pose import Array

_LEVEL = 3  # points hardly get smaller beyond
_SPREAD = ((0, 0), (1, 0), (0, 1), (1, 1))  # pixels that a return covers


def draw_returns(pixels: Array, depth: Array, intensity: Array, size_px: tuple[int, int]) -> Array:
    """An image (height, width) uint8 of returns by their relative intensity (n,), the nearest before others.

    ``pixels`` (n, 2) must lie in the image, whose width and height are ``size_px``; ``depth`` (n,) is metres from the
    camera. Black is where there is none.
    """
    width, height = size_px
    order = np.argsort(-depth, kind="stable")
    # From 40, so that dark returns differ from none; the square root, as most returns are dark.
    grey = (40 + 215 * np.sqrt(np.clip(intensity[order], 0.0, 1.0))).astype(np.uint8)
    image = np.zeros((height + 1, width + 1), np.uint8)
    column, line = pixels[order].astype(np.int64).T
    for right, down in _SPREAD:
        image[line + down, column + right] = grey
    return image[:height, :width]


def encode_png(image: Array) -> bytes:
    """The bytes of a PNG of a grey image (height, width) or a coloured one (height, width, 3), uint8."""
    height, width = image.shape[:2]
    lines = image.reshape(height, -1)
    rows = np.zeros((height, 1 + lines.shape[1]), np.uint8)  # the first byte of a line: not filtered
    rows[:, 1:] = lines
    kind = 0 if image.ndim == 2 else 2  # grey, or red green blue
    return assemble_png(width, height, kind, zlib.compress(rows.tobytes(), _LEVEL))


def assemble_png(width: int, height: int, kind: int, data: bytes) -> bytes:
    """The bytes of a PNG, 8 bits a channel: ``data`` are its compressed lines, ``kind`` is 0 for grey, 2 for colour."""
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_make_chunk(name, body) for name, body in parts)


def _make_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
