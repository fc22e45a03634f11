"""ROS PointCloud2 messages to columns, in the layouts of the usual drivers.

Points may have any fields in any order and padding. The unit of times is found by name and size: Velodyne's ``time``
(float32 seconds from the stamp), Ouster's ``t`` (uint32 nanoseconds from the stamp), Hesai's and RoboSense's
``timestamp`` (float64 seconds since 1970), Livox's ``timestamp`` (float64 nanoseconds) and ``offset_time``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.errors import FaultKind, InputError, SweepError
from resweep.io.points.organised import add_cells
from resweep.pose import Array

# The constants of sensor_msgs/PointField.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_ABSOLUTE = ("timestamp", "time_stamp")
_TIMES = (*_ABSOLUTE, "time", "t", "offset_time")
_NANOSECONDS = ("t", "offset_time")
_UNITS = (1.0, 1e-3, 1e-6, 1e-9)
_NEAR_S = 60.0  # a point's time this near to the stamp of its cloud counts from the same zero
_EPOCH_S = 1e6  # below this a stamp may be one of simulated time, which point times from the stamp look like


def to_columns(message: Any, stamp: float, where: str) -> dict[str, Array]:
    """The fields of a cloud as columns (n,); ``time`` in absolute seconds where there is any time."""
    dtype = _parse_fields(message, where)
    rows, width = int(message.height), int(message.width)
    data = np.asarray(message.data, np.uint8).reshape(-1)
    step, row_step = int(message.point_step), int(message.row_step)
    if row_step < width * step:
        row_step = width * step  # some drivers leave it unset
    need = (rows - 1) * row_step + width * step if rows and width else 0
    if len(data) < need:
        raise SweepError(f"{where}: truncated ({len(data)} bytes of points, {need} expected)", FaultKind.TRUNCATED)
    if rows > 1 and row_step != width * step:
        padded = np.zeros(rows * row_step, np.uint8)
        padded[: min(len(data), len(padded))] = data[: len(padded)]
        data = padded.reshape(rows, row_step)[:, : width * step].reshape(-1)
    points = np.frombuffer(data[: rows * width * step].tobytes(), dtype)
    columns: dict[str, Array] = {}
    for name in dtype.names or ():
        values = points[name]
        columns[name] = values.astype(values.dtype.newbyteorder("="))
    for name in _TIMES:
        if name in columns and columns[name].ndim == 1 and len(columns[name]):
            columns["time"] = _convert_times(name, columns.pop(name), stamp)
            break
    return add_cells(columns, rows, width) if rows > 1 else columns


def _parse_fields(message: Any, where: str) -> np.dtype[Any]:
    order = ">" if message.is_bigendian else "<"
    names, formats, offsets = [], [], []
    for field in message.fields:
        if field.datatype not in _TYPES:
            raise InputError(f"{where}: field '{field.name}' has datatype {field.datatype}, which ROS does not know")
        base = order + _TYPES[field.datatype]
        count = int(field.count) or 1
        names.append(str(field.name))
        formats.append(base if count == 1 else (base, (count,)))
        offsets.append(int(field.offset))
    if len(set(names)) < len(names):
        raise InputError(f"{where}: two fields of one name among {', '.join(names)}")
    missing = [axis for axis in "xyz" if axis not in names]
    if missing:
        raise SweepError(
            f"{where}: no field '{missing[0]}'; it has {', '.join(names) or 'none'}", FaultKind.OTHER_FIELDS
        )
    try:
        layout = {"names": names, "formats": formats, "offsets": offsets, "itemsize": int(message.point_step)}
        return np.dtype(layout)  # type: ignore[call-overload,no-any-return]
    except ValueError as error:
        raise InputError(f"{where}: fields do not fit point_step {message.point_step} ({error})") from error


def _convert_times(name: str, values: Array, stamp: float) -> Array:
    """Point times as absolute seconds."""
    whole = values.dtype.kind in "iu"
    times = values.astype(np.float64)
    finite = times[np.isfinite(times)]
    if not len(finite):
        return np.full(len(times), stamp)
    if name in _ABSOLUTE or stamp > _EPOCH_S:
        for unit in _UNITS:
            if abs(float(np.median(finite)) * unit - stamp) < _NEAR_S:
                return np.asarray(times * unit)
    if whole and name in _NANOSECONDS:
        return np.asarray(stamp + times * 1e-9)
    # A sweep lasts between a hundredth of a second and ten: its largest time gives the unit away.
    top = float(np.abs(finite).max())
    unit = next((unit for unit, limit in zip(_UNITS, (10.0, 1e4, 1e7), strict=False) if top < limit), 1e-9)
    return np.asarray(stamp + times * unit)
