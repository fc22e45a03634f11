"""A sweep's returns as named columns, the form that point files share.

Such files hold only what came back, but for images whose empty cells are written as zeros or NaN. Read again, a
sweep has one beam a point: other beams without return, the beams' origins and the grouping of several returns on
one beam are lost. Write ``.sweep`` to keep them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from resweep import portable
from resweep.bounds import MAX_POSITION_M
from resweep.errors import FaultKind, OutputError, ResweepError, SweepError
from resweep.io.points.header import Header
from resweep.pose import Array, inverse, transform
from resweep.sensors.infer.stored_empty import add_stored_empty
from resweep.sweep import Sweep

# The names other programs give to our columns, ours first.
_ALIASES: dict[str, tuple[str, ...]] = {
    "intensity": ("intensity", "scalar_intensity", "i", "reflectance", "reflectivity", "remission"),
    "ring": ("ring", "scalar_ring", "channel", "laser_id", "laser_number", "line"),
    "time": ("time", "timestamp", "time_stamp", "t", "gps_time", "gpstime", "scalar_gpstime", "offset_time"),
    "column": ("column",),
    "label": ("label", "scalar_label", "semantic", "classification", "scalar_classification"),
    "instance": ("instance", "scalar_instance"),
    "return_index": ("return_index",),
}
_INTEGERS: dict[str, Any] = {
    "ring": np.uint16,
    "column": np.int32,
    "label": np.int32,
    "instance": np.int32,
    "return_index": np.uint8,
}
# Integer times without a unit are left alone, but for these two: Ouster's `t` and Livox's `offset_time`
# count nanoseconds in their ROS drivers' point types.
_NANOSECONDS = ("t", "offset_time")
# Beyond this, float32 ranges and directions would blur centimetres, so the points get a world frame near them.
FAR_M = 1e4
# Seconds since 1970 have ten digits; Livox's driver gives its float times in nanoseconds, which have 19.
_MIN_NANOSECONDS, _MAX_NANOSECONDS = 1e17, 1e19


def has_label_field(names: Iterable[str]) -> bool:
    """Whether one of a file's fields holds labels."""
    return any(name.lower() in _ALIASES["label"] for name in names)


def express_points(sweep: Sweep, frame: str) -> Array:
    """Returns (n, 3): float32 in the ``sensor`` or ``deskewed`` frame, float64 in the ``world``."""
    if frame == "world":
        return sweep.world_points()
    return sweep.deskewed() if frame == "deskewed" else sweep.points


def has_point_times(sweep: Sweep) -> bool:
    """Whether each point of a sweep has a time of its own.

    Where all beams have one time, they do not. A time column would then hold nothing, and programs that scale a
    sweep's times to 0..1 divide by zero (KISS-ICP aborts), so writers leave it out. A sweep in motion whose one
    time is not its timestamp keeps it: its points lie elsewhere without.
    """
    times = sweep.beam_time
    if len(times) < 2 or np.ptp(times) > 0:
        return True
    return sweep.trajectory is not None and float(times[0]) != sweep.timestamp


def columns_from_sweep(sweep: Sweep, frame: str, where: str) -> dict[str, Array]:
    """Every return column (n,) by name, coordinates first, ``sweep.extra`` last.

    ``time`` is left out where the sweep has no point times.
    """
    points = express_points(sweep, frame)
    check_finite(points, where)
    columns: dict[str, Array] = dict(zip("xyz", points.T, strict=True))
    columns["intensity"] = sweep.intensity
    columns["ring"] = sweep.ring
    if has_point_times(sweep):
        columns["time"] = sweep.time
    for name in ("column", "label", "instance", "return_index"):
        columns[name] = getattr(sweep, name)
    for name, values in sweep.extra.items():
        columns.update(_split_extra(name, np.asarray(values), columns, where))
    return columns


def check_finite(points: Array, where: str) -> None:
    """Raise if any of the points (n, 3) to be written is not finite."""
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise OutputError(
            f"{where}: {len(bad)} of {len(points)} points to be written hold NaN or infinity (first: {bad[0]}); "
            "leave them out with sweep.select(...)"
        )


