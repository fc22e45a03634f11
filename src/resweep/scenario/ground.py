"""The ground of a world: how high it is, how it slopes under an object, and what stands on it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.labels import Group
from resweep.pose import Array
from resweep.worlds import World
from resweep.worlds.native import build_scene

_MAX_SURFACES = 12  # surfaces that a ray down looks at
_SKIP_M = 0.01  # below a surface the search for the next one goes on
_UPWARD = 0.3  # cosine of the steepest surface that one can stand on
_SAMPLE_GRID = (5, 3)  # heights under an object, along and across
_MIN_LENGTH_M = 1.0  # shorter objects are placed upright
_NEAR_M = 0.4  # heights farther from their median are kerbs, walls or strays
_MAX_SLOPE = 0.5  # metres a metre: no object is tilted more


class Ground:
    """The surfaces of a world that are not permeable, as rays hit them. Coordinates are the world's."""

    def __init__(self, world: World) -> None:
        solid = [layer.lower() for layer in world.layers if layer.solid]
        if not solid:
            raise ResweepError("scenario: the world has only permeable volumes; actors need ground to stand on")
        self.origin, self.bounds = world.origin, world.bounds
        self.labels = world.labels
        self.ground_ids = world.labels.in_group(Group.GROUND)
        self._is_ground_id = np.zeros(max(self.ground_ids, default=0) + 2, bool)
        self._is_ground_id[list(self.ground_ids)] = True
        self.scene = build_scene(solid)

    def hits(self, origins: Array, directions: Array, range_max_m: float) -> dict[str, Array]:
        """Closest hits of rays (n, 3): ``range`` metres (infinity: none), ``cosine``, ``label`` and ``instance``."""
        start = np.ascontiguousarray(origins - self.origin, np.float32)
        found: dict[str, Array] = self.scene.intersect(
            start, np.ascontiguousarray(directions, np.float32), float(range_max_m)
        )
        return found

    def is_ground(self, label: Array) -> Array:
        """Whether each label (n,) is of the ground; of an unknown vocabulary, none is."""
        # A table is far faster than np.isin for the few rays of a step of a drive.
        return self._is_ground_id[np.minimum(label, len(self._is_ground_id) - 1)]

    def heights(self, places: Array) -> Array:
        """Height (n,) of the ground under places (n, 3); NaN where there is none.

        Of what a ray down hits, that is the lowest surface with a label of the ground, or the lowest one
        to stand on where none has; where a place has a finite z, the one nearest to it.
        """
        count, top = len(places), float(self.bounds[1, 2]) + 1.0
        depth = top - float(self.bounds[0, 2]) + 1.0
        z, wanted = np.full(count, top), places[:, 2]
        best, rank = np.full(count, np.nan), np.full(count, np.inf)
        active = np.arange(count)
        down = np.tile([0.0, 0.0, -1.0], (count, 1))
        for _ in range(_MAX_SURFACES):
            found = self.hits(np.column_stack([places[active, :2], z[active]]), down[: len(active)], depth)
            hit = np.isfinite(found["range"])
            rows, height = active[hit], z[active[hit]] - found["range"][hit].astype(np.float64)
            stand = np.abs(found["cosine"][hit]) >= _UPWARD
            labelled = self.is_ground(found["label"][hit])
            given = np.isfinite(wanted[rows])
            order = np.where(given, np.abs(height - wanted[rows]), height) + np.where(given | labelled, 0.0, 1e6)
            better = stand & (order <= rank[rows])
            best[rows[better]], rank[rows[better]] = height[better], order[better]
            z[rows] = height - _SKIP_M
            active = rows
            if not len(active):
                break
        return best

    def poses(self, places: Array, yaw: Array, length_m: float, width_m: float) -> Array:
        """``T_world_object`` (n, 4, 4) of an object that stands at places (n, 3) with headings (n,), tilted as the
        ground is; NaN where there is no ground."""
        count = len(places)
        grid = np.meshgrid(
            np.linspace(-0.45, 0.45, _SAMPLE_GRID[0]) * length_m, np.linspace(-0.45, 0.45, _SAMPLE_GRID[1]) * width_m
        )
        u, v = grid[0].ravel(), grid[1].ravel()
        c, s = portable.cos(yaw)[:, None], portable.sin(yaw)[:, None]
        under = np.stack([places[:, :1] + c * u - s * v, places[:, 1:2] + s * u + c * v], axis=-1)
        under = np.concatenate([under, np.repeat(places[:, None, 2:], len(u), axis=1)], axis=-1)
        height = self.heights(under.reshape(-1, 3)).reshape(count, -1)
        plane = _fit_planes(u, v, height)
        if max(length_m, width_m) < _MIN_LENGTH_M:
            plane[:, 1:] = 0.0
        slope = np.clip(plane[:, 1:], -_MAX_SLOPE, _MAX_SLOPE)
        x = np.stack([np.ones(count), np.zeros(count), slope[:, 0]], axis=1)
        z = np.stack([-slope[:, 0], -slope[:, 1], np.ones(count)], axis=1)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        turn = np.zeros((count, 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = c[:, 0]
        turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = s[:, 0], -s[:, 0], 1.0
        poses = np.zeros((count, 4, 4))
        poses[:, :3, :3] = portable.matmul(turn, np.stack([x, np.cross(z, x), z], axis=-1))
        poses[:, :2, 3], poses[:, 2, 3], poses[:, 3, 3] = places[:, :2], plane[:, 0], 1.0
        return poses


_GROUNDS: WeakKeyDictionary[World, Ground] = WeakKeyDictionary()


def find_ground(world: World | Ground) -> Ground:
    """The ground of a world, built once for as long as the world is kept."""
    if isinstance(world, Ground):
        return world
    if world not in _GROUNDS:
        _GROUNDS[world] = Ground(world)
    return _GROUNDS[world]


def _fit_planes(u: Array, v: Array, height: Array) -> Array:
    """Level and slopes (n, 3) of planes through heights (n, m) at (u, v), strays left out; NaN without heights."""
    known = np.isfinite(height)
    some = known.any(axis=1)
    middle = np.full(len(height), np.nan)
    middle[some] = np.nanmedian(height[some], axis=1)
    near = known & (np.abs(np.where(known, height, 0.0) - np.where(some, middle, 0.0)[:, None]) < _NEAR_M)
    design = np.column_stack([np.ones_like(u), u, v])
    offset = np.where(near, height - middle[:, None], 0.0)
    matrix = np.einsum("nm,mi,mj->nij", near.astype(float), design, design) + np.diag([1e-6, 1e-3, 1e-3])
    plane = portable.solve(matrix, np.einsum("nm,mi->ni", offset, design)[..., None])[..., 0]
    plane[:, 0] += middle
    return np.asarray(plane)
