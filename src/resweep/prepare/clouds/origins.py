"""Where each point of a cloud was measured from, by the best that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.prepare.clouds.cloud_pulses import Track, find_track, read_sources
from resweep.prepare.clouds.cloud_survey import Survey
from resweep.prepare.clouds.config import CloudConfig
from resweep.prepare.clouds.standpoints import Standpoints, find_standpoints
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
_MIN_TRACKED_SHARE = 0.9  # share of the points whose flight line has known positions
_ABOVE_M = 1000.0  # height of a sensor that is only known to be above
_FAR_M = 1e6  # a scanner farther from all points than this is a mistake


class Origins(Protocol):
    """Where points were measured from.

    ``rule`` names how that is known, ``description`` is a sentence on it. ``measured`` is false where the origins are
    assumed, ``carves`` where no way from an origin to its point is known to be free.
    """

    rule: str
    measured: bool
    carves: bool

    @property
    def description(self) -> str:
        """How the origins are known, for people."""
        ...

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """The origins (n, 3) of the returns of a sweep, ``points`` (n, 3), both in the world.

        With it the points (n,) bool whose way from there is not known to be free; None for none of them.
        """
        ...


@dataclass(frozen=True, eq=False)
class FileOrigins:
    """Origins as the file has them."""

    rule = "recorded"
    description = "scanner positions are those of the file"
    measured = True
    carves = True

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """The origins of the sweep's beams."""
        return transform(sweep.pose, sweep.deskewed_beams()[0][sweep.beam].astype(np.float64)), None


@dataclass(frozen=True, eq=False)
class GivenOrigin:
    """One ``place`` (3,) that was given."""

    place: Array
    rule = "given"
    description = "the scanner's position is the one given"
    measured = True
    carves = True

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """The place, for all points."""
        return np.broadcast_to(self.place, points.shape), None


@dataclass(frozen=True, eq=False)
class TrackOrigins:
    """Positions of the sensor over time, found from pulses of several returns; above where a source has none."""

    track: Track
    rule = "pulses"
    description = "the sensor's positions are where the lines of pulses of several returns intersect, every half second"
    measured = True
    carves = True

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """The positions at the times of the points."""
        found = self.track.find(sweep.time, read_sources(sweep))
        unknown = np.isnan(found[:, 0])
        found[unknown] = points[unknown] + np.array([0.0, 0.0, _ABOVE_M])
        return found, unknown


@dataclass(frozen=True, eq=False)
class OverheadOrigins:
    """A sensor straight above each point."""

    rule = "above"
    description = "first returns lie above last ones, so the sensor is taken to have been straight above each point"
    measured = False
    carves = False

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """Places above the points."""
        return points + np.array([0.0, 0.0, _ABOVE_M]), None


class StandpointOrigins:
    """Standpoints from which the cloud is visible; ``standpoints`` are metres from ``origin`` (3,)."""

    rule = "visibility"
    measured = False
    carves = True

    def __init__(self, standpoints: Standpoints, origin: Array) -> None:
        self.standpoints, self.origin = standpoints, origin
        self._near: Neighbours | None = None

    @property
    def description(self) -> str:
        """How many standpoints see how much."""
        count = len(self.standpoints.places)
        return (
            f"nothing says where the scanner was; {count} standpoint{'s' if count > 1 else ''} that see"
            f"{'' if count > 1 else 's'} {self.standpoints.visible.mean():.0%} of the cloud "
            f"{'are' if count > 1 else 'is'} taken for it"
        )

    def __reduce__(self) -> tuple[type[StandpointOrigins], tuple[Standpoints, Array]]:
        return StandpointOrigins, (self.standpoints, self.origin)  # an index of points cannot be pickled

    def find(self, sweep: Sweep, points: Array) -> tuple[Array, Array | None]:
        """The standpoint of the nearest point of which it is known."""
        if self._near is None:
            self._near = Neighbours(self.standpoints.points)
        nearest = self._near.knn((points - self.origin).astype(np.float32), 1).index[:, 0]
        places = self.standpoints.places[self.standpoints.seen_from[nearest]] + self.origin
        return places, ~self.standpoints.visible[nearest]


def find_origins(survey: Survey, config: CloudConfig, recorded: bool, where: str) -> Origins:
    """The origins of a cloud's points by the first of the rules that it allows; ``where`` names it in errors."""
    if config.scanner is not None:
        place = np.array(config.scanner)
        away = float(portable.norm(np.median(survey.points, axis=0) - place))
        if away > _FAR_M:
            raise ResweepError(
                f"{where}: the scanner's position {config.scanner} lies {away / 1000:,.0f} km from its points; give it "
                "in the cloud's own coordinates"
            )
        return GivenOrigin(place)
    if recorded:
        return FileOrigins()
    track = find_track(survey.lines)
    if np.isin(survey.source, list(track.by_source)).mean() >= _MIN_TRACKED_SHARE:
        return TrackOrigins(track)
    if survey.falls:
        return OverheadOrigins()
    origin = np.round(survey.points.mean(axis=0))
    return StandpointOrigins(find_standpoints(survey.points - origin, survey.spacing_m, config.standpoints_max), origin)
