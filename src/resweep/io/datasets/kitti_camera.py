"""KITTI's cameras: how points become pixels, and the calibration files that say so.

A point of the LiDAR is seen at ``P2 · R0_rect · Tr_velo_to_cam`` (KITTI object devkit, readme). Files are those of the
object and tracking benchmarks (one a frame or a sequence), of the odometry benchmark (``calib.txt``, already rectified)
and of raw drives (``calib_cam_to_cam.txt`` with ``calib_velo_to_cam.txt`` beside it).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from resweep.boxes import Boxes
from resweep.config import read_text
from resweep.errors import ResweepError
from resweep.io import poses
from resweep.io.rigid import pose_from_matrix
from resweep.pose import Array, transform

NEAR_M = 0.1  # what is nearer to the camera, or behind it, is not in its image
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_EDGES = np.array([(a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1.0])


class ImageBoxes(NamedTuple):
    """Boxes (k,) as an image shows them.

    ``edges`` (k, 4) are left, top, right and bottom in pixels from 0, cut at the image's borders; ``truncation`` (k,)
    is the share of the whole outline that lies beyond them. 1 and no edges (NaN): the image does not show it.
    """

    edges: Array
    truncation: Array


@dataclass(frozen=True, eq=False)
class KittiCamera:
    """The four cameras of a KITTI recording, of which the third (P2, left colour) takes the image of labels.

    ``projections`` (4, 3, 4) are P0 to P3, ``rectification`` (3, 3) is R0_rect and ``T_camera_lidar`` (4, 4) is
    Tr_velo_to_cam. ``size_px`` are width and height of the image.
    """

    projections: Array
    rectification: Array
    T_camera_lidar: Array
    size_px: tuple[int, int]

    @cached_property
    def T_rect_lidar(self) -> Array:
        """``T_rect_lidar`` (4, 4): from the LiDAR to the rectified camera, whose frame labels are in."""
        rectify = np.eye(4)
        rectify[:3, :3] = self.rectification
        return rectify @ self.T_camera_lidar

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixels (n, 2) and depths (n,) in metres of points (n, 3) in the LiDAR's frame.

        What lies nearer than `NEAR_M`, or behind the camera, has NaN for pixels.
        """
        return self._project_rectified(transform(self.T_rect_lidar, np.asarray(points, np.float64)))

    def _project_rectified(self, points: Array) -> tuple[Array, Array]:
        seen = np.column_stack([points, np.ones(len(points))]) @ self.projections[2].T
        depth = np.where(points[:, 2] >= NEAR_M, seen[:, 2], np.nan)
        return seen[:, :2] / depth[:, None], points[:, 2]

    def is_inside(self, pixels: Array) -> Array:
        """Whether each of pixels (n, 2) is in the image."""
        width, height = self.size_px
        return np.asarray(((pixels >= 0) & (pixels <= [width - 1, height - 1])).all(axis=1))

    def find_image_boxes(self, boxes: Boxes) -> ImageBoxes:
        """The outlines of boxes in the LiDAR's frame: those of their corners, the parts behind the camera cut off."""
        edges, truncation = np.full((len(boxes), 4), np.nan), np.ones(len(boxes))
        last = np.array(self.size_px) - 1
        for at in range(len(boxes)):
            pixels = self._project_rectified(self._cut_corners(boxes, at))[0]
            if not len(pixels):
                continue
            low, high = pixels.min(axis=0), pixels.max(axis=0)
            shown = np.clip([low, high], 0, last)
            area, whole = np.prod(shown[1] - shown[0]), np.prod(high - low)
            if area > 0:
                edges[at], truncation[at] = shown.ravel(), max(0.0, 1.0 - area / whole)
        return ImageBoxes(edges, truncation)

    def _cut_corners(self, boxes: Boxes, at: int) -> Array:
        """Corners (m, 3) of a box in the rectified frame; edges that pass the camera end at `NEAR_M` before it."""
        c, s = np.cos(boxes.yaw[at]), np.sin(boxes.yaw[at])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        corners = transform(self.T_rect_lidar, (_CORNERS * boxes.size[at]) @ turn.T + boxes.centre[at])
        begin, end = corners[_EDGES[:, 0]], corners[_EDGES[:, 1]]
        passes = (begin[:, 2] < NEAR_M) != (end[:, 2] < NEAR_M)
        begin, end = begin[passes], end[passes]
        share = (NEAR_M - begin[:, 2]) / (end[:, 2] - begin[:, 2])
        cut = begin + share[:, None] * (end - begin)
        cut[:, 2] = NEAR_M  # whatever rounding made of it
        return np.concatenate([corners[corners[:, 2] >= NEAR_M], cut])


