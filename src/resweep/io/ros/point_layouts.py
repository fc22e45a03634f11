"""Points of bags as the makers' drivers lay them out, by name.

Fields, types, offsets and units are those of the drivers' public sources, named at each layout. Intensities go from
0 to 255. Rings count from the lowest elevation upwards in every layout, as everywhere in Resweep, whatever order a
maker numbers its lasers in. Where points have no times or rings, those fields are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array

# Fields as (name, offset, datatype), the bytes of a point, and the points' bytes (n · step,).
PackedPoints = tuple[list[tuple[str, int, int]], int, Array]
# sensor_msgs/PointField.
CODES = {np.dtype(kind): code for code, kind in enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"), 1)}


def to_nanoseconds(time: float) -> int:
    """Whole nanoseconds of a float's exact value, so that the float comes back from them."""
    return round(Fraction(time) * 10**9)


@dataclass(frozen=True, eq=False)
class BagCloud:
    """The points of a sweep in the order of time: columns (n,), and the stamp in seconds, before all points' times.

    ``times`` are absolute seconds, None where unknown; ``ring`` is None where unknown. ``intensity`` is in the unit of
    the layout.
    """

    stamp: float
    points: Array
    intensity: Array
    range_m: Array
    return_index: Array
    times: Array | None = None
    ring: Array | None = None
    other: Mapping[str, Array] | None = None

    @property
    def since(self) -> Array:
        """Seconds (n,) from the stamp, never negative."""
        assert self.times is not None
        return np.asarray(self.times - self.stamp)

    @property
    def since_ns(self) -> Array:
        """Whole nanoseconds (n,) from the stamp."""
        return np.round(self.since * 1e9).astype(np.uint32)

    @property
    def stamp_ns(self) -> int:
        """The stamp in whole nanoseconds."""
        return to_nanoseconds(self.stamp)

    @property
    def reflectivity(self) -> Array:
        """Intensity (n,) as whole numbers from 0 to 255."""
        return np.clip(np.round(np.nan_to_num(self.intensity)), 0, 255)


@dataclass(frozen=True)
class PointLayout:
    """Fields as (name, NumPy type, offset), the bytes of a point, and what fills each field.

    ``time`` and ``ring`` name the fields that are left out where points know none. ``times_needed``: cannot be written
    without point times.
    """

    fields: tuple[tuple[str, str, int], ...]
    step: int
    time: str
    ring: str
    fill: Mapping[str, Callable[[BagCloud], Array]]
    times_needed: bool = False


def make_livox_tags(cloud: BagCloud) -> Array:
    """Livox's tag (n,): the number of the return in bits 4 and 5, no sign of noise."""
    return np.minimum(cloud.return_index, 3).astype(np.uint8) << 4


def _fill(**more: Callable[[BagCloud], Array]) -> dict[str, Callable[[BagCloud], Array]]:
    own: dict[str, Callable[[BagCloud], Array]] = {
        "x": lambda cloud: cloud.points[:, 0],
        "y": lambda cloud: cloud.points[:, 1],
        "z": lambda cloud: cloud.points[:, 2],
        "intensity": lambda cloud: cloud.intensity,
        "ring": lambda cloud: np.asarray(cloud.ring),
    }
    return own | more


_XYZI = (("x", "<f4", 0), ("y", "<f4", 4), ("z", "<f4", 8), ("intensity", "<f4", 12))

