"""KITTI's cameras: how points become pixels, and the calibration files.

A point of the LiDAR is seen at ``P2 · R0_rect · Tr_velo_to_cam`` (KITTI object devkit, readme). Files are those of the
object and tracking benchmarks (one a frame or a sequence), of the odometry benchmark (``calib.txt``, already rectified)
and of raw drives (``calib_cam_to_cam.txt`` with ``calib_velo_to_cam.txt`` beside it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.config import read_text
from resweep.errors import InputError
from resweep.io import poses
from resweep.io.rigid import pose_from_matrix
from resweep.pose import Array, transform
from resweep.remote import find_path

_RAW = "calib_cam_to_cam.txt"
NEAR_M = 0.1  # what is nearer to the camera, or behind it, is not in its image
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = np.array([[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])


class ImageBoxes(NamedTuple):
    """Boxes (k,) as an image shows them.

    ``edges`` (k, 4) are left, top, right and bottom, in pixels from 0, of what the image shows of each. ``truncation``
    (k,) is the share of the outline of the whole box that lies beyond the borders; 1 and no edges (NaN) where the image
    shows nothing of it.
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
        return portable.matmul(rectify, self.T_camera_lidar)

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixels (n, 2) and depths (n,) in metres of points (n, 3) in the LiDAR's frame.

        What lies nearer than `NEAR_M`, or behind the camera, has NaN for pixels.
        """
        there = transform(self.T_rect_lidar, np.asarray(points, np.float64))
        seen = portable.matmul(np.column_stack([there, np.ones(len(there))]), self.projections[2].T)
        depth = np.where(seen[:, 2] >= NEAR_M, seen[:, 2], np.nan)
        return seen[:, :2] / depth[:, None], there[:, 2]

    def is_inside(self, pixels: Array) -> Array:
        """Whether each of pixels (n, 2) is in the image."""
        width, height = self.size_px
        return np.asarray(((pixels >= 0) & (pixels <= [width - 1, height - 1])).all(axis=1))

    def find_image_boxes(self, boxes: Boxes) -> ImageBoxes:
        """Boxes in the LiDAR's frame as the image shows them; what of them is behind the camera is cut off."""
        edges, truncation = np.full((len(boxes), 4), np.nan), np.ones(len(boxes))
        last = np.array(self.size_px) - 1
        before = np.array([[0.0, 0.0, 1.0, -NEAR_M]])
        borders = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [-1, 0, last[0], 0], [0, -1, last[1], 0]], float)
        for at in range(len(boxes)):
            faces = [clip_polygon(face, before) for face in self._project_faces(boxes, at)]
            shown = _find_outline([clip_polygon(face, borders) for face in faces])
            if shown is None or not (shown[1] > shown[0]).all():
                continue
            whole = _find_outline(faces)
            assert whole is not None  # the part that is shown is part of it
            within = np.clip(whole, 0, last)
            share = np.prod(within[1] - within[0]) / np.prod(whole[1] - whole[0])
            edges[at], truncation[at] = np.clip(shown, 0, last).ravel() + 0.0, min(max(0.0, 1.0 - share), 1.0 - 1e-9)
        return ImageBoxes(edges, truncation)

    def _project_faces(self, boxes: Boxes, at: int) -> Array:
        """The corners of a box's faces (6, 4, 3) in homogeneous pixels: u·w, v·w and w, the depth in metres."""
        c, s = math.cos(boxes.yaw[at]), math.sin(boxes.yaw[at])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        corners = transform(self.T_rect_lidar, portable.matmul(_CORNERS * boxes.size[at], turn.T) + boxes.centre[at])
        return np.asarray(portable.matmul(np.column_stack([corners, np.ones(8)]), self.projections[2].T)[_FACES])

    def to_dict(self) -> dict[str, list[float]]:
        """All its numbers, row by row."""
        columns = {"P": self.projections, "R0_rect": self.rectification, "Tr_velo_to_cam": self.T_camera_lidar[:3]}
        return {**{name: matrix.ravel().tolist() for name, matrix in columns.items()}, "size_px": list(self.size_px)}


def clip_polygon(corners: Array, planes: Array) -> Array:
    """The corners (m, 3) of a polygon (n, 3) cut by planes (k, 4), where a·x + b·y + c·z + d is at least zero."""
    for plane in planes:
        side = portable.matmul(corners, plane[:3]) + plane[3]
        after, side_after = np.roll(corners, -1, axis=0), np.roll(side, -1)
        kept: list[Array] = []
        for corner, following, here, there in zip(corners, after, side, side_after, strict=True):
            if here >= 0:
                kept.append(corner)
            if (here >= 0) != (there >= 0):
                kept.append(corner + here / (here - there) * (following - corner))
        corners = np.array(kept).reshape(-1, 3)
    return corners


