"""The table of formats. A new one is a module with its `Format` at the foot, and a line here."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import InputError, ResweepError, nearest_names
from resweep.io.clouds import copc, e57, tiles
from resweep.io.datasets.argoverse import argoverse1, argoverse2
from resweep.io.datasets.kitti import kitti360, kitti_object, kitti_raw, kitti_tracking, semantickitti
from resweep.io.datasets.nuscenes import nuscenes_reader
from resweep.io.datasets.pandaset import pandaset_reader
from resweep.io.files import kitti_bin, las, pcd, ply, sweep_file
from resweep.io.format import Format
from resweep.io.ros import bag
from resweep.io.unread_files import explain_file

# Logs are recognised in this order: the first that knows a path takes it.
_ALL = (
    sweep_file.FORMAT,
    pcd.FORMAT,
    ply.FORMAT,
    las.FORMAT,
    las.COMPRESSED,
    copc.FORMAT,
    e57.FORMAT,
    kitti_bin.FORMAT,
    nuscenes_reader.SCAN,
    kitti_tracking.FORMAT,
    kitti_object.FORMAT,
    semantickitti.FORMAT,
    kitti360.FORMAT,
    kitti_raw.FORMAT,
    nuscenes_reader.FORMAT,
    argoverse1.FORMAT,
    argoverse2.FORMAT,
    pandaset_reader.FORMAT,
    tiles.FORMAT,
    bag.BAG,
    bag.BAG2,
)
FORMATS: dict[str, Format] = {entry.name: entry for entry in _ALL}


def get_format(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise ResweepError(f"format '{name}': {nearest_names(name, FORMATS)}")
    return FORMATS[name]


def find_format(path: Path) -> Format:
    """The single-sweep format of the suffix of ``path``."""
    suffixes = list_sweep_suffixes()
    known = [suffix for suffix in suffixes if path.name.lower().endswith(suffix)]
    if not known:
        raise InputError(f"{path}: {explain_file(path, FORMATS.values())}")
    return suffixes[max(known, key=len)]


def list_sweep_suffixes() -> dict[str, Format]:
    """Every suffix a sweep can be read from, with its format."""
    return {suffix: entry for entry in FORMATS.values() if entry.read for suffix in entry.suffixes}
