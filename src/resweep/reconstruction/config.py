"""What a build is told: which map to accumulate and how to cover it, with the papers' values as defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from resweep.config import Positive, Share, Spec, SpecError
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.reconstruction.poses.config import CalibrateConfig


class VisibilityConfig(Spec):
    """When a point counts as seen through, and hence as moving (`map.moving`).

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
    ``label_map`` names a label map (`resweep.labels`) or a YAML file; ``auto`` goes by the log's format.
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

    def labels_of(self, log: Log) -> LabelSet:
        """What the label ids of a log mean: by ``label_map``, or as the log itself says."""
        return log.labels if self.label_map == "auto" else load_labels(self.label_map)


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
    """How splats are cut back by the beams that passed through them (`splats.carve`).

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
    smoothness below which growing stops; ``bound_min_m`` is the least ε̄, for maps without noise. With ``thin_m``
    above 0 the points in each cell of that side become one, their mean: where a sensor stood still, a point's
    neighbours are else the same beam's other readings, which lie along it. ``resample``
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
    thin_m: Annotated[float, Field(ge=0.0)] = 0.0
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


class DynamicConfig(Spec):
    """Splats of what moves, frame by frame (C, 6.3.4; `splats.dynamic`).

    One splat of ``radius_m`` a point, "equal to their average point-to-point distance". Normals are those of the
    ``normal_k`` nearest points of the same frame within ``normal_radius_m``, of which C says nothing. ``depth`` and
    ``gap_m`` as in `SplatConfig`, here with C's values; ``ego_radius_m`` and ``label_map`` as in `MapConfig`.
    """

    radius_m: Positive = 0.14
    normal_k: Annotated[int, Field(ge=4, le=200)] = 12
    normal_radius_m: Positive = 0.5
    depth: Annotated[int, Field(ge=1, le=8)] = 5
    gap_m: Positive = 0.1
    ego_radius_m: Annotated[float, Field(ge=0.0)] = 3.0
    label_map: str = "auto"
    reflectance: ReflectanceConfig = ReflectanceConfig()


class MeshConfig(Spec):
    """A triangle mesh over the map: the surface baselines of C (6.1.1) and A (V-C).

    ``method``: ``imls`` (C, eqs. 2 and 3), ``rimls`` (Öztireli 2009, which A uses), the same through MeshLab
    (``rimls-meshlab``, for small places: its grid spans the whole box) or screened ``poisson`` (Kazhdan 2013, through
    MeshLab). Normals come from the ``k`` nearest points, as for basic splats (C, 3.1).

    Both kinds of moving least squares are evaluated on a grid of ``voxel_m``. IMLS has σ of ``sigma_voxels`` and ends
    ``truncation_voxels`` from the nearest point. RIMLS has a kernel that ends at ``kernel_m``; ``sigma_normal`` is how
    far a normal may be from the surface's before it counts little, in ``refits`` rounds (0: plain IMLS with that
    kernel). A takes voxels of 1 cm and a kernel of 4 cm for targets close by, 30 and 40 cm for a drive; the
    default keeps C's voxels and the first ratio.

    Poisson's octree has cells of ``cell_m``, or as deep as ``depth_max`` allows, and ``samples_per_node``. Faces
    farther than ``trim_m`` from every point are cut off, in place of C's trimming by density.
    """

    method: Literal["imls", "rimls", "rimls-meshlab", "poisson"] = "imls"
    k: Annotated[int, Field(ge=4, le=500)] = 40
    voxel_m: Positive = 0.07
    sigma_voxels: Annotated[float, Field(gt=0.0, le=10.0)] = 2.0
    truncation_voxels: Annotated[float, Field(ge=1.0, le=10.0)] = 3.0
    kernel_m: Positive = 0.28
    sigma_normal: Positive = 0.75
    refits: Annotated[int, Field(ge=0, le=20)] = 2
    cell_m: Positive = 0.035
    depth_max: Annotated[int, Field(ge=5, le=14)] = 13
    samples_per_node: Positive = 2.0
    trim_m: Positive = 0.3
    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    reflectance: ReflectanceConfig = ReflectanceConfig()

    @model_validator(mode="after")
    def _kernel_spans_voxels(self) -> MeshConfig:
        if self.method.startswith("rimls") and not 1.0 <= self.kernel_m / self.voxel_m <= 10.0:
            raise SpecError("kernel_m", f"{self.kernel_m:g} m is not 1 to 10 voxels of {self.voxel_m:g} m")
        return self


class VolumeConfig(Spec):
    """Permeable volumes (A, section III).

    ``method``: regular ``voxels`` of side ``voxel_m``, recursive two-means (``top-down``) until less than twice
    ``leaf_points`` are left or, with ``gaussian_z`` above 0, the points look Gaussian; or cells of ``seed_m`` that
    merge (``bottom-up``) while at least ``density_ratio`` times as dense as their parts and no longer than
    ``size_max_m``; or one volume for each voxel around its ``neighbours`` nearest points within
    ``neighbour_radius_m``, which is as wide as the map is sparse (ours, not A's). ``split_labels`` keeps labels
    apart. `fit_gaussians` says what ``min_points`` and ``noise_m`` do. Beams meet a volume
    within ``tau``; those without return count up to ``empty_range_m``. ``permeability``: ``constant`` is A's,
    ``extinction`` takes out path length and the width of the beam, against leaves of ``element_m``
    (`resweep.worlds.Volumes`). ``prior_beams`` beams of ``prior_permeability`` are added to those counted. In each of
    ``rounds``, the permeability is matched to what simulated beams show (`matched`).
    """

    method: Literal["voxels", "top-down", "bottom-up", "neighbours"] = "voxels"
    voxel_m: Positive = 0.3
    leaf_points: Annotated[int, Field(ge=2)] = 20
    gaussian_z: Annotated[float, Field(ge=0.0)] = 0.0
    seed_m: Positive = 0.1
    density_ratio: Positive = 0.8
    size_max_m: Positive = 1.0
    neighbours: Annotated[int, Field(ge=3, le=200)] = 6
    neighbour_radius_m: Positive = 0.3
    split_labels: bool = True
    min_points: Annotated[int, Field(ge=1)] = 5
    noise_m: Positive = 0.02
    tau: Positive = 2.0
    empty_range_m: Positive = 80.0
    permeability: Literal["constant", "extinction"] = "constant"
    element_m: Positive = 0.05
    prior_beams: Annotated[float, Field(ge=0.0)] = 0.0
    prior_permeability: Share = 0.5
    rounds: Annotated[int, Field(ge=0, le=50)] = 0
    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    reflectance: ReflectanceConfig = ReflectanceConfig()


class HybridConfig(Spec):
    """Splats and permeable volumes in one world (`hybrid.hybrid`): the default of `rs.build`.

    Points of the ``permeable`` groups become volumes, all others splats. Groups come from labels; where there are
    none, from C's descriptors, voted among ``vote_k`` neighbours. If that is a tenth of the points or more, the
    ``evidence`` of the beams is heard as well: by ``permeability`` what fewer than ``passed_min`` of the beams pass
    is no volume; by ``likelihood`` what foretells the beams of held-out sweeps better by ``gain_min`` is a volume,
    and nothing else is (`volumes_gain`; it takes longer than the rest of the build). Leave
    them out for descriptors alone. ``map``, ``calibrate`` and ``reflectance`` hold
    for both parts; those of ``splats`` and ``volumes`` are not looked at.
    """

    splats: SplatConfig = SplatConfig()
    volumes: VolumeConfig = VolumeConfig(method="neighbours", voxel_m=0.05, tau=2.5, permeability="extinction")
    permeable: tuple[Literal["ground", "surface", "linear", "non_surface"], ...] = ("non_surface", "linear")
    vote_k: Annotated[int, Field(ge=1, le=500)] = 20
    evidence: tuple[Literal["permeability", "likelihood"], ...] = ("permeability", "likelihood")
    passed_min: Share = 0.1
    gain_min: float = 1.0
    held_every: Annotated[int, Field(ge=2, le=100)] = 3
    vote_beams: Annotated[int, Field(ge=5, le=500)] = 60
    vote_m: Positive = 0.7
    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    reflectance: ReflectanceConfig = ReflectanceConfig()

    @property
    def splat_config(self) -> SplatConfig:
        """The splats' settings, with what holds for both parts."""
        return self.splats.model_copy(update={"map": self.map, "reflectance": self.reflectance})

    @property
    def volume_config(self) -> VolumeConfig:
        """The volumes' settings, with what holds for both parts."""
        return self.volumes.model_copy(update={"map": self.map, "reflectance": self.reflectance})


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