def _find_outline(faces: list[Array]) -> Array | None:
    """Lowest and highest pixel (2, 2) of polygons in homogeneous pixels; None if nothing is left of them."""
    corners = np.concatenate(faces)
    if not len(corners):
        return None
    pixels = corners[:, :2] / corners[:, 2:]
    return np.stack([pixels.min(axis=0), pixels.max(axis=0)])


def _make_default() -> KittiCamera:
    """KITTI's own cameras, as calibrated on 2011-09-26: P0 to P3 of most frames of the object benchmark.

    The camera is put where the LiDAR is, with its axes along the LiDAR's.
    """
    projections = np.zeros((4, 3, 4))
    projections[:, :, :3] = [[721.5377, 0.0, 609.5593], [0.0, 721.5377, 172.854], [0.0, 0.0, 1.0]]
    projections[:, 0, 3] = 0.0, -387.5744, 44.85728, -339.5242
    projections[:, 1, 3] = 0.0, 0.0, 0.2163791, 2.199936
    projections[:, 2, 3] = 0.0, 0.0, 0.002745884, 0.002729905
    return KittiCamera(projections, np.eye(3), poses.T_CAMERA_LIDAR, (1242, 375))


DEFAULT_CAMERA = _make_default()


def read_camera(path: str | Path) -> KittiCamera:
    """The cameras in a calibration file, or in a folder that holds ``calib.txt`` or ``calib_cam_to_cam.txt``.

    Where a file has no image size, images are as large as those of `DEFAULT_CAMERA`.
    """
    path = find_path(path)
    if path.is_dir():
        names = (_RAW, "calib.txt")
        found = next((path / name for name in names if (path / name).is_file()), None)
        if found is None:
            raise InputError(f"{path}: has neither {' nor '.join(names)}; give a calibration of KITTI")
        path = found
    fields = read_fields(path)
    if "P_rect_02" in fields:
        return _read_raw(path, fields)
    projections = np.stack([_take(path, fields, (f"P{at}",), (3, 4)) for at in range(4)])
    if projections[2, 0, 0] == 1.0:
        raise InputError(f"{path}: P2 has a focal length of one pixel, which is no camera; give another calibration")
    rectified = "R0_rect" not in fields and "R_rect" not in fields
    rectify = np.eye(3) if rectified else _take(path, fields, ("R0_rect", "R_rect"), (3, 3))
    Tr = pose_from_matrix(_take(path, fields, ("Tr_velo_to_cam", "Tr_velo_cam", "Tr"), (3, 4)), f"{path}, Tr")
    return KittiCamera(projections, rectify, Tr, DEFAULT_CAMERA.size_px)


def find_camera(folder: Path) -> KittiCamera | None:
    """The cameras of the log in a folder of KITTI's; None if it has none, or only the identity.

    The calibration of a raw drive may lie in the folder of its date.
    """
    names = (folder / _RAW, folder / "calib.txt", folder.absolute().parent / _RAW)
    for file in names:
        if file.is_file():
            fields = read_fields(file)
            P2 = fields.get("P_rect_02") or fields.get("P2") or [1.0]
            return None if P2[0] == 1.0 else read_camera(file)
    return None


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


def read_T_rect_lidar(file: Path) -> Array:
    """``T_rect_lidar`` (4, 4) from a calibration file of the object or tracking benchmark: R0_rect · Tr_velo_to_cam."""
    if not file.is_file():
        raise InputError(f"{file}: missing; the boxes cannot be turned into the LiDAR's frame without")
    fields = read_fields(file)
    rectify = np.column_stack([_take(file, fields, ("R0_rect", "R_rect"), (3, 3)), np.zeros(3)])
    Tr = _take(file, fields, ("Tr_velo_to_cam", "Tr_velo_cam"), (3, 4))
    T_camera_lidar = pose_from_matrix(Tr, f"{file}, Tr_velo_to_cam")
    return portable.matmul(pose_from_matrix(rectify, f"{file}, R0_rect"), T_camera_lidar)


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
        raise InputError(f"{path}: no {name} of {np.prod(shape)} numbers; give a calibration of KITTI")
    return np.array(values).reshape(shape)
