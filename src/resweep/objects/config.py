"""Settings of the object bank, with the papers' values as defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resweep.config import Positive, Share, Spec
from resweep.map.config import ReflectanceConfig
from resweep.quantities import MAX_COUNT, CellSize


class IcpConfig(Spec):
    """How the sweeps of one object are aligned (`objects.coloured_icp`); Park et al. 2017 as D, 3.2 uses it.

    In each of ``rounds`` one Gauss-Newton step moves all sweeps at once, with points paired within ``reach_m``, which
    shrinks each round down to ``reach_min_m``; a mirror image is registered in up to ``iterations`` steps.
    ``geometric_share`` is σ of Park et al., 4.1, ``noise_m`` the typical distance of a return from its plane,
    ``colour_noise`` that of its colour. The priors are the expected errors of boxes: shift along and across
    (metres) and up, turn about z and tilt (radians). Normals and gradients come from the ``neighbours`` nearest points
    within ``normal_radius_m``. A sweep takes part with one point a voxel of ``voxel_m``, about ``points_per_sweep`` at
    most.
    """

    rounds: Annotated[int, Field(ge=1, le=50)] = 12
    iterations: Annotated[int, Field(ge=1, le=50)] = 6
    reach_m: CellSize = 0.4
    reach_min_m: CellSize = 0.1
    geometric_share: Share = 0.968
    noise_m: Positive = 0.03
    colour_noise: Positive = 0.2
    shift_prior_m: Positive = 0.15
    lift_prior_m: Positive = 0.05
    turn_prior_rad: Positive = 0.03
    tilt_prior_rad: Positive = 0.005
    neighbours: Annotated[int, Field(ge=5, le=200)] = 20
    normal_radius_m: CellSize = 0.3
    voxel_m: CellSize = 0.03
    points_per_sweep: Annotated[int, Field(ge=50, le=MAX_COUNT)] = 1500


class ObjectConfig(Spec):
    """How objects are cut out of a log with annotated boxes (D, 3.2; `resweep.objects.bank_building`).

    Returns in an object's box, grown by ``grow_m``, are taken in its own frame, without those less than
    ``ground_m`` above the ground around it. ``box_time`` is when the object was where its box is: when its
    ``returns`` were measured, as boxes drawn by people are, or at the ``sweep``'s timestamp. Objects with fewer
    than ``min_points`` returns are skipped, and those of whose outline less than ``min_known`` is known even from the
    side that shows most; ``categories`` names the only ones wanted (none: all). At most
    ``sweeps`` sweeps are used, those with most returns; of what is not rigid, such as people, only those within
    ``pose_window_s`` around the one with most.

    ``mirror``: ``auto`` mirrors objects with two equal sides if the mirrored returns lie within ``mirror_fit_m`` of
    the measured surface where both overlap; mirrored points stay ``mirror_gap_m`` away from measured ones. ``icp``
    aligns the sweeps (null: as the boxes say). Points whose mean distance to their ``outlier_neighbours`` is
    more than ``outlier_sigmas`` standard deviations above the average are left out; the others are moved onto the
    mean of what lies within ``smooth_radius_m`` (0: not), across the surface.

    Surfels are D's: one point a voxel, normals from neighbours. Their radius is ``radius_factor`` times the gap to
    the next scan line, within ``radius_min_m`` and ``radius_max_m``: a far object's lines lie decimetres apart,
    and rays would pass between discs of 4 cm.
    """

    min_points: Annotated[int, Field(ge=10, le=MAX_COUNT)] = 200
    min_known: Share = 0.3
    categories: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    grow_m: Annotated[float, Field(ge=0.0, le=2.0)] = 0.1
    ground_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.08
    range_max_m: Positive = 60.0
    box_time: Literal["returns", "sweep"] = "returns"
    sweeps: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 60
    pose_window_s: Positive = 0.3
    mirror: Literal["auto", "always", "never"] = "auto"
    mirror_fit_m: Positive = 0.08
    mirror_gap_m: Positive = 0.1
    icp: IcpConfig | None = IcpConfig()
    outlier_neighbours: Annotated[int, Field(ge=2, le=200)] = 12
    outlier_sigmas: Positive = 3.0
    smooth_radius_m: Annotated[float, Field(ge=0.0, le=0.5)] = 0.1
    voxel_m: CellSize = 0.04
    normal_radius_m: CellSize = 0.2
    max_neighbours: Annotated[int, Field(ge=3, le=1000)] = 200
    radius_factor: Positive = 0.6
    radius_min_m: Positive = 0.04
    radius_max_m: Positive = 0.15
    reflectance: ReflectanceConfig = ReflectanceConfig()
