"""The index of a world on disk: a directory with world.json and Zarr v3 arrays per layer.

``world.json`` holds the format version, the world's meta data, what wrote it, units, origin, the vocabulary of its
labels and an index of layers; ``layers/<n>`` holds the columns of each layer, grouped by tiles
(`store.layer_files`). In an object store the layers lie under a generation (`store.generations`).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from resweep.bounds import MAX_POSITION_M
from resweep.calibration import Calibration
from resweep.config import validate
from resweep.errors import InputError, ResweepError
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import MAX_JSON_BYTES, check_no_link, read_json
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.map_filter import MapFilter
from resweep.pose import Array
from resweep.remote import is_remote
from resweep.remote.paths import read_objects
from resweep.worlds.layers.square_tiles import TILE_SIZE_M
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.layer_files import need
from resweep.worlds.store.observed_files import write_observed
from resweep.worlds.store.tiled_columns import LEVEL

FORMAT = "resweep-world"
FORMAT_VERSION = 1
INDEX = "world.json"


def write_index(
    folder: Path,
    *,
    origin: Array,
    bounds: Array,
    tile_size_m: float,
    calibration: Calibration | None,
    map_filter: MapFilter | None,
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
        "map_filter": None if map_filter is None else map_filter.model_dump(mode="json"),
        "labels": labels.to_dict(),
        "label_counts": {str(label): count for label, count in label_counts.items()},
        "meta": dict(meta),
        "layers": layers,
    }
    if observed is not None:
        index["observed"] = write_observed(observed, zarr.open_group(str(folder)), level)
    try:
        text = format_json(index, indent=1, default=_to_plain)
    except (TypeError, ValueError) as error:
        raise ResweepError(
            f"world meta: cannot be saved as JSON ({error}); keep numbers, text, lists, dicts"
        ) from error
    (folder / INDEX).write_text(text + "\n", encoding="utf-8")


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
        return parse_json(text)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such world (there is no {INDEX}); check the URL") from error
    except ResweepError:
        raise
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise InputError(f"{file}: cannot be read ({reason}); save the world again") from error


def is_world(path: Path) -> bool:
    """Whether a folder has a world's index, of any version and even if its arrays are damaged."""
    try:
        data = _read_remote_index(path) if is_remote(path) else read_json(path / INDEX, "")
    except ResweepError:
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def read_tile_size(data: dict[str, Any], where: str) -> float:
    """The side of the tiles in the record of a world, metres."""
    value = data.get("tile_size_m", TILE_SIZE_M)
    if not isinstance(value, int | float) or not 0 < value < np.inf:
        raise InputError(f"{where}: field 'tile_size_m' cannot be {value!r:.60}; save the world again")
    return float(value)


def read_labels(data: dict[str, Any], where: str) -> LabelSet:
    """The vocabulary in the record of a world or a bank, unknown if it was saved before there were any."""
    if "labels" not in data:
        return UNKNOWN_LABELS
    return validate(data["labels"], LabelSet, f"{where}: labels")


def read_label_counts(data: dict[str, Any], where: str) -> dict[int, int]:
    """Number of primitives with each label id, as the record of a world has it; none in older records."""
    counts = data.get("label_counts", {})
    try:
        return {int(label): int(count) for label, count in counts.items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: field 'label_counts' cannot be {counts!r:.60}; save the world again") from error


def read_origin(data: dict[str, Any], where: str) -> Array:
    """The origin in the record of a world."""
    values = need(data, "origin", list, where)
    if len(values) != 3 or not all(isinstance(value, int | float) and abs(value) <= MAX_POSITION_M for value in values):
        raise InputError(f"{where}: field 'origin' must be three numbers, got {values!r:.60}; save the world again")
    return np.array(values, dtype=np.float64)


def read_map_filter(data: dict[str, Any], where: str) -> MapFilter | None:
    """Which returns the map of a saved world left out; unknown if it was saved before that was kept."""
    found = data.get("map_filter")
    return None if found is None else validate(found, MapFilter, f"{where}: map_filter")


def read_calibration(data: dict[str, Any], where: str) -> Calibration | None:
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


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} {value!r}")