def _default() -> KittiCamera:
    """KITTI's own cameras, as calibrated on 2011-09-26: P0 to P3 of most frames of the object benchmark.

    The camera is put where the LiDAR is, with its axes along the LiDAR's.
    """
    projections = np.zeros((4, 3, 4))
    projections[:, :, :3] = [[721.5377, 0.0, 609.5593], [0.0, 721.5377, 172.854], [0.0, 0.0, 1.0]]
    projections[:, 0, 3] = 0.0, -387.5744, 44.85728, -339.5242
    projections[:, 1, 3] = 0.0, 0.0, 0.2163791, 2.199936
    projections[:, 2, 3] = 0.0, 0.0, 0.002745884, 0.002729905
    return KittiCamera(projections, np.eye(3), poses.T_CAMERA_LIDAR, (1242, 375))


DEFAULT_CAMERA = _default()


def read_camera(path: str | Path) -> KittiCamera:
    """The cameras in a calibration file, or in a folder that holds ``calib.txt`` or ``calib_cam_to_cam.txt``.

    Where a file does not say how large its images are, they are as large as those of `DEFAULT_CAMERA`.
    """
    path = Path(path)
    if path.is_dir():
        names = ("calib_cam_to_cam.txt", "calib.txt")
        found = next((path / name for name in names if (path / name).is_file()), None)
        if found is None:
            raise ResweepError(f"{path}: has neither {' nor '.join(names)}; give a calibration of KITTI")
        path = found
    fields = read_fields(path)
    if "P_rect_02" in fields:
        return _read_raw(path, fields)
    projections = np.stack([_take(path, fields, (f"P{at}",), (3, 4)) for at in range(4)])
    if projections[2, 0, 0] == 1.0:
        raise ResweepError(f"{path}: P2 has a focal length of one pixel, which is no camera; give another calibration")
    rectified = "R0_rect" not in fields and "R_rect" not in fields
    rectify = np.eye(3) if rectified else _take(path, fields, ("R0_rect", "R_rect"), (3, 3))
    Tr = pose_from_matrix(_take(path, fields, ("Tr_velo_to_cam", "Tr_velo_cam", "Tr"), (3, 4)), f"{path}, Tr")
    return KittiCamera(projections, rectify, Tr, DEFAULT_CAMERA.size_px)


def read_fields(path: Path) -> dict[str, list[float]]:
    """The numbers of a calibration file by name; KITTI's tracking benchmark leaves out some of the colons."""
    fields: dict[str, list[float]] = {}
    for line in read_text(path, "a calibration of KITTI").splitlines():
        name, *words = line.replace(":", " ", 1).split() or [""]
        try:
            fields[name] = [float(word) for word in words]
        except ValueError:  # a date
            continue
    return fields


def _read_raw(path: Path, fields: dict[str, list[float]]) -> KittiCamera:
    """The cameras of a raw drive."""
    beside = path.with_name("calib_velo_to_cam.txt")
    lidar = read_fields(beside)
    R, T = _take(beside, lidar, ("R",), (3, 3)), _take(beside, lidar, ("T",), (3, 1))
    width, height = _take(path, fields, ("S_rect_02",), (2,)).astype(int).tolist()
    projections = np.stack([_take(path, fields, (f"P_rect_0{at}",), (3, 4)) for at in range(4)])
    rectify = _take(path, fields, ("R_rect_00",), (3, 3))
    return KittiCamera(projections, rectify, pose_from_matrix(np.hstack([R, T]), str(beside)), (width, height))


def _take(path: Path, fields: dict[str, list[float]], names: tuple[str, ...], shape: tuple[int, ...]) -> Array:
    name = next((name for name in names if name in fields), names[0])
    values = fields.get(name, [])
    if len(values) != np.prod(shape) or not np.isfinite(values).all():
        raise ResweepError(f"{path}: no {name} of {np.prod(shape)} numbers; give a calibration of KITTI")
    return np.array(values).reshape(shape)
