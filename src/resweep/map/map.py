"""The map: a log turned into points, beams and labels around one origin. Every estimator starts from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from resweep.calibrate.calibrate import CalibrationResult, calibrate
from resweep.calibrate.checkpoint import pack_calibration, unpack_calibration
from resweep.calibrate.config import CalibrateConfig
from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, Group, LabelSet
from resweep.log import Log
from resweep.map.accumulate import accumulate_observed, find_mappable
from resweep.map.beams import Beams, BeamSource, LogBeams, extract_beams
from resweep.map.checkpoints import Checkpoints, pack_fields
from resweep.map.cloud import Cloud, Returns
from resweep.map.config import MapConfig
from resweep.pose import Array
from resweep.progress import begin_stage, track
from resweep.sweep import Sweep
from resweep.voxels import number_voxels
from resweep.work import Workers
from resweep.worlds import Layer, World
from resweep.worlds.observed import ObservedSpace

_CALIBRATING, _READING = "calibrating lasers", "reading sweeps"


@dataclass(frozen=True, eq=False, repr=False)
class Map:
    """The points of a log in a ``cloud``, the ``log`` that gives their beams, and what its ``labels`` mean.

    The log is calibrated, and sweeps are read from it one at a time: a map keeps no beams. A part of a map has no log
    but ``stored`` beams, and a map of points alone has neither. ``config`` says which returns the map holds.
    ``checkpoints`` keep finished steps of estimators. ``whole`` is the cloud that a selection was made from: the beams
    of all of its points show what is empty.
    ``calibration`` is that of the log's lasers, ``plane_residual_m`` the median distance of returns from local planes
    before and after it; None where the log is as recorded. ``observed`` is the space that the log's beams crossed.
    """

    cloud: Cloud
    labels: LabelSet = UNKNOWN_LABELS
    log: Log | None = None
    config: MapConfig = field(default_factory=MapConfig)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    progress: bool = False
    calibration: Calibration | None = None
    plane_residual_m: tuple[float, float] | None = None
    stored: BeamSource | None = None
    whole: Cloud | None = None
    observed: ObservedSpace | None = None

    @classmethod
    def from_log(
        cls,
        log: Log,
        config: MapConfig | None = None,
        calibration: CalibrateConfig | None = None,
        *,
        progress: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> Map:
        """The map of a log, whose lasers and poses are first corrected if ``calibration`` settings are given."""
        config, kept = config or MapConfig(), checkpoints or Checkpoints()
        labels = config.choose_labels(log)
        found = calibrate_log(log, config, calibration, progress, kept)
        log = log if found is None else found.log
        begin_stage(_READING)
        cloud, observed = kept.run(
            "accumulate", lambda: accumulate_observed(log, config, progress), _pack_accumulated, _unpack_accumulated
        )
        bare = cls(cloud, labels, log, config, kept, progress, observed=observed)
        return (
            bare
            if found is None
            else replace(bare, calibration=found.calibration, plane_residual_m=found.plane_residual_m)
        )

    @staticmethod
    def list_stages(log: Log, calibration: CalibrateConfig | None) -> tuple[str, ...]:
        """The stages of `from_log`, as its progress names them."""
        calibrates = calibration is not None and len(log) > 1 and log.poses_known
        return (_CALIBRATING, _READING) if calibrates else (_READING,)

    def __len__(self) -> int:
        return len(self.cloud)

    def __repr__(self) -> str:
        sweeps = "no log" if self.log is None else f"{len(self.log)} sweeps of '{self.log.name}'"
        return f"Map({len(self):,} points, {sweeps}, labels {self.labels.name})"

    @property
    def origin(self) -> Array:
        """Where the cloud's coordinates are counted from (3,) float64, in the world."""
        return self.cloud.origin

    @property
    def labelled(self) -> bool:
        """Whether points bear labels of a known meaning."""
        return self.labels.known and self.cloud.has_labels

    @property
    def groups(self) -> Array:
        """The `Group` (n,) int8 of each point by its label, UNKNOWN where it has none."""
        if not self.labelled:
            return np.full(len(self), Group.UNKNOWN, np.int8)
        return self.labels.group(self.cloud.label)

    @property
    def beam_slope(self) -> float:
        """Width of the beams at 1 m, metres: that of the log's sensor, 0 where the sensor is unknown."""
        return 0.0 if self.log is None and self.stored is None else self.beam_source.slope

    @property
    def beam_log(self) -> Log:
        """The log that gives the beams; an error for a map of points alone."""
        if self.log is None:
            raise ResweepError("map: has points but no log, so its beams are unknown; make it with Map.from_log")
        return self.log

    @property
    def beam_source(self) -> BeamSource:
        """What gives the beams: those stored, or else those of the log."""
        return self.stored or LogBeams(self.beam_log, self.origin, self.config, self.labels)

    def beam_blocks(self, what: str, empty_range_m: float) -> Iterator[Beams]:
        """The beams block by block, with progress of ``what``; those without return end at ``empty_range_m``."""
        return self.beam_source.blocks(what, empty_range_m, self.progress)

    def sweeps(self, what: str) -> Iterator[Sweep]:
        """The sweeps of the log, one at a time, with progress of ``what``: one pass over the recording."""
        return track(self.beam_log, what, show=self.progress)

    def beams(self, sweep: Sweep, empty_range_m: float) -> Beams:
        """The beams of a sweep around the map's origin; those without return end at ``empty_range_m``."""
        return extract_beams(sweep, self.origin, find_mappable(sweep, self.config, self.labels), empty_range_m)

    def returns(self) -> Returns:
        """The beams that measured the points of the map, of all of them also where this is a selection.

        Stored ones are those that cross this part of the map, wherever they ended.
        """
        if self.stored is None:
            return (self.whole or self.cloud).returns
        origins, ends = [np.zeros((0, 3), np.float32)], [np.zeros((0, 3), np.float32)]
        for beams in self.beam_blocks("following beams", np.inf):
            counts = beams.returned & beams.clear
            if not counts.all():
                beams = beams[np.flatnonzero(counts)]
            origins.append(beams.origin)
            ends.append(beams.ends)
        origin = np.concatenate(origins)
        return Returns(origin, np.concatenate(ends), np.ones(len(origin), bool))

    def select(self, rows: Array) -> Map:
        """The map of some of its points: ``rows`` are their numbers, or (n,) bool."""
        return replace(self, cloud=self.cloud[rows], whole=self.whole or self.cloud)

    def with_cloud(self, cloud: Cloud) -> Map:
        """The map with other points, which the same log's beams belong to."""
        return replace(self, cloud=cloud)

    def thinned(self, size_m: float) -> Map:
        """The map with one point, the mean, for the points of one label in each cell of side ``size_m``."""
        cloud = self.cloud.merged(number_voxels(self.cloud.points, size_m, self.cloud.label))
        return replace(self, cloud=cloud, whole=self.whole or self.cloud)

    def select_sweeps(self, sweeps: Sequence[int]) -> Map:
        """The map of what some of its sweeps saw, in ascending order, with their beams. It keeps no checkpoints."""
        cloud = self.cloud[np.flatnonzero(np.isin(self.cloud.sweep, sweeps))]
        bare = replace(self, cloud=cloud, checkpoints=Checkpoints(), whole=None)
        if self.stored is not None:
            return replace(bare, stored=self.stored.select(np.asarray(sweeps)))
        cloud = replace(cloud, sweep=np.searchsorted(sweeps, cloud.sweep).astype(np.int32))
        return replace(bare, cloud=cloud, log=self.beam_log[list(sweeps)])

    def world(self, layers: Sequence[Layer], meta: Mapping[str, Any] | None = None) -> World:
        """A world of layers around the map's origin, which keeps the calibration and the meaning of its labels."""
        facts = dict(meta or {})
        if self.plane_residual_m is not None:
            facts["plane_residual_m"] = list(self.plane_residual_m)
        facts["points"] = len(self)
        known: dict[str, Any] = {"calibration": self.calibration, "observed": self.observed}
        return World(layers, self.origin, facts, self.labels, **known, map_filter=self.config.filter(self.labels))


