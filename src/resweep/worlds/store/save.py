"""Worlds saved to a folder or an object store, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import zarr

from resweep.errors import OutputError, ResweepError
from resweep.files import atomic_folder
from resweep.remote import RemotePath, find_path, lock_output
from resweep.remote.staging import stage_folder
from resweep.worlds.layers import KINDS
from resweep.worlds.store.generations import is_taken, publish_world
from resweep.worlds.store.index import INDEX, is_world, write_index
from resweep.worlds.store.layer_files import WriteState, write_layer
from resweep.worlds.store.tiled_columns import LEVEL

if TYPE_CHECKING:
    from resweep.worlds.world import World

# Files of meshes, clouds and the like: a folder of such a name would not be what its name says.
_SUFFIXES_OF_FILES = (
    *(".ply", ".obj", ".stl", ".glb", ".gltf", ".off", ".dae", ".fbx", ".usd", ".vtk"),
    *(".pcd", ".las", ".laz", ".e57", ".bin", ".xyz", ".csv", ".txt", ".sweep", ".bag", ".mcap", ".db3"),
    *(".npy", ".npz", ".json", ".yaml", ".yml", ".zip", ".png", ".html"),
)


def check_name(path: Path) -> None:
    """Raise if ``path`` is named like a file of another kind; a world is a folder."""
    if path.suffix.lower() in _SUFFIXES_OF_FILES:
        raise OutputError(
            f"{path}: a world is saved as a folder, not as a {path.suffix} file; name it {path.stem}.world. "
            "To export the triangles of a mesh layer: trimesh.Trimesh(layer.vertices, layer.faces).export(NAME); "
            "to export points: simulate sweeps and write_sweep them"
        )


def save_world(
    world: World, path: str | Path, overwrite: bool = True, tile_size_m: float | None = None, level: int = LEVEL
) -> Path:
    """Write a world to the directory ``path``, or a URL such as ``s3://maps/town.world``, whole or not at all.

    Returns the path. An old world there is replaced if ``overwrite``; anything else there is left alone and an error.
    The same world gives the same bytes. ``tile_size_m`` is the side of the tiles (default: the world's own). With
    a ``level`` of 0 nothing is compressed, which is quicker for what is soon read again.
    """
    path = find_path(path)
    tile_size_m = world.tile_size_m if tile_size_m is None else tile_size_m
    check_name(path)
    if not 0 < tile_size_m < np.inf:
        raise ResweepError(f"tile_size_m: expected a number of metres above zero, got {tile_size_m}")
    with create_world(path, overwrite) as folder:
        _write(world, folder, tile_size_m, level)
    return path


@contextmanager
def create_world(path: Path, overwrite: bool) -> Iterator[Path]:
    """Give a local folder that becomes the world at ``path`` once all of it is written; see `save_world`."""
    with lock_output(path):
        if is_taken(path):
            if not is_world(path):
                raise OutputError(f"{path}: exists and is not a world; choose another name or remove it")
            if not overwrite:
                raise OutputError(f"{path}: exists already; choose another name or pass overwrite=True")
        if isinstance(path, RemotePath):
            with stage_folder(path) as folder:
                yield folder
                publish_world(folder, path, INDEX)
            return
        with atomic_folder(path) as folder:
            yield folder


def _write(world: World, folder: Path, tile_size_m: float, level: int) -> None:
    writing = WriteState(zarr.create_group(store=str(folder)), tile_size_m, level=level)
    entries = []
    for number, layer in enumerate(world.layers):
        if layer.kind not in KINDS:
            raise ResweepError(f"layer '{layer.name}': layers of kind '{layer.kind}' cannot be saved")
        entries.append(write_layer(layer, f"layers/{number:04d}", writing))
    write_index(
        folder,
        origin=world.origin,
        bounds=world.bounds,
        tile_size_m=tile_size_m,
        calibration=world.calibration,
        map_filter=world.map_filter,
        labels=world.labels,
        label_counts=world.label_counts,
        meta=world.meta,
        layers=entries,
        observed=world.observed,
        level=level,
    )
