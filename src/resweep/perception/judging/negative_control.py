"""The negative control: what a simulator gives that has boxes and CAD, one noiseless ray a beam and no drops.

The scene is made of the recording's own labelled points: a plane at the height of the road, a CAD car at each vehicle,
and boxes around all else. A judge should tell it from the recording; one that does not judges nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from resweep.labels import LabelSet, list_broader_categories
from resweep.perception.judging.clouds import JudgedCloud, SimulatedSweep, take_first_returns
from resweep.perception.judging.fitted_boxes import FittedBox, fit_box, fit_boxes
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.pose import Array
from resweep.scenes import Label, box, car, ground_plane, merged
from resweep.simulate import Retracer
from resweep.simulate.recorded_sensor import make_unknown_sensor
from resweep.sweep import Sweep
from resweep.voxels import find_cells, find_first_in_voxels, find_touching_cells
from resweep.worlds import Mesh, StreamedWorld, World

LABELLED = "boxes and CAD cars on a plane, made of the recording's labelled points"
UNLABELLED = "the world itself, since the recording has no labels to make boxes of"
NONE = "none: the recording has no labels to make boxes of, and no world was given"
_AROUND = 5  # sweeps before and after, whose points make the scene
_NEAR_M = 10.0  # a scene serves sweeps so near to where it was made
_VOXEL_M = 0.2
_CELL_M = 0.6  # of points of one vehicle, where vehicles have no numbers
_MIN_VEHICLE = 20  # points of a vehicle
_CAR_M = (4.3, 1.8, 1.5)  # length, width, height of a CAD car
_GROUND_M = 2000.0
_FIT_ROUNDS = 5


class NegativeControl:
    """Fires recorded beams at scenes made of labelled points or, where there are none, at a world."""

    def __init__(self, drive: JudgedDrive, labels: LabelSet, world: World | StreamedWorld | None, threads: int) -> None:
        self.drive, self.labels, self.world, self.threads = drive, labels, world, threads
        self._built: tuple[Array, Retracer | None] | None = None
        self.kind = NONE if world is None else UNLABELLED

    def fire(self, real: Sweep, number: int, placed: Sweep | None) -> JudgedCloud | None:
        """What one noiseless ray along each beam of sweep ``number`` returns; ``placed`` is the sweep in the world."""
        retracer = self._find_scene(number) if self.labels.known else None
        if retracer is None and self.world is not None:
            retracer = self._open(self.world)
        elif retracer is not None:
            self.kind, placed = LABELLED, real
        if retracer is None:
            return None
        fired = take_first_returns(retracer.sweep(real, number, placed))
        constant = np.float32(np.mean(real.intensity)) if len(real) else np.float32(0)
        level = replace(fired, intensity=np.full(len(fired), constant), trajectory=real.trajectory)
        return SimulatedSweep.pair(level, real).cloud

    def _open(self, world: World | StreamedWorld) -> Retracer:
        if self._built is None:
            self._built = np.full(3, np.inf), Retracer(world, make_unknown_sensor(), noise=False, threads=self.threads)
        retracer = self._built[1]
        assert retracer is not None
        return retracer

    def _find_scene(self, number: int) -> Retracer | None:
        """A scene around a sweep; None where its points have no labels to make one of."""
        place = self.drive.poses[number][:3, 3]
        if self._built is None or np.linalg.norm(self._built[0] - place) > _NEAR_M:
            world = self._make_scene(number)
            opened = (
                None if world is None else Retracer(world, make_unknown_sensor(), noise=False, threads=self.threads)
            )
            self._built = place, opened
        return self._built[1]

    def _make_scene(self, number: int) -> World | None:
        """The scene of the sweeps around one; sweeps of unknown poses make one each."""
        numbers = range(max(0, number - _AROUND), min(len(self.drive), number + _AROUND + 1))
        parts = [_take_points(self.drive.load(at)) for at in (numbers if self.drive.poses_known else [number])]
        points, label, instance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return make_box_scene(points, label, instance, self.labels, self.drive.poses[number][:3, 3])


def _take_points(sweep: Sweep) -> tuple[Array, Array, Array]:
    rows = find_first_in_voxels(sweep.deskewed(), _VOXEL_M)
    return sweep.world_points()[rows], sweep.label[rows], sweep.instance[rows]


def make_box_scene(points: Array, label: Array, instance: Array, labels: LabelSet, sensor: Array) -> World | None:
    """A plane, CAD cars and boxes at labelled points (n, 3) that were seen from ``sensor`` (3,); None without labels.

    What moves, outliers and points without a class make nothing.
    """
    kinds = {item: list_broader_categories(labels.category(item)) for item in np.unique(label).tolist()}
    left_out = (*labels.moving, *labels.outlier, *labels.unlabelled)
    used = {item: kind for item, kind in kinds.items() if item not in left_out and kind[0]}
    ground = np.isin(label, [item for item, kind in used.items() if "road" in kind])
    if not ground.any():
        ground = np.isin(label, [item for item, kind in used.items() if "ground" in kind])
    if np.count_nonzero(ground) < 3:
        return None
    origin = np.asarray(sensor, np.float64)
    near, slope = points - origin, _fit_plane(points[ground] - origin)
    parts = [_make_ground(slope)]
    vehicle = np.isin(label, [item for item, kind in used.items() if "vehicle" in kind])
    for rows in _split_vehicles(near[vehicle], instance[vehicle]):
        parts.append(_place_vehicle(near[vehicle][rows], slope))
    for item, kind in used.items():
        if "ground" in kind or "vehicle" in kind:
            continue
        mine = near[label == item]
        rows = find_first_in_voxels(mine, _VOXEL_M)
        parts += [_make_box(fitted) for fitted in fit_boxes(mine[rows])]
    return World([merged(parts, "boxes")], origin)


def _fit_plane(points: Array) -> Array:
    """Coefficients (3,) of z = a x + b y + c through points (n, 3), by those within two sigma of it."""
    inside: Array = np.ones(len(points), bool)
    found = np.zeros(3)
    for _ in range(_FIT_ROUNDS):
        given = np.column_stack([points[inside, :2], np.ones(np.count_nonzero(inside))])
        found = np.linalg.lstsq(given, points[inside, 2], rcond=None)[0]
        residual = points[:, 2] - points[:, :2] @ found[:2] - found[2]
        inside = np.abs(residual) <= 2.0 * max(float(residual[inside].std()), 0.02)
    return np.asarray(found)


def _make_ground(slope: Array) -> Mesh:
    plane = ground_plane((_GROUND_M, _GROUND_M), label=Label.ROAD)
    vertices = plane.vertices.astype(np.float64)
    vertices[:, 2] = vertices[:, :2] @ slope[:2] + slope[2]
    return Mesh(vertices, plane.faces, label=int(Label.ROAD), reflectance=0.3, name="ground")


def _split_vehicles(points: Array, instance: Array) -> list[Array]:
    """Rows of each vehicle: of one number or, without numbers, of cells that touch each other."""
    if not instance.any() and len(points):
        cells = find_cells(points, _CELL_M)
        cells, of_point = np.unique(cells, axis=0, return_inverse=True)
        first, second = find_touching_cells(cells).T
        graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(len(cells), len(cells)))
        instance = connected_components(graph, directed=False)[1][of_point.reshape(-1)] + 1
    numbers = np.unique(instance[instance > 0]).tolist()
    found = [np.flatnonzero(instance == number) for number in numbers]
    return [rows for rows in found if len(rows) >= _MIN_VEHICLE]


def _place_vehicle(points: Array, slope: Array) -> Mesh:
    """A CAD car on the plane where a vehicle is; a box where it is too large for a car.

    A vehicle that was seen from one side is longer than its points: the car reaches further on the far side.
    """
    fitted = fit_box(points)
    if fitted.size[0] > 1.5 * _CAR_M[0] or fitted.size[1] > 1.5 * _CAR_M[1]:
        return _make_box(fitted)
    yaw, size = fitted.yaw_rad, fitted.size
    if size[0] < 0.5 * _CAR_M[0]:  # its front or back alone was seen
        yaw, size = yaw + np.pi / 2, size[::-1]
    axes = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    hidden = np.maximum(np.array(_CAR_M[:2]) - size, 0.0)
    away = np.sign(axes @ fitted.centre)  # the sensor is at the origin
    x, y = fitted.centre + (away * hidden / 2.0) @ axes
    foot = float(np.array([x, y]) @ slope[:2] + slope[2])
    return car((float(x), float(y), foot), float(yaw), length_m=_CAR_M[0], width_m=_CAR_M[1], height_m=_CAR_M[2])


def _make_box(fitted: FittedBox) -> Mesh:
    (x, y), (length, width) = fitted.centre, fitted.size
    height = fitted.top_m - fitted.bottom_m
    return box((float(length), float(width), height), (float(x), float(y), fitted.bottom_m), fitted.yaw_rad)
