"""Logs and worlds as one cloud: a COPC file that viewers and GIS programs open as it is."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from resweep.errors import OutputError, ResweepError
from resweep.intensity_scale import choose_full_scale
from resweep.io.clouds.copc import SUFFIX
from resweep.io.clouds.writing.copc_file import CopcWriter
from resweep.io.clouds.writing.sweep_points import add_sweep
from resweep.io.files.las import FULL_SCALE, check_scale
from resweep.io.files.las_crs import is_wkt, name_crs
from resweep.label_mapping import relabel
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.progress import track
from resweep.remote import find_path, recover_output, write_output

if TYPE_CHECKING:  # worlds bring Zarr and trimesh, which reading a log does without
    from resweep.worlds import World

ASPRS = "asprs"


def write_cloud(
    source: Log | World,
    path: str | Path,
    *,
    labels: str | Path | LabelSet | None = ASPRS,
    intensity_scale: float | None = None,
    scale_m: float = 0.001,
    crs: str | None = None,
    mesh_spacing_m: float = 0.1,
    overwrite: bool = False,
    progress: bool = True,
) -> int:
    """Write all points of a log or a world into one COPC file (``.copc.laz``); gives how many there are.

    Points are in world coordinates, in steps of ``scale_m`` metres. Those of a world are centres of splats, means of
    volumes, and points on meshes every ``mesh_spacing_m`` metres, with reflectance as intensity. Labels are mapped to
    the vocabulary ``labels``, by default that of LAS, if their own is known; with None their ids stay as they are.
    ``intensity_scale`` counts are an intensity of 1: unless given, 65535 are the full scale of the log, or of the
    reflectances of the world. ``crs`` is the coordinate system as WKT, that of a log if not
    given. Sweeps are read once, one at a time; the folder of ``path`` takes 60 bytes a point meanwhile. ``path`` may be
    a URL of an object store: the file is then made in a temporary folder and uploaded.

    Example: ``rs.write_cloud(rs.open_log("kitti/sequences/00"), "town.copc.laz")``
    """
    path = find_path(path)
    recover_output(path)
    if not path.name.lower().endswith(SUFFIX):
        raise ResweepError(f"{path}: a cloud is written as COPC; give a name that ends in {SUFFIX}")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists; choose another name or overwrite it (overwrite=True)")
    wkt = _choose_wkt(source, crs)
    source = _map_labels(source, labels)
    known = source.labels.to_dict() if source.labels.known else None
    counts = check_scale(FULL_SCALE / (_find_full_scale(source) or 1.0) if intensity_scale is None else intensity_scale)
    facts = {"version": 1, "labels": known, "intensity_scale": counts}
    with write_output(path) as temporary, CopcWriter(temporary, scale_m, wkt, facts) as writer:
        if isinstance(source, Log):
            for sweep in track(source, f"reading {source.name or 'sweeps'}", show=progress):
                add_sweep(writer, sweep, "world", counts)
        else:
            from resweep.io.clouds.writing.world_points import add_world

            add_world(writer, source, counts, mesh_spacing_m)
        writer.close(progress)
        return writer.count


def _find_full_scale(source: Log | World) -> float | None:
    if isinstance(source, Log):
        return source.full_scale
    found = [choose_full_scale(layer.reflectance) for layer in source.layers]
    return max((scale for scale in found if scale is not None), default=None)


def _map_labels(source: Log | World, labels: str | Path | LabelSet | None) -> Log | World:
    if labels is None or not source.labels.known:
        return source
    wanted = labels if isinstance(labels, LabelSet) else load_labels(labels)
    return relabel(source, wanted) if isinstance(source, Log) else source.relabelled(wanted)


def _choose_wkt(source: Log | World, crs: str | None) -> str:
    """The coordinate system to write; LAS 1.4 holds WKT only."""
    text = crs if crs is not None else source.crs if isinstance(source, Log) else ""
    if not text or is_wkt(text):
        return text
    if crs is not None:
        raise ResweepError(f"crs: expected the WKT of a coordinate system, got '{crs:.60}'")
    warnings.warn(
        f"the coordinate system {name_crs(text)} is known by its code alone and is not written: COPC takes WKT; "
        "give it with crs=",
        stacklevel=3,
    )
    return ""
