"""Settings of splats, surfels and splats of what moves, with the papers' values as defaults."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from resweep.build.settings.base import BuildConfig
from resweep.config import NotNegative, Positive, Share, Spec
from resweep.errors import SettingsError
from resweep.map.config import ReflectanceConfig
from resweep.quantities import CellSize, CellSizeOrNone

# Points of more sweeps lie closer than the noise of ranges; cells make half as many splats (docs/decisions/0023).
LONG_SWEEPS = 40  # of a map, above which its points are thinned
LONG_THIN_M = 0.03  # side of the cells


class GroupFactors(Spec):
    """What multiplies K, R̄ and ε̄ on the points of a group (C, 3.2)."""

    k: Positive
    radius: Positive
    bound: Positive


class CarveConfig(Spec):
    """How splats are cut back by the beams that passed through them (`splats.carve`).

    In each of ``rounds`` (0: none), a beam passes through a splat that it hits more than ``margin_m +
    margin_per_m · range`` before its return. A splat that more beams passed than it stopped, times ``ratio``,
    is cut back to the nearest of them, and left out once smaller than ``radius_min_m``. The linear group has a
    ratio of its own: poses that are off by a pole's width would cut it away.
    """

    rounds: Annotated[int, Field(ge=0, le=20)] = 12
    margin_m: Positive = 0.15
    margin_per_m: Share = 0.0
    ratio: NotNegative = 0.1
    ratio_linear: NotNegative = 2.0
    radius_min_m: NotNegative = 0.005


class CloseConfig(Spec):
    """How the gaps between rings are closed by wider splats (`splats.close`).

    The cloud is thinned to one point in each cell, of side ``cell_m`` on the first of ``levels`` (0: none) and twice as
    wide on each further one, as far as neighbourhoods of four cells reach no farther than ``radii`` times R̄. So the
    widest splats follow the density of the recording, and what is closed depends on points within the margin of a
    tile. Splats grow over the ``k`` nearest of the thinned points where these are a plane to ``flat_m`` in standard
    deviation, and stop at normals with a cosine of ``beta`` or less. A splat is kept if, of eight places around its
    centre, finer splats cover ``covered`` at most.

    With ``only`` at ``ground``, as for clouds, which have no rings, ground alone is closed: by a disc on each cell of a
    raster that holds ground and lies between such cells (`splats.lowest_ground`), of the same sides and as often.
    Without labels of ground, it is found from the lowest points of the raster.
    """

    only: Literal["surfaces", "ground"] = "surfaces"
    levels: Annotated[int, Field(ge=0, le=6)] = 5
    cell_m: CellSize = 0.125
    radii: Annotated[float, Field(gt=0.0, le=20.0)] = 8.0
    k: Annotated[int, Field(ge=5, le=200)] = 24
    flat_m: Positive = 0.05
    beta: Annotated[float, Field(ge=-1.0, lt=1.0)] = 0.9
    covered: Annotated[int, Field(ge=0, le=8)] = 6


class SplatSettings(Spec):
    """How splats grow over a map (C, section 3), whatever the map.

    ``method``: ``basic`` (3.1), adapted by ``labels`` (3.2) or by local ``descriptors`` (3.3); ``auto`` takes
    labels if the log has them and their vocabulary is known. ``k`` is K; ``alpha`` discards seeds near a splat's
    centre; ``beta`` is the smoothness below which growing stops; ``bound_min_m`` is the least ε̄, for maps without
    noise. With ``thin_m`` above 0 the points in each cell of that side become one, their mean; 0 thins never. None
    chooses: maps of more than `LONG_SWEEPS` sweeps are thinned to `LONG_THIN_M`, as the mean of so many readings tells
    as much, with half of the splats. Hybrid maps of fewer are thinned where the sensor stood still: there a point's
    neighbours are the same beam's other readings, which lie along it. ``resample`` (not of basic splats) and
    ``denoise`` are those of 3.4. ``depth`` and ``gap_m`` say how a ray blends overlapping splats
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
    thin_m: CellSizeOrNone | None = None
    ground: GroupFactors = GroupFactors(k=3.0, radius=3.0, bound=3.0)
    surface: GroupFactors = GroupFactors(k=1.0, radius=1.0, bound=3.0)
    linear: GroupFactors = GroupFactors(k=0.5, radius=1.0, bound=1.0)
    non_surface: GroupFactors = GroupFactors(k=1.0, radius=1.5, bound=3.0)
    planar: GroupFactors = GroupFactors(k=2.0, radius=2.0, bound=3.0)
    resample: bool = False
    denoise: bool = True
    depth: Annotated[int, Field(ge=1, le=8)] = 8
    gap_m: Positive = 0.2
    close: CloseConfig = CloseConfig()
    carve: CarveConfig = CarveConfig()

    @model_validator(mode="after")
    def _basic_is_not_resampled(self) -> SplatSettings:
        if self.method == "basic" and self.resample:
            raise SettingsError(
                "resample", "basic splats are not resampled; leave it out, or take labels or descriptors"
            )
        return self


class SplatConfig(BuildConfig, SplatSettings):
    """A world of splats: how they grow (`SplatSettings`), on which map, and how bright they are."""

    reflectance: ReflectanceConfig = ReflectanceConfig()

    @property
    def can_be_tiled(self) -> bool:
        """Always: a disc depends on what is around it only."""
        return True


class SurfelConfig(BuildConfig):
    """Surfels of one size: one point a voxel, a disc on each (D, section 3.1).

    ``radius_m`` is not given by D; the default is the half diagonal of the voxel's face times √2, at which
    the discs of neighbouring voxels of a plane overlap.
    """

    refinable: ClassVar[bool] = False

    voxel_m: CellSize = 0.04
    normal_radius_m: CellSize = 0.2
    max_neighbours: Annotated[int, Field(ge=3, le=1000)] = 200
    radius_m: CellSize = 0.04
    reflectance: ReflectanceConfig = ReflectanceConfig()

    @property
    def can_be_tiled(self) -> bool:
        """Always: a disc depends on what is around it only."""
        return True


class DynamicConfig(Spec):
    """Splats of what moves, frame by frame (C, 6.3.4; `splats.dynamic`).

    One splat of ``radius_m`` a point, "equal to their average point-to-point distance". Normals are those of the
    ``normal_k`` nearest points of the same frame within ``normal_radius_m``, of which C says nothing. ``depth`` and
    ``gap_m`` as in `SplatSettings`, here with C's values; ``ego_radius_m`` and ``labels`` as in `MapConfig`.
    """

    radius_m: CellSize = 0.14
    normal_k: Annotated[int, Field(ge=4, le=200)] = 12
    normal_radius_m: CellSize = 0.5
    depth: Annotated[int, Field(ge=1, le=8)] = 5
    gap_m: Positive = 0.1
    ego_radius_m: NotNegative = 3.0
    labels: str = "auto"
    reflectance: ReflectanceConfig = ReflectanceConfig()


def paper_c(**options: Any) -> SplatConfig:
    """The settings of paper C to the letter: its factors (3.2), resampling, no closing of gaps and no carving."""
    given: dict[str, Any] = {
        "surface": GroupFactors(k=1.0, radius=1.0, bound=1.0),
        "linear": GroupFactors(k=0.33, radius=0.33, bound=0.33),
        "non_surface": GroupFactors(k=0.25, radius=0.25, bound=0.25),
        "planar": GroupFactors(k=2.0, radius=2.0, bound=2.0),
        "resample": options.get("method") != "basic",
        "close": CloseConfig(levels=0),
        "carve": CarveConfig(rounds=0),
    }
    return SplatConfig(**{**given, **options})
