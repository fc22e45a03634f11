"""Symmetry: finds the mirror plane of a vehicle, so that its near side can stand for the far one (D, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.categories import Category
from resweep.objects.coloured_icp import Target, box_prior, make_target, measure_residuals, register
from resweep.objects.config import IcpConfig, ObjectConfig
from resweep.pose import Array, rotation_of, transform
from resweep.voxels import find_first_in_voxels

FLIP = np.array([1.0, -1.0, 1.0])
# Chosen by hand where a line names no source.
_FIXED_PRIOR = 1e-4  # of motions that do not change a mirror plane: shifts along it, a turn about its normal
_MAX_WALL_NORMAL_Z = 0.7  # |z| of a normal, below which a surface is a wall: steeper than about 45°
_MIN_WIDTH_SHARE = 0.8  # of the box's width
_MIN_FLANK_NORMAL_Y = 0.8  # |y| of a normal, above which a wall is a flank
_MAX_OVERHANG_M = 0.15  # how far an object may reach beyond its flank: a mirror, a wheel
_MIN_FITTING_SHARE = 0.75  # of the walls that must lie on their mirror image, for objects of several pieces
_OUTERMOST, _FLANK = 0.98, 0.75  # shares of the points below what counts as the width and as the flank of an object
_MIN_FLANK_SHARE = 0.05  # of the points, without which a side has no flank
_HALVINGS = 3  # of the reach


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Whether an object is to be mirrored; ``T_new_object`` (4, 4) moves its mirror plane to y = 0.

    ``share`` of the mirrored walls lie near measured ones, at a median distance of ``plane_residual_m``.
    """

    holds: bool
    T_new_object: Array
    share: float
    plane_residual_m: float


def find_symmetry(points: Array, colour: Array, category: Category, width_m: float, config: ObjectConfig) -> Symmetry:
    """Whether points (n, 3) in an object's frame are the same on both sides of its heading axis, and where that is.

    ``width_m`` is that of the box, which the mirrored points must fill.
    """
    none = Symmetry(False, np.eye(4), 0.0, float("nan"))
    if config.mirror == "never" or (config.mirror == "auto" and not category.symmetric):
        return none
    icp = config.icp or IcpConfig()
    rows = find_first_in_voxels(points, icp.voxel_m)
    thin, shade = points[rows], colour[rows]
    target = make_target(thin, shade, icp)
    if target is None:
        return Symmetry(config.mirror == "always", np.eye(4), 0.0, float("nan"))
    T = np.eye(4) if config.icp is None else _register_image(target, icp)
    # Measured with the wide reach, so that points that do not fit count too, and on walls: any roof fits its image.
    wall = np.abs(target.normal[:, 2]) < _MAX_WALL_NORMAL_Z
    residuals, partner = measure_residuals(transform(T, target.points[wall] * FLIP), target, icp.reach_m)
    residuals = residuals[wall[partner]]
    walls = max(int(wall.sum()), 1)
    share, residual = len(residuals) / walls, float(np.median(residuals)) if len(residuals) else 0.0
    fitting = float((residuals <= config.mirror_fit_m).sum()) / walls
    half = _invert_half(T)
    sideways = transform(half, target.points)[:, 1]
    fits = _is_as_wide(sideways, target.normal[:, 1], width_m) and (category.one_piece or fitting >= _MIN_FITTING_SHARE)
    holds = config.mirror == "always" or (fits and residual <= config.mirror_fit_m)
    return Symmetry(holds, half if holds else np.eye(4), share, residual)


def _is_as_wide(y: Array, normal_y: Array, width_m: float) -> bool:
    """Whether points at ``y`` (n,) from the mirror plane make an object of the right width once mirrored.

    Some boxes are shifted sideways by decimetres. The image of the near flank would then lie inside the object, or the
    object would be far narrower than its box.
    """
    if 2 * float(np.quantile(np.abs(y), _OUTERMOST)) < _MIN_WIDTH_SHARE * width_m:
        return False
    for side in (1.0, -1.0):
        flank = side * y[(np.abs(normal_y) > _MIN_FLANK_NORMAL_Y) & (side * y > 0)]
        if len(flank) <= _MIN_FLANK_SHARE * len(y):
            continue
        if np.quantile(-side * y, _OUTERMOST) > np.quantile(flank, _FLANK) + _MAX_OVERHANG_M:
            return False
    return True


def _register_image(target: Target, config: IcpConfig) -> Array:
    """The motion (4, 4) that brings the mirror image of a surface onto it."""
    tilt, _, turn, _, shift, _ = box_prior(config)
    # An error of the plane's place shows twice in the image, so the priors are doubled.
    prior = np.array([2 * tilt, _FIXED_PRIOR, 2 * turn, _FIXED_PRIOR, 2 * shift, _FIXED_PRIOR])
    T = np.eye(4)
    for halving in range(_HALVINGS):
        reach = max(config.reach_m / 2**halving, config.reach_min_m)
        T = register(target.points * FLIP, target.colour, target.normal * FLIP, target, T, prior, reach, config)
    return T


def _invert_half(T: Array) -> Array:
    """The motion H that makes the points symmetric: H⁻¹ · flip · H = T · flip, so that H = T^(-1/2)."""
    half = np.eye(4)
    half[:3, :3] = Rotation.from_rotvec(-0.5 * rotation_of(T).as_rotvec()).as_matrix()
    half[:3, 3] = -0.5 * T[:3, 3]
    return half
