"""Livox's own message, ``livox_ros_driver2/msg/CustomMsg``, which FAST-LIO reads Livox sensors from.

Definitions: Livox-SDK/livox_ros_driver2, ``msg/CustomMsg.msg`` and ``msg/CustomPoint.msg``.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from resweep.io.ros.point_layouts import BagCloud, make_livox_tags

TYPE = "livox_ros_driver2/msg/CustomMsg"
DEFINITIONS = {
    "livox_ros_driver2/msg/CustomPoint": (
        "uint32 offset_time\nfloat32 x\nfloat32 y\nfloat32 z\nuint8 reflectivity\nuint8 tag\nuint8 line\n"
    ),
    TYPE: (
        "std_msgs/Header header\nuint64 timebase\nuint32 point_num\nuint8 lidar_id\nuint8[3] rsvd\n"
        "livox_ros_driver2/CustomPoint[] points\n"
    ),
}
# A CustomPoint in CDR: 19 bytes, and one of padding before the next, which starts at a multiple of four.
_POINT = np.dtype(
    {
        "names": ["offset_time", "x", "y", "z", "reflectivity", "tag", "line"],
        "formats": ["<u4", "<f4", "<f4", "<f4", "u1", "u1", "u1"],
        "offsets": [0, 4, 8, 12, 16, 17, 18],
        "itemsize": 20,
    }
)


def serialize(store: Any, header: Any, cloud: BagCloud) -> bytes:
    """The message of a cloud in CDR.

    The library would take an object a point; the points are packed here instead, after the message without any.
    """
    rows = np.zeros(len(cloud.range_m), _POINT)
    rows["offset_time"], rows["reflectivity"] = cloud.since_ns, cloud.reflectivity
    rows["x"], rows["y"], rows["z"] = cloud.points.T
    rows["tag"], rows["line"] = make_livox_tags(cloud), 0 if cloud.ring is None else cloud.ring
    empty = store.types[TYPE](header, cloud.stamp_ns, len(rows), 0, np.zeros(3, np.uint8), [])
    head = bytes(store.serialize_cdr(empty, TYPE))
    # The number of points is the last that is written.
    return head[:-4] + struct.pack("<I", len(rows)) + rows.tobytes()[: max(0, 20 * len(rows) - 1)]
