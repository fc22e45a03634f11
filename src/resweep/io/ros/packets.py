"""Bags of a sensor's packets, which are not read: what decodes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# As velodyne_msgs/msg/VelodyneScan, pandar_msgs/msg/PandarScan, ouster_sensor_msgs/msg/PacketMsg, nebula_msgs/...
_PACKETS = re.compile(r"Packet|VelodyneScan|PandarScan|UdpFrame|(hesai|rslidar|robosense|nebula)\w*/", re.IGNORECASE)


def explain_packets(types: Iterable[str]) -> str:
    """What decodes the packets of a sensor, if messages of these types hold any; else nothing."""
    found = next((name for name in types if _PACKETS.search(name)), None)
    if found is None:
        return ""
    own = "velodyne-decoder (pip install velodyne-decoder) decodes them in Python; or " if "elodyne" in found else ""
    return (
        f"; {found} holds packets as the sensor sent them: {own}play the bag to the maker's ROS driver and record "
        "its sensor_msgs/PointCloud2"
    )
