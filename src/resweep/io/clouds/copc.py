"""COPC, cloud-optimised point clouds: LAZ files whose points lie in an octree, read by box and by level of detail.

A file opens as a log whose sweeps hold up to a million points each. The sensor's position is unknown. Files are written
by `resweep.io.write_cloud`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.io.clouds.cloud_log import CHUNK_POINTS, open_tiles
from resweep.io.clouds.octree import has_octree
from resweep.io.files.las import FULL_SCALE
from resweep.io.folders import sweep_files
from resweep.io.format import Format
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.sweep import Sweep

SUFFIX = ".copc.laz"
_ALL_POINTS = 2**62  # points


def recognises(path: Path) -> bool:
    """Whether ``path`` is a file with an octree, or is named like one."""
    name = path.name.lower()
    return path.is_file() and (name.endswith(SUFFIX) or (name.endswith(".laz") and has_octree(path)))


def open_log(
    path: Path,
    rate_hz: float | None = None,
    empty_beams: bool = True,
    bounds: Sequence[float] | None = None,
    resolution: float | None = None,
    intensity_scale: float = FULL_SCALE,
    chunk_points: int = CHUNK_POINTS,
    drop_nan: bool = False,
) -> Log:
    """The points of a file, or of all files of a folder, as a log: see `open_tiles`."""
    files = sweep_files.list_sweep_files(path, (SUFFIX,)) if path.is_dir() else [path]
    return open_tiles(files, path, rate_hz, bounds, resolution, intensity_scale, chunk_points, drop_nan)


def read(
    path: Path,
    drop_nan: bool = False,
    bounds: Sequence[float] | None = None,
    resolution: float | None = None,
    intensity_scale: float = FULL_SCALE,
) -> Sweep:
    """All points of a file as one sweep, or those in ``bounds`` at a ``resolution``."""
    return open_tiles([path], path, None, bounds, resolution, intensity_scale, _ALL_POINTS, drop_nan)[0]


def find_labels(path: Path) -> LabelSet:
    """The classes of the LAS specification, or what Resweep wrote of them."""
    return open_tiles([path], path).labels


FORMAT = Format(
    "copc",
    "COPC point cloud",
    (SUFFIX,),
    frame="world",
    read=read,
    elsewhere="write_cloud, which takes whole logs and worlds",
    recognises=recognises,
    open_log=open_log,
    labels=find_labels,
)
