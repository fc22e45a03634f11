"""GPS/IMU packets of KITTI, thirty numbers each (dataformat.txt of the raw data), to and from a motion in metres.

KITTI turns latitude and longitude into metres by a Mercator projection that is scaled at the first packet.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.pose import Array, Trajectory, rotation_of

EARTH_M = 6378137.0  # the radius in the devkit's Mercator projection (KITTI raw devkit, latlonToMercator)
_START_DEG = (49.0, 8.4)  # latitude and longitude of a motion's first pose: near where KITTI was recorded
_GRAVITY = 9.81
_TAIL = "0.05 0.05 4 10 5 5 6"  # accuracies (m, m/s), and flags and counts of a good fix


def project_packets(rows: Array) -> Array:
    """``T_world_imu`` (n, 4, 4), in metres from the first, from rows (n, 6) of lat lon alt roll pitch yaw."""
    latitude, longitude = np.radians(rows[:, 0]), np.radians(rows[:, 1])
    scale = portable.cos(latitude[0])
    place = np.stack(
        [
            scale * EARTH_M * longitude,
            scale * EARTH_M * portable.log(portable.tan(np.pi / 4 + latitude / 2)),
            rows[:, 2],
        ],
        axis=1,
    )
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = Rotation.from_euler("ZYX", rows[:, [5, 4, 3]]).as_matrix()
    poses[:, :3, 3] = place - place[0]
    return poses


def format_packets(motion: Trajectory) -> str:
    """A line of text for each pose ``T_world_imu`` of a motion, x east and y north.

    Velocities, accelerations and turn rates are differences between the poses.
    """
    place = motion.poses[:, :3, 3]
    yaw, pitch, roll = rotation_of(motion.poses).as_euler("ZYX").T
    velocity, rate = _differentiate(place, motion.times), _differentiate(_unwrap_turns(roll, pitch, yaw), motion.times)
    force = _differentiate(velocity, motion.times) + np.array([0.0, 0.0, _GRAVITY])
    turn = motion.poses[:, :3, :3].transpose(0, 2, 1)
    ahead, pushed = (np.einsum("nij,nj->ni", turn, column) for column in (velocity, force))
    where = (*_project_back(place).T, place[:, 2], roll, pitch, yaw)
    columns = (*where, velocity[:, 1], velocity[:, 0], *ahead.T, *pushed.T, *pushed.T, *rate.T, *rate.T)
    lines = (" ".join(repr(value) for value in row) for row in np.column_stack(columns).tolist())
    return "".join(f"{line} {_TAIL}\n" for line in lines)


def _project_back(place: Array) -> Array:
    """Latitude and longitude (n, 2) in degrees of positions (n, 3) in metres, the first of which is at `_START_DEG`."""
    latitude, longitude = np.radians(_START_DEG)
    scale = portable.cos(latitude) * EARTH_M
    north = portable.log(portable.tan(np.pi / 4 + latitude / 2)) + (place[:, 1] - place[0, 1]) / scale
    east = longitude + (place[:, 0] - place[0, 0]) / scale
    return np.asarray(np.degrees(np.column_stack([2 * portable.arctan(portable.exp(north)) - np.pi / 2, east])))


def _unwrap_turns(*angles: Array) -> Array:
    return np.asarray(np.unwrap(np.stack(angles, axis=1), axis=0))


def _differentiate(values: Array, times: Array) -> Array:
    """Changes (n, 3) a second of values (n, 3); zero for a single one."""
    return np.asarray(np.gradient(values, times, axis=0)) if len(times) > 1 else np.zeros_like(values)
