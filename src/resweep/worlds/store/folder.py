"""Worlds on disk: a directory with world.json and Zarr v3 arrays per layer.

``world.json`` holds the format version, the world's meta data, what wrote it, units, origin, the vocabulary of its
labels and an index of layers; ``layers/<n>`` holds the columns of each layer, grouped by tiles
(`store.layer_files`). In an object store the layers lie under a generation (`store.generations`).
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import ArrayLike

from resweep.calibration import Calibration
from resweep.config import validate
from resweep.errors import InputError, OutputError, ResweepError
from resweep.files import atomic_folder
from resweep.files.untrusted import MAX_JSON_BYTES, check_no_link, read_json
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.remote import RemotePath, find_path, is_remote, lock_output, recover_output
from resweep.remote.paths import read_objects
from resweep.remote.staging import stage_folder
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.generations import find_arrays, is_taken, publish_world, read_generation
from resweep.worlds.store.layer_files import KINDS, Reading, Writing, need
from resweep.worlds.store.observed_files import read_observed, write_observed
from resweep.worlds.store.tiled_columns import LEVEL, TileTable
from resweep.worlds.stream.near import tiles_near
from resweep.worlds.world import TILE_SIZE_M, World

FORMAT = "resweep-world"
FORMAT_VERSION = 1
INDEX = "world.json"
NEAR_M = 250.0  # twice the range of most sensors
_FARTHEST_M = 1e12  # of an origin; the Earth's circumference has 4e7
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
    with new_world(path, overwrite) as folder:
        _write(world, folder, tile_size_m, level)
    return path


@contextmanager
def new_world(path: Path, overwrite: bool) -> Iterator[Path]:
    """Give a local folder that becomes the world at ``path`` once all of it is written; see `save_world`."""
    with lock_output(path):
        if is_taken(path):
            if not _is_world(path):
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


def load_world(
    path: str | Path,
    bounds: ArrayLike | None = None,
    *,
    near: Trajectory | Log | ArrayLike | None = None,
    range_m: float = NEAR_M,
) -> World:
    """Read a world from a folder or a URL, or only its tiles that reach into ``bounds``, or come ``near`` a drive.

    ``bounds`` are the lowest and highest corner, (2, 2) or (2, 3), in world coordinates. ``near`` is a trajectory, a
    log with poses, or poses (n, 4, 4): tiles within ``range_m`` metres of it are read. Twice the range of a sensor is
    what its sweeps depend on. Tiles are read whole, so geometry may reach beyond them. Faces and instances keep the
    order they were saved in.

    Example: ``part = rs.load_world("seq00.world", near=log, range_m=240)``
    """
    path = find_path(path)
    recover_output(path)
    return read_generation(path, lambda: read_index(path), lambda data: _read(path, data, bounds, near, range_m))


def _read(path: Path, data: dict[str, Any], bounds: Any, near: Any, range_m: float) -> World:
    """The world at ``path`` of which ``data`` is the index, or the tiles of it that `load_world` describes."""
    where = str(path / INDEX)
    origin = saved_origin(data, where)
    reading = Reading(find_arrays(path, data, where), _choice(origin, bounds, near, range_m))
    layers = []
    for number, entry in enumerate(need(data, "layers", list, where)):
        here = f"{where}: layers[{number}]"
        kind = need(entry, "kind", str, here)
        if kind not in KINDS:
            raise InputError(f"{here}: layers of kind '{kind}' are unknown to this Resweep; upgrade it")
        layer = read_layer(kind, entry, here, reading)
        if layer is not None:
            layers.append(layer)
    if not layers:
        region = "the bounds" if near is None else f"{range_m:g} m of the drive"
        raise ResweepError(f"{path}: no layer has anything within {region}; the world spans {data.get('bounds')}")
    meta, labels = need(data, "meta", dict, where), saved_labels(data, where)
    size_m = saved_tile_size(data, where)
    calibration, observed = saved_calibration(data, where), read_observed(data, where, reading.root, reading.budget)
    return World(layers, origin, meta, labels, calibration=calibration, tile_size_m=size_m, observed=observed)


def _choice(origin: Array, bounds: Any, near: Any, range_m: float) -> Callable[[TileTable], Array] | None:
    """What chooses the tiles to read; None for all."""
    if bounds is not None and near is not None:
        raise ResweepError("near: is given together with bounds; give one of them")
    if near is not None:
        return tiles_near(near, range_m, origin)
    return None if bounds is None else partial(TileTable.within, bounds=_offsets(bounds, origin))


def saved_tile_size(data: dict[str, Any], where: str) -> float:
    """The side of the tiles in the record of a world, metres."""
    value = data.get("tile_size_m", TILE_SIZE_M)
    if not isinstance(value, int | float) or not 0 < value < np.inf:
        raise InputError(f"{where}: field 'tile_size_m' cannot be {value!r:.60}; save the world again")
    return float(value)


def saved_labels(data: dict[str, Any], where: str) -> LabelSet:
    """The vocabulary in the record of a world or a bank, unknown if it was saved before there were any."""
    if "labels" not in data:
        return UNKNOWN_LABELS
    return validate(data["labels"], LabelSet, f"{where}: labels")


def saved_label_counts(data: dict[str, Any], where: str) -> dict[int, int]:
    """Number of primitives with each label id, as the record of a world has it; none in older records."""
    counts = data.get("label_counts", {})
    try:
        return {int(label): int(count) for label, count in counts.items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: field 'label_counts' cannot be {counts!r:.60}; save the world again") from error


def _write(world: World, folder: Path, tile_size_m: float, level: int) -> None:
    writing = Writing(zarr.create_group(store=str(folder)), tile_size_m, level=level)
    entries = []
    for number, layer in enumerate(world.layers):
        if layer.kind not in KINDS:
            raise ResweepError(f"layer '{layer.name}': layers of kind '{layer.kind}' cannot be saved")
        entries.append(KINDS[layer.kind][0](layer, f"layers/{number:04d}", writing))
    write_index(
        folder,
        origin=world.origin,
        bounds=world.bounds,
        tile_size_m=tile_size_m,
        calibration=world.calibration,
        labels=world.labels,
        label_counts=world.label_counts,
        meta=world.meta,
        layers=entries,
        observed=world.observed,
        level=level,
    )


def write_index(
    folder: Path,
    *,
    origin: Array,
    bounds: Array,
    tile_size_m: float,
    calibration: Calibration | None,
    labels: LabelSet,
    label_counts: Mapping[int, int],
    meta: Mapping[str, Any],
    layers: list[dict[str, Any]],
    observed: ObservedSpace | None = None,
    level: int = LEVEL,
) -> None:
    """Write the world.json of a world whose ``layers`` are written, and the space that was ``observed``."""
    from resweep import __version__

    index = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": {"resweep": __version__, "zarr": zarr.__version__, "python": platform.python_version()},
        "units": {"length": "metre", "axes": "x forward, y left, z up; offsets from the origin"},
        "origin": origin.tolist(),
        "bounds": bounds.tolist(),
        "tile_size_m": tile_size_m,
        "calibration": None if calibration is None else calibration.to_dict(),
        "labels": labels.to_dict(),
        "label_counts": {str(label): count for label, count in label_counts.items()},
        "meta": dict(meta),
        "layers": layers,
    }
    if observed is not None:
        index["observed"] = write_observed(observed, zarr.open_group(str(folder)), level)
    try:
        text = json.dumps(index, indent=1, default=_plain)
    except (TypeError, ValueError) as error:
        raise ResweepError(
            f"world meta: cannot be saved as JSON ({error}); keep numbers, text, lists, dicts"
        ) from error
    (folder / INDEX).write_text(text + "\n", encoding="utf-8")


def read_layer(kind: str, entry: dict[str, Any], where: str, reading: Reading) -> Any:
    """A layer, or None if it has nothing within bounds; errors name its entry in the index."""
    try:
        return KINDS[kind][1](entry, where, reading)
    except ResweepError as error:
        folder = str(reading.root)
        raise error if str(error).startswith(folder) else InputError(f"{where}: {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise InputError(f"{where}: cannot be read ({error}); save the world again") from error


def saved_origin(data: dict[str, Any], where: str) -> Array:
    """The origin in the record of a world."""
    values = need(data, "origin", list, where)
    if len(values) != 3 or not all(isinstance(value, int | float) and abs(value) < _FARTHEST_M for value in values):
        raise InputError(f"{where}: field 'origin' must be three numbers, got {values!r:.60}; save the world again")
    return np.array(values, dtype=np.float64)


def saved_calibration(data: dict[str, Any], where: str) -> Calibration | None:
    """The calibration of a world; worlds saved before it had a field of its own keep it in their meta."""
    found = data["calibration"] if "calibration" in data else data["meta"].get("calibration")
    if found is None:
        return None
    try:
        if not isinstance(found, dict):
            raise TypeError(f"expected fields by name, got {found!r:.60}")
        return Calibration.from_dict(found)
    except (ResweepError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: field 'calibration' cannot be read ({error}); save the world again") from error


def _offsets(bounds: ArrayLike, origin: Array) -> Array:
    """Bounds (2, 2) or (2, 3) in world coordinates as metres from the origin."""
    try:
        box = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ResweepError(f"bounds: expected two corners of numbers ({error})") from error
    if box.shape not in ((2, 2), (2, 3)) or np.isnan(box).any() or (box[0] > box[1]).any():
        raise ResweepError(f"bounds: expected the lowest and the highest corner, (2, 2) or (2, 3), got {bounds!r}")
    return np.asarray(box - origin[: box.shape[1]])


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} {value!r}")


def read_index(path: Path) -> dict[str, Any]:
    """The world.json of a world, of a version that is understood."""
    file = path / INDEX
    data = _read_remote_index(path) if is_remote(path) else _read_local_index(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{file}: not a world's (its format is not '{FORMAT}'); give a folder that World.save wrote")
    version = need(data, "format_version", int, str(file))
    if version > FORMAT_VERSION:
        raise InputError(f"{file}: format {version} is newer than this Resweep's {FORMAT_VERSION}; upgrade resweep")
    return data


def _read_local_index(path: Path) -> Any:
    file = path / INDEX
    if not path.exists():
        raise InputError(f"{path}: no such world; check the path")
    if not file.is_file():
        raise InputError(f"{path}: not a world (it has no {INDEX}); give the folder that World.save wrote")
    try:
        check_no_link(path, file)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    return read_json(file, "save the world again")


def _read_remote_index(path: Path) -> Any:
    file = path / INDEX
    try:
        (text,) = read_objects([file], MAX_JSON_BYTES)
        return json.loads(text)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such world (there is no {INDEX}); check the URL") from error
    except ResweepError:
        raise
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise InputError(f"{file}: cannot be read ({reason}); save the world again") from error


def _is_world(path: Path) -> bool:
    """Whether a folder has a world's index, of any version and even if its arrays are damaged."""
    try:
        data = _read_remote_index(path) if is_remote(path) else read_json(path / INDEX, "")
    except ResweepError:
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT
