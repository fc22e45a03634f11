"""The image of a sweep as KITTI's camera would see its returns: loaders ask for one, if only for its size."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from resweep.io.datasets.kitti_camera import KittiCamera
from resweep.pose import Array

_SPREAD = ((0, 0), (1, 0), (0, 1), (1, 1))  # pixels that a return covers


def draw_returns(points: Array, intensity: Array, camera: KittiCamera) -> bytes:
    """A PNG, grey in three channels: the returns (n, 3) of a sweep by their intensity (n,), the nearest before others.

    Black is where there is none. It is no photograph.
    """
    width, height = camera.size_px
    pixels, depth = camera.project(points)
    rows = np.flatnonzero(camera.is_inside(pixels))
    rows = rows[np.argsort(-depth[rows], kind="stable")]
    # From 40, so that dark returns differ from none; the square root, as most returns are dark.
    grey = (40 + 215 * np.sqrt(np.clip(intensity[rows], 0.0, 1.0))).astype(np.uint8)
    image = np.zeros((height + 1, width + 1), np.uint8)
    column, line = pixels[rows].astype(np.int64).T
    for right, down in _SPREAD:
        image[line + down, column + right] = grey
    return encode_png(np.repeat(image[:height, :width, None], 3, axis=2))


def encode_png(image: Array) -> bytes:
    """The bytes of a PNG of an image (height, width, 3) uint8."""
    height, width, _ = image.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the first byte of a line says: not filtered
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits a channel, red green blue
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