LAYOUTS: dict[str, PointLayout] = {
    # ros-drivers/velodyne, velodyne_pointcloud: PointcloudXYZIRT, packed. LIO-SAM (src/imageProjection.cpp,
    # VelodynePointXYZIRT) and FAST-LIO take it; ``time`` in seconds from the stamp.
    "velodyne": PointLayout(
        (*_XYZI, ("ring", "<u2", 16), ("time", "<f4", 18)),
        22,
        "time",
        "ring",
        _fill(time=lambda cloud: cloud.since),
    ),
    # ouster-lidar/ouster-ros, os_point.h: a PCL point, 16 bytes for x y z, 48 in all; ``t`` in nanoseconds from the
    # stamp, range in millimetres. ``ring`` is the uint8 of the driver's first versions, which LIO-SAM and FAST-LIO
    # (src/preprocess.h) were written for: PCL drops a field of another type.
    "ouster": PointLayout(
        (
            *_XYZI[:3],
            ("intensity", "<f4", 16),
            ("t", "<u4", 20),
            ("reflectivity", "<u2", 24),
            ("ring", "<u1", 26),
            ("ambient", "<u2", 28),
            ("range", "<u4", 32),
        ),
        48,
        "t",
        "ring",
        _fill(
            t=lambda cloud: cloud.since_ns,
            reflectivity=lambda cloud: cloud.reflectivity,
            ambient=lambda cloud: np.zeros(len(cloud.range_m)),  # sunlight is not simulated
            range=lambda cloud: np.round(cloud.range_m * 1e3),
        ),
    ),
    # Livox-SDK/livox_ros_driver2, src/lddc.cpp: LivoxPointXyzrtlt, packed; ``timestamp`` in nanoseconds since 1970.
    # Two bits of the tag are the number of the return (Livox's protocol; FAST-LIO keeps returns 0 and 1 of each).
    "livox": PointLayout(
        (*_XYZI, ("tag", "<u1", 16), ("line", "<u1", 17), ("timestamp", "<f8", 18)),
        26,
        "timestamp",
        "line",
        _fill(
            tag=make_livox_tags,
            line=lambda cloud: np.asarray(cloud.ring),
            timestamp=lambda cloud: (cloud.stamp_ns + cloud.since_ns.astype(np.uint64)).astype(np.float64),
        ),
        times_needed=True,  # CustomMsg, which is written beside, has no points without
    ),
    # HesaiTechnology/HesaiLidar_ROS_2.0, src/manager/source_driver_ros2.hpp: packed; ``timestamp`` in seconds since
    # 1970.
    "hesai": PointLayout(
        (*_XYZI, ("ring", "<u2", 16), ("timestamp", "<f8", 18)),
        26,
        "timestamp",
        "ring",
        _fill(timestamp=lambda cloud: np.asarray(cloud.times)),
    ),
}
RESWEEP = "resweep"
POINTS = (RESWEEP, *LAYOUTS)


def pack_layout(layout: PointLayout, cloud: BagCloud) -> PackedPoints:
    """The cloud's points as the layout has them."""
    absent = {name for name, known in ((layout.time, cloud.times), (layout.ring, cloud.ring)) if known is None}
    fields = [field for field in layout.fields if field[0] not in absent]
    names, kinds, offsets = zip(*fields, strict=True)
    dtype = np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": layout.step})
    rows = np.zeros(len(cloud.range_m), dtype)
    for name, kind, _ in fields:
        values = layout.fill[name](cloud)
        _check_fits(name, values, kind)
        rows[name] = values
    return _describe(dtype), layout.step, np.frombuffer(rows.tobytes(), np.uint8)


def pack_resweep(cloud: BagCloud) -> PackedPoints:
    """The points with all that Resweep knows of them: labels, instances, returns, and times in absolute seconds."""
    columns = {axis: cloud.points[:, at].astype(np.float32) for at, axis in enumerate("xyz")}
    columns["intensity"] = cloud.intensity
    if cloud.ring is not None:
        columns["ring"] = cloud.ring
    if cloud.times is not None:
        columns["timestamp"] = cloud.times
    columns |= {"return_index": cloud.return_index, **(cloud.other or {})}
    dtype = np.dtype([(name, values.dtype.newbyteorder("<")) for name, values in columns.items()])
    rows = np.empty(len(cloud.range_m), dtype)
    for name, values in columns.items():
        rows[name] = values
    return _describe(dtype), dtype.itemsize, np.frombuffer(rows.tobytes(), np.uint8)


def _describe(dtype: np.dtype[np.void]) -> list[tuple[str, int, int]]:
    assert dtype.fields is not None
    kinds = ((name, dtype.fields[name]) for name in dtype.names or ())
    return [(name, int(kind[1]), CODES[kind[0].newbyteorder("=")]) for name, kind in kinds]


def _check_fits(name: str, values: Array, kind: str) -> None:
    limit = np.iinfo(kind).max if kind[1] == "u" else None
    if limit is not None and len(values) and values.max() > limit:
        raise ResweepError(
            f"field '{name}' of these points holds up to {limit}, a point has {int(values.max())}; "
            "choose another layout (points=)"
        )
