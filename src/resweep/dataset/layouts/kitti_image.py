"""The image of a sweep as KITTI's camera would see its returns: loaders ask for one, if only for its size."""

from __future__ import annotations

import numpy as np

from resweep.io import returns_image
from resweep.io.datasets.kitti.kitti_camera import KittiCamera
from resweep.pose import Array


def draw_returns(points: Array, intensity: Array, camera: KittiCamera) -> bytes:
    """A PNG, grey in three channels: the returns (n, 3) of a sweep by their intensity (n,), the nearest before others.

    Black is where there is none. It is no photograph.
    """
    pixels, depth = camera.project(points)
    rows = np.flatnonzero(camera.is_inside(pixels))
    image = returns_image.draw_returns(pixels[rows], depth[rows], intensity[rows], camera.size_px)
    return returns_image.encode_png(np.repeat(image[..., None], 3, axis=2))
