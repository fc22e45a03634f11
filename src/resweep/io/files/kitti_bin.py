"""KITTI scans: ``.bin`` rows of x y z intensity as little-endian float32, nothing else.

A ``.label`` file beside it, of one uint32 a point (``instance << 16 | label``, as SemanticKITTI has it), is
read where it exists and written on ``labels=True``. The format has no place for motion, so points are
written deskewed unless another frame is asked for; rings, times and empty beams are lost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resweep.errors import FaultKind, InputError, OutputError, SweepError
from resweep.files.untrusted import read_bytes
from resweep.intensity_scale import to_relative
from resweep.io.format import Format
from resweep.io.points.columns import check_finite, express_points, sweep_from_columns
from resweep.io.reading_limits import check_scan_size
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelSet
from resweep.pose import Array
from resweep.remote import find_path
from resweep.sweep import Sweep

_ROW_BYTES = 16
_HALF = 0xFFFF
# A float32 metre coordinate above this is off by more than a millimetre.
_FLOAT32_M = 8192.0

_BYTE_MAX = 255.0


def write(sweep: Sweep, path: Path, frame: str = "deskewed", labels: bool = False, instances: bool = True) -> None:
    """Write points and intensity; with ``labels`` also ``.label`` beside, without ``instances`` only classes."""
    points = express_points(sweep, frame)
    check_finite(points, path.name)
    if frame == "world" and len(points) and np.abs(points).max() > _FLOAT32_M:
        raise OutputError(
            f"{path.name}: KITTI's float32 would blur world coordinates of {np.abs(points).max():.0f} m; "
            "write LAS, PLY or PCD, or frame='deskewed'"
        )
    rows = np.empty((len(points), 4), "<f4")
    rows[:, :3] = points
    rows[:, 3] = sweep.intensity
    path.write_bytes(rows.tobytes())
    if labels:
        write_labels(sweep, path.with_suffix(".label"), instances)


def scale_remission(intensity: Array, full_scale: float | None = None) -> Array:
    """Intensities (n,) as the remissions from 0 to 1 that KITTI's scans have, float32; 1 is their ``full_scale``.

    Where that is None, those of which more than half are above 1 are taken for the 0 to 255 of other sensors.
    Intensities above that of a white target, as of retroreflectors, become 1.
    """
    values = np.asarray(intensity, np.float32)
    if full_scale is None:
        full_scale = _BYTE_MAX if len(values) and np.median(values) > 1.0 else 1.0
    return np.asarray(np.clip(to_relative(values, full_scale), 0.0, 1.0))


def write_labels(sweep: Sweep, path: Path, instances: bool = True) -> None:
    """Write one uint32 a return: the label in the low half, the instance in the high half."""
    path.write_bytes(pack_labels(sweep, path.name, instances).tobytes())


def pack_labels(sweep: Sweep, name: str, instances: bool = True) -> Array:
    """Labels and instances (n,) as SemanticKITTI's little-endian uint32; ``name`` is the file's, for errors."""
    instance = sweep.instance if instances else np.zeros_like(sweep.instance)
    for what, values, hint in (
        ("label", sweep.label, "map the classes first"),
        ("instance", instance, "write with instances=False, or renumber them"),
    ):
        if len(values) and (values.min() < 0 or values.max() > _HALF):
            raise InputError(f"{name}: {what} {int(np.abs(values).max())} does not fit 16 bits; {hint}")
    packed = instance.astype(np.uint32) << np.uint32(16) | sweep.label.astype(np.uint32)
    return np.asarray(packed, "<u4")


def read(path: Path, labels: Path | None = None, drop_nan: bool = False) -> Sweep:
    """The scan in a ``.bin`` file, with ``labels`` or else the ``.label`` file of its name if there is one."""
    return sweep_from_columns(read_columns(path, labels), str(path), drop_nan=drop_nan)


def read_columns(path: Path, labels: Path | None = None) -> dict[str, Array]:
    """The columns (n,) of the scan in a ``.bin`` file, in their stored order, with labels as `read` takes them."""
    check_scan_size(path, _ROW_BYTES)
    if path.name.lower().endswith(".pcd.bin"):
        raise InputError(f"{path}: a nuScenes scan has five numbers a point, not KITTI's four; convert it first")
    data = read_bytes(path)
    if len(data) % _ROW_BYTES:
        raise SweepError(
            f"{path}: truncated or not a KITTI scan ({len(data)} bytes are not rows of {_ROW_BYTES}: x y z intensity)"
            f"{_describe_rows(len(data), path.name)}",
            FaultKind.TRUNCATED,
        )
    rows = np.frombuffer(data, "<f4").reshape(-1, 4).astype(np.float32)
    columns: dict[str, Array] = dict(zip(("x", "y", "z", "intensity"), rows.T, strict=True))
    beside = path.with_suffix(".label") if labels is None else find_path(labels)
    if labels is not None or beside.is_file():
        if not len(rows) and beside.is_file() and beside.stat().st_size:
            raise SweepError(f"{path}: holds no point, but {beside.name} has labels; fetch it again", FaultKind.EMPTY)
        columns["label"], columns["instance"] = read_labels(beside, len(rows))
    return columns


def _describe_rows(size: int, name: str) -> str:
    """What else a file of that many bytes may hold, and how to open it; nothing if no rows fit."""
    if size and size % 20 == 0:
        return "; rows of 20 fit, as x y z intensity ring of nuScenes: open it as format=nuscenes-scan"
    if size and size % 12 == 0:
        return (
            "; rows of 12 fit, as x y z alone: write it as PLY with "
            f"rs.write_sweep(rs.Sweep.from_points(np.fromfile('{name}', '<f4').reshape(-1, 3)), 'scan.ply')"
        )
    return ""


def read_labels(path: Path, count: int) -> tuple[Array, Array]:
    """Labels and instances (n,) int32 of ``count`` points."""
    data = read_bytes(path)
    if len(data) != 4 * count:
        raise SweepError(
            f"{path}: {len(data)} bytes for {count} points, {4 * count} expected; it belongs to another scan",
            FaultKind.OTHER_LABELS,
        )
    packed = np.frombuffer(data, "<u4")
    return (packed & _HALF).astype(np.int32), (packed >> 16).astype(np.int32)


def find_labels(path: Path) -> LabelSet:
    """Labels of unknown meaning, or none where there is no ``.label`` file beside it."""
    return UNKNOWN_LABELS if path.with_suffix(".label").is_file() else NO_LABELS


FORMAT = Format(
    "kitti",
    "KITTI scan",
    (".bin",),
    frame="deskewed",
    read=read,
    write=write,
    spins=True,
    labels=find_labels,
    placed=lambda path: True,  # scans are in the frame of their sensor
)
