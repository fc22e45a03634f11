"""The points of a map."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from resweep.pose import Array

UNCLEAR = "unclear"  # extra column of a sweep: returns whose beams have assumed origins, and may not be free


@dataclass(frozen=True, eq=False)
class Returns:
    """Beams (n,) that ended on something: from ``origin`` to ``point`` (n, 3) float32, metres from one origin.

    Those that are not ``measured`` (n,) bool are assumed and carry no information.
    """

    origin: Array
    point: Array
    measured: Array


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of a map (n,) with what each was seen as, and from where.

    ``points`` and ``sensor`` (n, 3) float32 are metres from ``origin`` (3,) float64 in the world: the return
    and the place it was measured from. ``label``, ``instance`` and ``sweep`` (index in the log) are int32,
    ``intensity`` float32; ``seen`` is false for points that were made, or whose beams are assumed. ``colour`` (n, 3)
    uint8 is sRGB, None where there is none.
    """

    origin: Array
    points: Array
    sensor: Array
    label: Array
    instance: Array
    intensity: Array
    sweep: Array
    seen: Array
    colour: Array | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: Array) -> Cloud:
        return Cloud(self.origin, **{name: column[rows] for name, column in self.columns.items()})

    @property
    def columns(self) -> dict[str, Array]:
        """The columns by name that are there: everything but the origin."""
        named = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "origin"}
        return {name: column for name, column in named.items() if column is not None}

    @property
    def has_labels(self) -> bool:
        """Whether any point bears a label."""
        return bool(self.label.any())

    @property
    def range_m(self) -> Array:
        """Distance (n,) float32 from which each point was seen."""
        return np.asarray(np.linalg.norm(self.points - self.sensor, axis=1))

    @property
    def returns(self) -> Returns:
        """The beams that measured the points."""
        return Returns(self.sensor, self.points, self.seen)

    def joined(self, other: Cloud) -> Cloud:
        """This cloud and another one around the same origin."""
        theirs = other.columns
        ours = self.columns
        both = {name: np.concatenate([ours[name], theirs[name]]) for name in ours if name in theirs}
        return Cloud(self.origin, **both)

    def merged(self, cluster: Array) -> Cloud:
        """One point for each cluster (n,), numbered from 0: the mean of its points, otherwise like the first."""
        count = np.bincount(cluster)
        first = np.zeros(len(count), np.int64)
        first[cluster[::-1]] = np.arange(len(cluster))[::-1]
        like = self[first]
        points = np.stack([np.bincount(cluster, self.points[:, axis]) for axis in range(3)], axis=1) / count[:, None]
        intensity = np.bincount(cluster, self.intensity) / count
        return replace(like, points=points.astype(np.float32), intensity=intensity.astype(np.float32))

    def with_points(self, points: Array, like: Array) -> Cloud:
        """This cloud and further, made ``points`` (m, 3); row ``like`` (m,) lends each its other columns."""
        added = replace(self[like], points=points.astype(np.float32), seen=np.zeros(len(points), bool))
        return self.joined(added)