def _split_extra(name: str, values: Array, taken: Mapping[str, Array], where: str) -> dict[str, Array]:
    """An extra column as (n,) columns of plain numbers; wide ones become ``name_0``, ``name_1`` ..."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or name  # as "Pulse width" of LAS
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in taken:
        raise OutputError(f"{where}: extra column '{name}' needs another name (letters, digits, _; not one of ours)")
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        raise OutputError(f"{where}: extra column '{name}' of type {values.dtype} does not fit here; write .sweep")
    if values.ndim == 1:
        return {name: values}
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    return {f"{name}_{at}": flat[:, at] for at in range(flat.shape[1])}


def sweep_from_columns(
    columns: Mapping[str, Array],
    where: str,
    header: Header | None = None,
    pose: Array | None = None,
    drop_nan: bool = False,
) -> Sweep:
    """A sweep of the points in named columns (n,), whatever of ours is among them; the rest is ``extra``.

    Points at exactly 0 0 0 are beams without return as some drivers write them: where ring and column are known
    they become beams that point between their neighbours, else they are left out. NaN coordinates are an error
    unless ``drop_nan``, and then no returns either; so are points without a number for intensity or time.
    Without ``header`` the points are taken to be in the sensor's frame at ``pose``; clouds far from the origin get a
    world pose near them instead.
    """
    by_name = {name.lower(): name for name in columns}
    missing = [axis for axis in "xyz" if axis not in by_name]
    if missing:
        raise SweepError(
            f"{where}: no field '{missing[0]}'; it has {', '.join(columns) or 'none'}", FaultKind.OTHER_FIELDS
        )
    points = np.stack([np.asarray(columns[by_name.pop(axis)]) for axis in "xyz"], axis=1)
    keep = _find_points(points, where, drop_nan)
    points = points[keep]
    found: dict[str, Array] = {}
    for ours, names in _ALIASES.items():
        for alias in names:
            if (
                alias in by_name
                and (values := _convert_field(ours, alias, columns[by_name[alias]][keep], where)) is not None
            ):
                found[ours] = values
                del by_name[alias]
                break
    extra = {name: np.asarray(columns[name])[keep] for name in by_name.values()}
    sweep = _assemble(points, found, extra, header, pose)
    if drop_nan:
        sweep = _drop_not_finite(sweep)
    if keep.all() or not {"ring", "column"} <= set(found):
        return sweep
    ring, column = _find_empty_cells(columns, ~keep)
    return add_stored_empty(sweep, ring, column)


def _drop_not_finite(sweep: Sweep) -> Sweep:
    """``sweep`` of one beam a point without points of no intensity or time; as it is where no point has them.

    A field that never holds a number means something else, and is refused when the sweep is checked.
    """
    good = np.isfinite(sweep.intensity) & np.isfinite(sweep.beam_time)
    return sweep if good.all() or not good.any() else sweep.select_beams(good)


def _find_empty_cells(columns: Mapping[str, Array], empty: Array) -> tuple[Array, Array]:
    """Ring and column (m,) of the ``empty`` rows, those that have both."""
    by_name = {name.lower(): np.asarray(values) for name, values in columns.items()}
    ring, column = (
        next(by_name[alias] for alias in _ALIASES[ours] if alias in by_name)[empty].astype(np.float64)
        for ours in ("ring", "column")
    )
    good = np.isfinite(ring) & np.isfinite(column) & (ring >= 0) & (column >= 0) & (ring < 1 << 16)
    return ring[good].astype(np.int64), column[good].astype(np.int64)


def _find_points(points: Array, where: str, drop_nan: bool) -> Array:
    finite = (np.abs(points) <= MAX_POSITION_M).all(axis=1)  # as NaN is not
    if not drop_nan and not finite.all():
        bad = np.flatnonzero(~finite)
        raise SweepError(
            f"{where}: {len(bad)} of {len(points)} points hold NaN, infinity or more than {MAX_POSITION_M:g} m "
            f"(first: point {bad[0]}); read with drop_nan=True to leave them out",
            FaultKind.NOT_FINITE,
        )
    return np.asarray(finite & (points != 0).any(axis=1))


def _convert_field(ours: str, alias: str, values: Array, where: str) -> Array | None:
    """Values fit for our column, or None if this field means something else."""
    if values.ndim != 1:
        return None
    if ours == "time" and values.dtype.kind != "f":
        return values * 1e-9 if alias in _NANOSECONDS else None
    if ours == "time" and len(values) and values.min() > _MIN_NANOSECONDS and values.max() < _MAX_NANOSECONDS:
        return values * 1e-9
    if ours in _INTEGERS and len(values):
        limit = np.iinfo(_INTEGERS[ours])
        if not (np.isfinite(values).all() and values.min() >= limit.min and values.max() <= limit.max):
            raise ResweepError(
                f"{where}: field '{alias}' holds values outside {limit.min} to {limit.max}, the range of '{ours}'; "
                "rename or repair it"
            )
    return values


def _assemble(
    points: Array, found: dict[str, Array], extra: dict[str, Array], header: Header | None, pose: Array | None
) -> Sweep:
    points = points.astype(np.float64)
    return_index = found.pop("return_index", None)
    if header is None:
        pose = np.eye(4) if pose is None else pose
        if len(points) and np.abs(centre := np.round(points.mean(axis=0))).max() > FAR_M:
            near = np.eye(4)
            near[:3, 3] = centre
            points, pose = points - centre, portable.matmul(pose, near)
        times = found.get("time")
        finite = np.zeros(0) if times is None else times[np.isfinite(times)]
        timestamp = float(finite.min()) if len(finite) else 0.0
        header = Header("sensor", pose, timestamp)
    elif header.frame == "world":
        points = transform(inverse(header.pose), points)
    sweep = Sweep.from_points(
        points,
        pose=header.pose,
        timestamp=header.timestamp,
        trajectory=header.trajectory,
        sensor=header.sensor,
        extra=extra,
        **found,  # type: ignore[arg-type]  # mypy takes a dict of columns for any argument
    )
    return sweep if return_index is None else replace(sweep, return_index=return_index)