_OBSERVED = "observed."


def _pack_accumulated(accumulated: tuple[Cloud, ObservedSpace | None]) -> dict[str, Array]:
    cloud, space = accumulated
    observed = {} if space is None else {_OBSERVED + name: values for name, values in space.pack().items()}
    return {**pack_fields(cloud), **observed}


def _unpack_accumulated(columns: dict[str, Array]) -> tuple[Cloud, ObservedSpace | None]:
    of_space = {name.removeprefix(_OBSERVED): columns.pop(name) for name in list(columns) if name.startswith(_OBSERVED)}
    return Cloud(**columns), ObservedSpace(**of_space) if of_space else None  # type: ignore[arg-type]  # numbers too


def calibrate_log(
    log: Log,
    config: MapConfig,
    calibration: CalibrateConfig | None,
    progress: bool,
    checkpoints: Checkpoints,
    workers: Workers | None = None,
) -> CalibrationResult | None:
    """The log with its lasers and poses corrected, as a step that is kept; None where it stays as recorded.

    ``workers`` refine the windows of a long log (default: this process).
    """
    if calibration is None or len(Map.list_stages(log, calibration)) < 2:
        return None
    begin_stage(_CALIBRATING)
    labels = config.choose_labels(log)

    def unpack(columns: dict[str, Array]) -> CalibrationResult:
        return unpack_calibration(log, columns)

    keep = partial(find_mappable, config=config, labels=labels)
    return checkpoints.run(
        "calibrate", lambda: calibrate(log, calibration, keep, progress, workers), pack_calibration, unpack
    )
