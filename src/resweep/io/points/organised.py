"""Organised clouds: images of points, whose rows and columns are those of a LiDAR."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

_MAX_RINGS = 256  # an image with more rows and columns is a camera's


def add_cells(columns: dict[str, Array], height: int, width: int) -> dict[str, Array]:
    """``columns`` of an image of ``height`` x ``width`` points, row by row, with ``ring`` and ``column`` added.

    A ring that the cloud gives itself is kept, and decides whether rows or columns of the image are the firings.
    Of an image without, the shorter side is that of the rings.
    """
    taken = {name.lower() for name in columns}
    count = height * width
    if min(height, width) < 2 or "column" in taken or any(len(values) != count for values in columns.values()):
        return columns
    row, across = np.divmod(np.arange(count), width)
    given = next((columns[name] for name in columns if name.lower() in ("ring", "channel", "laser_id")), None)
    if given is not None:
        image = np.asarray(given, np.float64).reshape(height, width)
        down, along = np.nanmean(np.diff(image, axis=0) != 0), np.nanmean(np.diff(image, axis=1) != 0)
        return {**columns, "column": row if along > down else across}
    if min(height, width) > _MAX_RINGS:
        return columns
    ring, column = (row, across) if height <= width else (across, row)
    return {**columns, "ring": ring, "column": column}
