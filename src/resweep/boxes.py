"""Annotated objects of a sweep: boxes with a class and a track."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from resweep import portable
from resweep.bounds import check_boxes
from resweep.errors import ResweepError
from resweep.pose import Array

# By which the boxes of simulated objects are larger than the objects, at each side and at the top: two sigma of the
# range noise of most sensors in the catalog (2 cm). A box of the object's own size has half of the returns on its flat
# sides outside. The floor stays on the ground, whose returns would be inside otherwise.
BOX_MARGIN_M = 0.04


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes (k,) in the frame of their sweep's ``pose``, motion during the sweep undone.

    ``centre`` (k, 3) metres, ``size`` (k, 3) metres: length along the heading, width, height;
    ``yaw`` (k,) radians about z, counter-clockwise from x; ``name`` (k,) the class as its dataset spells
    it; ``track`` (k,) int64 the same for one object in all sweeps, -1 where unknown. ``label`` (k,) int64 is
    the label id of their returns (0: none), ``velocity`` (k, 3) metres a second in the world (NaN: unknown) and
    ``n_points`` (k,) int64 the returns on the object (-1: not counted). ``known`` (k,) is the share of the object's
    surroundings from which its shape is known: 1 all around, about 0.5 for one that was recorded from one side and
    has no far side (NaN: unknown; see `resweep.scenario.coverage.known_share`).
    """

    centre: Array
    size: Array
    yaw: Array
    name: Sequence[str]
    track: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    label: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    velocity: Array = field(default_factory=lambda: np.zeros((0, 3)))
    n_points: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    known: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", np.asarray(self.centre, np.float64).reshape(-1, 3))
        object.__setattr__(self, "size", np.asarray(self.size, np.float64).reshape(-1, 3))
        object.__setattr__(self, "yaw", np.asarray(self.yaw, np.float64).reshape(-1))
        object.__setattr__(self, "name", tuple(str(name) for name in self.name))
        for name, unknown in (("track", -1), ("label", 0), ("n_points", -1)):
            column = np.asarray(getattr(self, name), np.int64).reshape(-1)
            object.__setattr__(self, name, column if len(column) else np.full(len(self.yaw), unknown))
        velocity = np.asarray(self.velocity, np.float64).reshape(-1, 3)
        object.__setattr__(self, "velocity", velocity if len(velocity) else np.full((len(self.yaw), 3), np.nan))
        known = np.asarray(self.known, np.float64).reshape(-1)
        object.__setattr__(self, "known", known if len(known) else np.full(len(self.yaw), np.nan))
        lengths = {len(getattr(self, item.name)) for item in fields(self)}
        if len(lengths) != 1:
            raise ResweepError(f"boxes: columns differ in length ({sorted(lengths)})")
        check_boxes(self)

    def __len__(self) -> int:
        return len(self.yaw)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.name.count(name)} {name}" for name in sorted(set(self.name)))
        return f"Boxes({len(self)}: {counts})" if len(self) else "Boxes(none)"

    def __getitem__(self, rows: Array | slice | int) -> Boxes:
        """The boxes of ``rows``: one index, several, a mask or a slice."""
        index = np.atleast_1d(np.arange(len(self))[rows])
        columns = {item.name: getattr(self, item.name) for item in fields(self)}
        columns["name"] = np.array(self.name, object)
        return Boxes(**{name: column[index] for name, column in columns.items()})

    def contains(self, points: Array, margin_m: float = 0.0) -> Array:
        """Whether each point (n, 3) lies in each box: (k, n) bool. ``margin_m`` widens the boxes."""
        found = np.zeros((len(self), len(points)), bool)
        for at, rows in enumerate(self.find_points(points, margin_m)):
            found[at, rows] = True
        return found

    def count_points(self, points: Array, margin_m: float = 0.0) -> Array:
        """How many of the points (n, 3) lie in each box: (k,) int64. ``margin_m`` widens the boxes.

        Points must be in the frame of the boxes (`Sweep.deskewed` for those of a sweep). One point may lie in several
        boxes, and the ground under an object counts where it reaches into its box.
        """
        return np.array([len(rows) for rows in self.find_points(points, margin_m)], np.int64)

    def find_points(self, points: Array, margin_m: float = 0.0) -> Iterator[Array]:
        """For each box, the rows of the points (n, 3) in it. ``margin_m`` widens the boxes."""
        points = np.asarray(points, np.float64)
        half = self.size / 2 + margin_m
        reach = np.hypot(half[:, 0], half[:, 1])
        for centre, yaw, edge, radius in zip(self.centre, self.yaw, half, reach, strict=True):
            # Few points are near a box, and turning all of them would cost the most.
            near = np.flatnonzero((np.abs(points[:, :2] - centre[:2]) <= radius).all(axis=1))
            x, y, z = (points[near] - centre).T
            c, s = portable.cos(yaw), portable.sin(yaw)
            local = np.stack([c * x + s * y, c * y - s * x, z], axis=1)
            yield near[(np.abs(local) <= edge).all(axis=1)]
