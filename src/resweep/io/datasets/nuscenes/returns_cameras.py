"""The six cameras that nuScenes' programs ask for: they show the returns, as no camera was there.

Without them the devkit renders no annotation, and loaders such as OpenPCDet's and mmdetection3d's stop. They look from
where the LiDAR is, in directions and with fields of view like those of nuScenes' cameras (nuScenes paper, table 2 and
figure 4), at a quarter of the size; front is the LiDAR's x axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from resweep.io.datasets.nuscenes.classes import Row, make_token
from resweep.io.datasets.nuscenes.nuscenes_scene import NuScenesScene, link_rows, to_quaternion
from resweep.io.returns_image import draw_returns, encode_png
from resweep.pose import Array

SIZE_PX = (400, 225)
_NEAR_M = 0.1


@dataclass(frozen=True)
class ReturnsCamera:
    """A pinhole camera at the LiDAR's origin; ``yaw_deg`` is counter-clockwise from x, ``width_deg`` its field."""

    channel: str
    yaw_deg: float
    width_deg: float = 70.0

    @cached_property
    def R_lidar_camera(self) -> Array:
        """``R_lidar_camera`` (3, 3); the camera's z looks ahead, its x to the right, its y down."""
        c, s = math.cos(math.radians(self.yaw_deg)), math.sin(math.radians(self.yaw_deg))
        return np.array([[s, 0.0, c], [-c, 0.0, s], [0.0, -1.0, 0.0]])

    @cached_property
    def intrinsic(self) -> Array:
        """The camera matrix (3, 3)."""
        width, height = SIZE_PX
        focal = width / 2 / math.tan(math.radians(self.width_deg / 2))
        return np.array([[focal, 0.0, width / 2], [0.0, focal, height / 2], [0.0, 0.0, 1.0]])

    def draw(self, points: Array, intensity: Array) -> bytes:
        """A PNG of the returns (n, 3), in the LiDAR's frame, by their relative intensity (n,)."""
        x, y = points[:, 0], points[:, 1]
        c, s = np.float32(math.cos(math.radians(self.yaw_deg))), np.float32(math.sin(math.radians(self.yaw_deg)))
        depth, right = c * x + s * y, s * x - c * y
        focal, (width, height) = self.intrinsic[0, 0], SIZE_PX
        rows = np.flatnonzero((depth > _NEAR_M) & (np.abs(right) * focal < depth * (width / 2)))
        column = width / 2 + focal * right[rows] / depth[rows]
        line = height / 2 - focal * points[rows, 2] / depth[rows]
        pixels = np.stack([column, line], axis=1)
        inside = ((pixels >= 0) & (pixels < np.array(SIZE_PX))).all(axis=1)
        rows = rows[inside]
        return encode_png(draw_returns(pixels[inside], depth[rows], intensity[rows], SIZE_PX))


CAMERAS = (
    ReturnsCamera("CAM_FRONT", 0.0),
    ReturnsCamera("CAM_FRONT_LEFT", 55.0),
    ReturnsCamera("CAM_FRONT_RIGHT", -55.0),
    ReturnsCamera("CAM_BACK_LEFT", 110.0),
    ReturnsCamera("CAM_BACK_RIGHT", -110.0),
    ReturnsCamera("CAM_BACK", 180.0, 110.0),
)


def name_picture_file(scene: NuScenesScene, camera: ReturnsCamera, time: float) -> Path:
    """Where the picture of a camera lies in the dataset."""
    name = f"{scene.logfile}__{camera.channel}__{scene.stamp(time):016d}.png"
    return Path("samples") / camera.channel / name


def make_sensor_row(camera: ReturnsCamera) -> Row:
    """The record of a camera, the same for all logs."""
    return {"token": make_token("sensor", camera.channel), "channel": camera.channel, "modality": "camera"}


def make_mount_row(scene: NuScenesScene, camera: ReturnsCamera) -> Row:
    """The record of a camera on the vehicle."""
    return {
        "token": scene.token("calibrated_sensor", camera.channel),
        "sensor_token": make_token("sensor", camera.channel),
        "translation": [0.0, 0.0, 0.0],
        "rotation": to_quaternion(camera.R_lidar_camera),
        "camera_intrinsic": camera.intrinsic.tolist(),
    }


def make_data_rows(scene: NuScenesScene, camera: ReturnsCamera, lidar: list[Row], times: list[float]) -> list[Row]:
    """The records of a camera's pictures, one for each keyframe; ``lidar`` has the records of their scans."""
    width, height = SIZE_PX
    return link_rows(
        {
            **row,
            "token": make_token(row["token"], camera.channel),
            "calibrated_sensor_token": scene.token("calibrated_sensor", camera.channel),
            "fileformat": "png",
            "height": height,
            "width": width,
            "filename": name_picture_file(scene, camera, time).as_posix(),
        }
        for row, time in zip(lidar, times, strict=True)
    )
