"""What a build is told: which map to accumulate and how to cover it, with the papers' values as defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resweep.sensors.explain import Spec

Positive = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


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
    visibility: VisibilityConfig = Field(default_factory=lambda: VisibilityConfig())


class VisibilityConfig(Spec):
    """When a point counts as seen through, and hence as moving (`resweep.build.moving`).

    A beam passes through a point if all that was measured around its direction, within the cell of
    ``cell_deg`` and its eight neighbours, is farther by ``margin_m + margin_per_m · range``. A point is
    moving if at least ``passes`` sweeps pass through it, and more than confirm it times ``ratio``.
    """

    cell_deg: Annotated[float, Field(gt=0.05, le=5.0)] = 0.5
    margin_m: Positive = 0.4
    margin_per_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.02
    passes: Annotated[int, Field(ge=1)] = 2
    ratio: Annotated[float, Field(ge=0.0)] = 1.0


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


class SplatConfig(Spec):
    """Splats that grow over the map (C, section 3).

    ``method``: ``basic`` (3.1), adapted by ``labels`` (3.2) or by local ``descriptors`` (3.3); ``auto`` takes
    labels if the log has them. ``k`` is K; ``alpha`` discards seeds near a splat's centre; ``beta`` is the
    smoothness below which growing stops. ``resample`` and ``denoise`` are those of 3.4.
    """

    method: Literal["auto", "basic", "labels", "descriptors"] = "auto"
    k: Annotated[int, Field(ge=4, le=500)] = 40
    alpha: Share = 0.2
    beta: Annotated[float, Field(ge=-1.0, lt=1.0)] = 0.6
    ground: GroupFactors = GroupFactors(k=3.0, radius=3.0, bound=3.0)
    surface: GroupFactors = GroupFactors(k=1.0, radius=1.0, bound=1.0)
    linear: GroupFactors = GroupFactors(k=0.33, radius=0.33, bound=0.33)
    non_surface: GroupFactors = GroupFactors(k=0.25, radius=0.25, bound=0.25)
    planar: GroupFactors = GroupFactors(k=2.0, radius=2.0, bound=2.0)
    resample: bool = True
    denoise: bool = True
    map: MapConfig = MapConfig()
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
    map: MapConfig = MapConfig(drop_movable=False)
    reflectance: ReflectanceConfig = ReflectanceConfig()


MapConfig.model_rebuild()
