"""Settings of a map: which points of a log it holds, and how intensities become reflectance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resweep.calibration import Calibration
from resweep.config import NotNegative, Positive, Share, Spec
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.map_filter import MapFilter


class VisibilityConfig(Spec):
    """When a point counts as seen through, and so as moving (`map.visibility`).

    A beam passes through a point if all that was measured around its direction, within the cell of
    ``cell_deg`` and its eight neighbours, is farther by ``margin_m + margin_per_m · range``. A point is
    moving if at least ``passes`` sweeps pass through it, and more than confirm it times ``ratio``.
    """

    cell_deg: Annotated[float, Field(gt=0.05, le=5.0)] = 0.75
    margin_m: Positive = 0.4
    margin_per_m: Share = 0.02
    passes: Annotated[int, Field(ge=1)] = 1
    ratio: NotNegative = 1.0


class MapConfig(Spec):
    """Which points of a log make the map.

    ``ego_radius_m`` leaves out returns nearer to the sensor than that, ``ego_box_m`` those in a box
    (x0, y0, z0, x1, y1, z1) of the sensor's frame: the recording vehicle itself. ``range_max_m`` leaves out
    what is farther (0: nothing). ``moving`` says how moving objects are found: by their label, by annotated boxes,
    by later beams that pass through them (``visibility``), or not at all (``none``); ``auto`` takes the first of these
    that the log allows. ``drop_movable`` also leaves out what stands but could move, such as parked cars, as C and D
    do. ``drop_labels`` are further labels to leave out. ``labels`` names a vocabulary (`resweep.labels`) or its YAML
    file; ``auto`` takes the log's own. Where the vocabulary is unknown, no label is moving, movable or an outlier.
    ``observed_voxel_m`` is the side of the voxels in which the world keeps what space beams crossed (0: not at all).
    """

    ego_radius_m: NotNegative = 3.0
    ego_box_m: tuple[float, float, float, float, float, float] | None = None
    range_max_m: NotNegative = 0.0
    moving: Literal["auto", "labels", "boxes", "visibility", "none"] = "auto"
    drop_movable: bool = False
    drop_outliers: bool = True
    drop_unlabelled: bool = False
    drop_labels: tuple[int, ...] = ()
    labels: str = "auto"
    visibility: VisibilityConfig = VisibilityConfig()
    observed_voxel_m: NotNegative = 0.5

    def choose_labels(self, log: Log) -> LabelSet:
        """What the label ids of a log mean, by the setting ``labels``."""
        return choose_labels(self.labels, log)

    def filter(self, labels: LabelSet) -> MapFilter:
        """The returns that the map leaves out, whose label ids are those of ``labels``."""
        unwanted = list(self.drop_labels)
        unwanted += labels.outlier if self.drop_outliers else ()
        unwanted += labels.unlabelled if self.drop_unlabelled else ()
        unwanted += labels.movable if self.drop_movable else ()
        unwanted += labels.moving if self.moving in ("auto", "labels") else ()
        return MapFilter(near_m=self.ego_radius_m, labels=tuple(dict.fromkeys(unwanted)))


class FalloffConfig(Spec):
    """How range is taken out of recorded intensities: ρ = I · (range / ``range_reference_m``)^``range_exponent``.

    The default exponent is 0, as most spinning sensors compensate range themselves; a raw received power has 2.
    """

    range_exponent: Annotated[float, Field(ge=0.0, le=4.0)] = 0.0
    range_reference_m: Positive = 10.0


class ReflectanceConfig(FalloffConfig):
    """How range and incidence are taken out of the intensities recorded on a surface.

    ρ = I · (range / ``range_reference_m``)^``range_exponent`` / max(cos θ, ``cosine_min``)^``incidence_exponent``.
    The diffuse law has an incidence exponent of 1. Values above 1 mean brighter than white. Many sensors compensate
    incidence in part: if no ``incidence_exponent`` is given, that of the sensor is estimated where lasers are
    calibrated (`Calibration.incidence_exponent`), and 1 taken where it is not known. Simulated light falls by the same
    law; with 0 recorded intensities count as reflectance of diffuse surfaces.
    """

    incidence_exponent: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    cosine_min: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1

    @property
    def exponent(self) -> float:
        """The power of the cosine that is taken out of recorded intensities."""
        return 1.0 if self.incidence_exponent is None else self.incidence_exponent

    @property
    def simulated_exponent(self) -> float:
        """The power of the cosine by which simulated light falls."""
        return self.exponent or 1.0

    def with_lasers(self, calibration: Calibration | None) -> ReflectanceConfig:
        """The settings with the exponent that a calibration has found, else the diffuse one, if none was given."""
        if self.incidence_exponent is not None:
            return self
        found = None if calibration is None else calibration.incidence_exponent
        return self.model_copy(update={"incidence_exponent": 1.0 if found is None else found})


def choose_labels(setting: str, log: Log) -> LabelSet:
    """The vocabulary that a setting names, or the log's own for ``auto``."""
    return log.labels if setting == "auto" else load_labels(setting)
