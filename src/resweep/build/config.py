"""What a build is told: which map to accumulate and how to cover it, with the papers' values as defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from resweep.sensors.explain import Spec

Positive = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class VisibilityConfig(Spec):
    """When a point counts as seen through, and hence as moving (`resweep.build.moving`).

    A beam passes through a point if all that was measured around its direction, within the cell of
    ``cell_deg`` and its eight neighbours, is farther by ``margin_m + margin_per_m · range``. A point is
    moving if at least ``passes`` sweeps pass through it, and more than confirm it times ``ratio``.
    """

    cell_deg: Annotated[float, Field(gt=0.05, le=5.0)] = 0.75
    margin_m: Positive = 0.4
    margin_per_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.02
    passes: Annotated[int, Field(ge=1)] = 1
    ratio: Annotated[float, Field(ge=0.0)] = 1.0


class MapConfig(Spec):
    """Which points of a log make the map.

    ``ego_radius_m`` leaves out returns nearer to the sensor than that, ``ego_box_m`` those in a box
    (x0, y0, z0, x1, y1, z1) of the sensor's frame: the recording vehicle itself. ``range_max_m`` leaves out
    what is farther (0: nothing). ``moving`` says how moving objects are told: by label, by annotated boxes,
    by what later beams see through, or not at all; ``auto`` takes the first of these that the log allows.
    ``drop_movable`` also leaves out what stands but could move, such as parked cars, as C and D do.
    ``label_map`` names a label map (`resweep.build.groups`) or a YAML file; ``auto`` goes by the log's format.
    ``drop_labels`` are further labels to leave out.
    """

    ego_radius_m: Annotated[float, Field(ge=0.0)] = 3.0
    ego_box_m: tuple[float, float, float, float, float, float] | None = None
    range_max_m: Annotated[float, Field(ge=0.0)] = 0.0
    moving: Literal["auto", "labels", "boxes", "visibility", "none"] = "auto"
    drop_movable: bool = False
    drop_outliers: bool = True
    drop_unlabelled: bool = False
    drop_labels: tuple[int, ...] = ()
    label_map: str = "auto"
    visibility: VisibilityConfig = VisibilityConfig()


class CalibrateConfig(Spec):
    """How poses and lasers are refined (`resweep.build.calibrate`); lengths in metres, angles in radians.

    Up to ``sweeps`` sweeps with ``points_per_sweep`` returns each, nearer than ``range_max_m``, take part. In
    each of ``iterations``, ``samples`` of them look at their ``k`` nearest, within ``neighbour_radius_m``: they
    are a plane if their variance across it is below ``thickness_m``² and ``flatness`` times that along its short
    side, which is above ``breadth`` times that along its long side. It must also be thinner than
    ``thickness_per_misfit`` times the typical distance, or ``thickness_min_m`` if that is more. ``noise_m`` and
    ``huber_m`` weigh the distances; the priors say how large corrections are expected to be.
    """

    sweeps: Annotated[int, Field(ge=2)] = 100
    points_per_sweep: Annotated[int, Field(ge=1000)] = 60_000
    range_max_m: Positive = 60.0
    iterations: Annotated[int, Field(ge=1, le=50)] = 6
    samples: Annotated[int, Field(ge=1000)] = 40_000
    k: Annotated[int, Field(ge=8, le=200)] = 40
    neighbour_radius_m: Positive = 1.0
    thickness_m: Positive = 0.08
    flatness: Positive = 0.05
    breadth: Positive = 0.02
    thickness_min_m: Positive = 0.01
    thickness_per_misfit: Positive = 6.0
    noise_m: Positive = 0.02
    huber_m: Positive = 0.03
    elevation_prior_rad: Positive = 0.0017
    range_prior_m: Positive = 0.02
    turn_prior_rad: Positive = 0.002
    shift_prior_m: Positive = 0.02


class GroupFactors(Spec):
    """What multiplies K, R̄ and ε̄ on the points of a group (C, 3.2)."""

    k: Positive
    radius: Positive
    bound: Positive


class ReflectanceConfig(Spec):
    """How range and incidence are taken out of recorded intensities.

    ρ = I · (range / ``range_reference_m``)^``range_exponent`` / max(cos θ, ``cosine_min``)^``incidence_exponent``.
    The default range exponent is 0, as most spinning sensors compensate range themselves; a raw received
    power has 2. The diffuse law has an incidence exponent of 1. Values above 1 mean brighter than white.
    """

    range_exponent: Annotated[float, Field(ge=0.0, le=4.0)] = 0.0
    range_reference_m: Positive = 10.0
    incidence_exponent: Annotated[float, Field(ge=0.0, le=2.0)] = 1.0
    cosine_min: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1


class CarveConfig(Spec):
    """How splats are cut back by the beams that passed through them (`resweep.build.carve`).

    In each of ``rounds`` (0: none), a beam passes through a splat that it meets more than ``margin_m +
    margin_per_m · range`` before its return. A splat that more beams passed than it stopped, times ``ratio``,
    is cut back to the nearest of them, and left out once smaller than ``radius_min_m``. The linear group has a
    ratio of its own: poses that are off by a pole's width would cut it away.
    """

    rounds: Annotated[int, Field(ge=0, le=20)] = 6
    margin_m: Positive = 0.15
    margin_per_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    ratio: Annotated[float, Field(ge=0.0)] = 0.1
    ratio_linear: Annotated[float, Field(ge=0.0)] = 2.0
    radius_min_m: Annotated[float, Field(ge=0.0)] = 0.005


class SplatConfig(Spec):
    """Splats that grow over the map (C, section 3).

    ``method``: ``basic`` (3.1), adapted by ``labels`` (3.2) or by local ``descriptors`` (3.3); ``auto`` takes
    labels if the log has them. ``k`` is K; ``alpha`` discards seeds near a splat's centre; ``beta`` is the
    smoothness below which growing stops; ``bound_min_m`` is the least ε̄, for maps without noise. ``resample``
    and ``denoise`` are those of 3.4. ``depth`` and ``gap_m`` say how a ray blends overlapping splats
    (`resweep.worlds.Splats`).

    The factors of ground are C's; the others, no resampling and `carve` do better on held-out sweeps of
    SemanticKITTI 00 and 03, in maps of nine sweeps, far sparser than C's: with C's factors (`paper_c`) half
    of the poles' and of the leaves' beams fall through, and resampling gave as good a world of 1.7 times the
    splats.
    """

    method: Literal["auto", "basic", "labels", "descriptors"] = "auto"
    k: Annotated[int, Field(ge=4, le=500)] = 40
    alpha: Share = 0.2
    beta: Annotated[float, Field(ge=-1.0, lt=1.0)] = 0.6
    bound_min_m: Positive = 0.01
    ground: GroupFactors = GroupFactors(k=3.0, radius=3.0, bound=3.0)
    surface: GroupFactors = GroupFactors(k=1.0, radius=1.0, bound=3.0)
    linear: GroupFactors = GroupFactors(k=0.5, radius=1.0, bound=1.0)
    non_surface: GroupFactors = GroupFactors(k=1.0, radius=1.5, bound=3.0)
    planar: GroupFactors = GroupFactors(k=2.0, radius=2.0, bound=3.0)
    resample: bool = False
    denoise: bool = True
    depth: Annotated[int, Field(ge=1, le=8)] = 8
    gap_m: Positive = 0.2
    carve: CarveConfig = CarveConfig()
    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    reflectance: ReflectanceConfig = ReflectanceConfig()


class SurfelConfig(Spec):
    """Surfels of one size: one point a voxel, a disc on each (D, section 3.1).

    ``radius_m`` is not given by D; the default is the half diagonal of the voxel's face times √2, at which
    the discs of neighbouring voxels of a plane overlap.
    """

    voxel_m: Positive = 0.04
    normal_radius_m: Positive = 0.2
    max_neighbours: Annotated[int, Field(ge=3, le=1000)] = 200
    radius_m: Positive = 0.04
    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    reflectance: ReflectanceConfig = ReflectanceConfig()


class IcpConfig(Spec):
    """How the sweeps of one object are aligned (`resweep.build.coloured_icp`); Park et al. 2017 as D, 3.2 uses it.

    In each of ``rounds`` every sweep is registered to all others in ``iterations`` Gauss-Newton steps, with points
    paired within ``reach_m``, which halves each round down to ``reach_min_m``. ``geometric_share`` is σ of
    Park et al., 4.1, ``noise_m`` the typical misfit of a return to a plane. The priors say how far boxes are
    expected to be off: shift along and across (metres) and up, turn about z and tilt (radians). Normals and
    gradients come from the ``neighbours`` nearest points within ``normal_radius_m``. A sweep takes part with one
    point a voxel of ``voxel_m``, about ``points_per_sweep`` at most.
    """

    rounds: Annotated[int, Field(ge=1, le=50)] = 12
    iterations: Annotated[int, Field(ge=1, le=50)] = 6
    reach_m: Positive = 0.4
    reach_min_m: Positive = 0.1
    geometric_share: Share = 0.968
    noise_m: Positive = 0.03
    colour_noise: Positive = 0.2
    shift_prior_m: Positive = 0.15
    lift_prior_m: Positive = 0.05
    turn_prior_rad: Positive = 0.03
    tilt_prior_rad: Positive = 0.005
    neighbours: Annotated[int, Field(ge=5, le=200)] = 20
    normal_radius_m: Positive = 0.3
    voxel_m: Positive = 0.03
    points_per_sweep: Annotated[int, Field(ge=50)] = 1500


class ObjectConfig(Spec):
    """How objects are cut out of a log with annotated boxes (D, 3.2; `resweep.build.objects`).

    Returns in an object's box, grown by ``grow_m``, are taken in its own frame, without those less than
    ``ground_m`` above the ground around it. ``box_time`` says when the object was where its box is: when its
    ``returns`` were measured, as boxes drawn by people are, or at the ``sweep``'s timestamp. Objects with fewer
    than ``min_points`` returns are skipped, and those of whose outline less than ``min_known`` is known even from the
    side that shows most; ``categories`` names the only ones wanted (none: all). At most
    ``sweeps`` sweeps are used, those with most returns; of what is not rigid, such as people, only those within
    ``pose_window_s`` around the one with most.

    ``mirror``: ``auto`` mirrors what has two like sides if the mirrored returns lie within ``mirror_fit_m`` of
    the measured surface where they meet; mirrored points stay ``mirror_gap_m`` away from measured ones. ``icp``
    aligns the sweeps (null: as the boxes say). Points whose mean distance to their ``outlier_neighbours`` is
    more than ``outlier_sigmas`` standard deviations above the average are left out; the others are drawn onto the
    mean of what lies within ``smooth_radius_m`` (0: not), across the surface.

    Surfels are D's: one point a voxel, normals from neighbours. Their radius is ``radius_factor`` times the gap to
    the next scan line, within ``radius_min_m`` and ``radius_max_m``: a far object's lines lie decimetres apart,
    and discs of 4 cm would let every other ray through.
    """

    min_points: Annotated[int, Field(ge=10)] = 200
    min_known: Share = 0.3
    categories: tuple[str, ...] = ()
    grow_m: Annotated[float, Field(ge=0.0, le=2.0)] = 0.1
    ground_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.08
    range_max_m: Positive = 60.0
    box_time: Literal["returns", "sweep"] = "returns"
    sweeps: Annotated[int, Field(ge=1)] = 60
    pose_window_s: Positive = 0.3
    mirror: Literal["auto", "always", "never"] = "auto"
    mirror_fit_m: Positive = 0.08
    mirror_gap_m: Positive = 0.1
    icp: IcpConfig | None = IcpConfig()
    outlier_neighbours: Annotated[int, Field(ge=2, le=200)] = 12
    outlier_sigmas: Positive = 3.0
    smooth_radius_m: Annotated[float, Field(ge=0.0, le=0.5)] = 0.1
    voxel_m: Positive = 0.04
    normal_radius_m: Positive = 0.2
    max_neighbours: Annotated[int, Field(ge=3, le=1000)] = 200
    radius_factor: Positive = 0.6
    radius_min_m: Positive = 0.04
    radius_max_m: Positive = 0.15
    reflectance: ReflectanceConfig = ReflectanceConfig()


def paper_c(**options: Any) -> SplatConfig:
    """The settings of paper C to the letter: its factors, resampling, and no carving."""
    given: dict[str, Any] = {
        "surface": GroupFactors(k=1.0, radius=1.0, bound=1.0),
        "linear": GroupFactors(k=0.33, radius=0.33, bound=0.33),
        "non_surface": GroupFactors(k=0.25, radius=0.25, bound=0.25),
        "planar": GroupFactors(k=2.0, radius=2.0, bound=2.0),
        "resample": True,
        "carve": CarveConfig(rounds=0),
    }
    return SplatConfig(**{**given, **options})
