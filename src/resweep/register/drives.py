"""One drive registered to the map of others: first as a whole, then its drift.

Both minimise the distances of the drive's points from the map's planes. A long drive is registered in segments,
outwards from the one that overlaps the map most, which is tried from several starts. Then knots along the path take
corrections of their own, held together by how fast poses are expected to drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.neighbours import Neighbours
from resweep.pose import Array, Trajectory, rotation_of, transform
from resweep.register.config import AlignConfig
from resweep.registration import (
    POSE,
    RADIUS_PER_VOXEL,
    Matches,
    Planes,
    find_planes,
    geman_mcclure_weight,
    motion_jacobian,
    move_pose,
    normal_equations,
    plane_distances,
    rigid_step,
)

# What follows was chosen by hand for spinning LiDARs in streets, unless it says otherwise.
MAP_VOXEL_M, _COARSE_VOXEL_M = 0.1, 0.4  # of the map that drifts are corrected by, and of that for large motions
_NEAR_M = 0.15  # from the map, where a point counts half
FIT_REACH_M = 1.0  # farther from the map, points do not show how well they fit it
_AGREE_VOXEL_M, _MATCH_M = 0.2, 0.5  # of the places that are compared, and how far their partners may lie
_SAME_PLANE_M, _SAME_COSINE = 0.1, 0.8  # distance and cosine of normals of places that lie in one plane
_FACING_COSINE, _MIN_PLACES = 0.7, 30  # of places that face a direction, and how many of them judge it
COARSE_REACH_M = 3.0  # as `AlignConfig.shift_max_m`
_REACHES_M = (COARSE_REACH_M, 2.0, 1.5, 1.0, 0.75, 0.5)
_LAST_STEPS = 6  # that may follow with the last reach
_STOP = 1e-3  # radians and metres: smaller steps end a registration
_DRIFT_REACHES_M = (1.0, 0.75, 0.5, 0.5, 0.3, 0.3, 0.3, 0.3)  # step by step, as errors shrink
_MIN_WIDTH_M = 0.05  # of the robust weight
_TRIAL_POINTS = 4000  # that a start is tried with
_MIN_SCORE_RATIO = 1.02  # another start must score this much higher than the log's own poses
_DISTINCT_M = 0.5  # from which on two motions are different places
_NOISE_M = 0.05  # of a distance from a plane of the map
_HELD_DRIFT_SHARE = 0.02  # of the drift from knot to knot: how far what was corrected before may move
_LOOSE = 10  # times the drift from knot to knot: how far a correction may lie from none


@dataclass(frozen=True, eq=False)
class Drive:
    """A sample of a log: ``points`` (n, 3) in the sensor's frame, and the ``sweep`` (n,) that each is of.

    ``poses`` (m, 4, 4), from the map's origin, and ``path_m`` (m,), the way driven, are those of all sweeps.
    """

    name: str
    points: Array
    sweep: Array
    poses: Array
    path_m: Array

    def world(self, poses: Array) -> Array:
        """The points (n, 3) in the world, for sweeps at ``poses`` (m, 4, 4)."""
        return transform(poses[self.sweep], self.points)


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well two maps agree.

    ``share`` is the least over all directions; nothing constrains the directions (3,) in ``unconstrained``. ``count``
    places of the one lie near the other.
    """

    share: float
    unconstrained: list[Array]
    count: int


@dataclass(frozen=True, eq=False)
class PlaneMap:
    """What a drive is registered to: the ``points`` (n, 3) of a map, means of voxels of ``MAP_VOXEL_M``."""

    points: Array

    @cached_property
    def index(self) -> Neighbours:
        """An index of the points."""
        return Neighbours(self.points)

    @cached_property
    def coarse(self) -> Planes:
        """Planes that are found from afar."""
        return find_planes(self.points, _COARSE_VOXEL_M, RADIUS_PER_VOXEL * _COARSE_VOXEL_M)

    @cached_property
    def fine(self) -> Planes:
        """Planes that are near the points of the map."""
        return find_planes(self.points, MAP_VOXEL_M, RADIUS_PER_VOXEL * MAP_VOXEL_M)

    def closeness(self, points: Array) -> float:
        """How near points are to those of the map: from 0 to 1, which points on it have."""
        squared = self.index.knn(points, 1, FIT_REACH_M).distance2[:, 0].astype(np.float64)
        return float((1.0 / (1.0 + squared / _NEAR_M**2)).mean())

    def agreement(self, points: Array) -> Agreement:
        """How well the flat places of another map of ``points`` (n, 3) agree with those of this one.

        A road and its walls agree however far one is pushed along them. So each of the three directions that planes
        face is judged apart: of the places that face it, the share that lies in a plane of this map.
        """
        own = find_planes(points, _AGREE_VOXEL_M, RADIUS_PER_VOXEL * _AGREE_VOXEL_M)
        near = self.index.knn(own.points, 1, FIT_REACH_M).index[:, 0] >= 0
        places, normal = own.points[near], own.normal[near]
        directions = portable.eigh3(portable.matmul(normal.T, normal))[1].T
        there = self.fine.index.knn(places, 1, _MATCH_M).index[:, 0]
        other = self.fine.normal[there]
        off = np.abs(plane_distances(places, self.fine.points[there], other))
        same = (there >= 0) & (off < _SAME_PLANE_M) & (np.abs((normal * other).sum(axis=1)) > _SAME_COSINE)
        facing = [np.abs(portable.matmul(normal, direction)) > _FACING_COSINE for direction in directions]
        constrained = [int(rows.sum()) >= _MIN_PLACES for rows in facing]
        shares = [float(same[rows].mean()) for rows, enough in zip(facing, constrained, strict=True) if enough]
        free = [at for at, enough in zip(directions, constrained, strict=True) if not enough]
        return Agreement(min(shares, default=0.0), free, len(places))

    def overlap(self, points: Array, reach_m: float) -> float:
        """The share of points within ``reach_m`` of the map."""
        return float((self.index.knn(points, 1, reach_m).index[:, 0] >= 0).mean()) if len(points) else 0.0


def register_drive(
    drive: Drive, place: PlaneMap, config: AlignConfig, start: tuple[int, Array] | None = None
) -> tuple[Array, bool]:
    """Poses (m, 4, 4) of the drive after moving its segments rigidly, and whether only one place fits.

    With ``start``, a sweep and a motion (4, 4), the segments are registered outwards from that of the sweep, the first
    one from that motion; without, from the segment that overlaps the map most, which is tried from several starts.
    """
    count = max(1, round(drive.path_m[-1] / config.segment_m))
    middle = (np.arange(count) + 0.5) * drive.path_m[-1] / count
    segment = np.abs(drive.path_m[:, None] - middle).argmin(axis=1)[drive.sweep]
    world = drive.world(drive.poses)
    parts = [world[segment == at] for at in range(count)]
    on_map = [place.overlap(part, config.shift_max_m) * len(part) for part in parts]
    best = int(np.argmax(on_map)) if start is None else int(np.abs(drive.path_m[start[0]] - middle).argmin())
    moves: dict[int, Array] = {}
    unique = True
    for at in sorted(range(count), key=lambda other: abs(other - best)):
        if at == best and start is None:
            moves[at], unique = _register_from_starts(parts[at], place, config)
            continue
        motion = start[1] if start is not None and at == best else moves[at + 1 if at < best else at - 1]
        enough = on_map[at] >= config.overlap_min * max(len(parts[at]), 1)
        moves[at] = _register(parts[at], place, motion) if enough and len(parts[at]) else motion
    knots = np.stack([moves[at] for at in range(count)])
    along = np.clip(drive.path_m, middle[0], middle[-1])
    return portable.matmul(Trajectory(middle, knots).at(along), drive.poses), unique


def _register_from_starts(points: Array, place: PlaneMap, config: AlignConfig) -> tuple[Array, bool]:
    """The rigid motion (4, 4) that fits best from any start within the expected error, and whether no other does."""
    few = points[:: 1 + len(points) // _TRIAL_POINTS]
    centre = few.mean(axis=0)
    found: list[tuple[float, Array]] = []
    half = config.shift_max_m / 2
    yaw = np.radians(config.turn_max_deg / 2)
    for turn, x, y in sorted(product((-yaw, 0.0, yaw), (-half, 0.0, half), (-half, 0.0, half)), key=portable.norm):
        start = move_pose(np.eye(4), np.array([0.0, 0.0, turn, x, y, 0.0]), centre)
        motion = _register(few, place, start)
        found.append((place.closeness(transform(motion, few)), motion))
    best, motion = max(found[1:], key=lambda each: each[0])
    if best <= _MIN_SCORE_RATIO * found[0][0]:
        best, motion = found[0]
    here = transform(motion, centre[None])
    rivals = [
        score
        for score, other in found
        if portable.norm(transform(other, centre[None])[0] - here[0]) > _DISTINCT_M and score * _MIN_SCORE_RATIO > best
    ]
    return _register(points, place, motion), not rivals


def _register(points: Array, place: PlaneMap, start: Array) -> Array:
    """The rigid motion (4, 4) that brings points onto the planes of the map, from ``start``."""
    motion = start
    for reach_m in (*_REACHES_M, *([_REACHES_M[-1]] * _LAST_STEPS)):
        world = transform(motion, points)
        found = place.coarse.match(world, reach_m)
        centre = world.mean(axis=0)
        weight = geman_mcclure_weight(found.error, _MIN_WIDTH_M)
        change = rigid_step(world[found.row], centre, found.normal, found.error, weight)
        motion = move_pose(motion, change, centre)
        if reach_m == _REACHES_M[-1] and np.abs(change).max() < _STOP:
            break
    return motion


def correct_drift(
    drive: Drive, place: PlaneMap, poses: Array, config: AlignConfig, held: tuple[slice, Array] | None = None
) -> Array:
    """Poses (m, 4, 4) after corrections at knots along the drive, from ``poses``.

    ``held`` are sweeps at one end of the drive and their poses (h, 4, 4) by what was corrected before, to be kept.
    """
    count = max(2, 1 + round(drive.path_m[-1] / config.knot_gap_m))
    at = drive.path_m / max(drive.path_m[-1], 1e-9) * (count - 1)
    left = np.minimum(at.astype(np.int64), count - 2)
    share = at - left
    total = np.zeros((count, POSE))
    target = None if held is None else _find_targets(at, poses, *held, count)
    for reach_m in _DRIFT_REACHES_M:
        world = drive.world(poses)
        found = place.fine.match(world, reach_m)
        owner = drive.sweep[found.row]
        rows = motion_jacobian(world[found.row] - poses[owner, :3, 3], found.normal)
        change = _solve_knot_step(rows, found, left[owner], share[owner], total, config, target)
        total += change
        step = (1 - share)[:, None] * change[left] + share[:, None] * change[left + 1]
        poses = poses.copy()
        poses[:, :3, :3] = portable.matmul(Rotation.from_rotvec(step[:, :3]).as_matrix(), poses[:, :3, :3])
        poses[:, :3, 3] += step[:, 3:]
    return poses


def _find_targets(at: Array, poses: Array, sweeps: slice, held: Array, count: int) -> Array:
    """The corrections (k, 6) of knots that take ``sweeps`` to their poses ``held`` (h, 4, 4); NaN for other knots.

    ``at`` (m,) counts the knots up to each sweep, whose poses (m, 4, 4) are not corrected yet.
    """
    there = at[sweeps]
    turn = rotation_of(portable.matmul(held[:, :3, :3], poses[sweeps, :3, :3].transpose(0, 2, 1))).as_rotvec()
    change = np.concatenate([turn, held[:, :3, 3] - poses[sweeps, :3, 3]], axis=1)
    target = np.full((count, POSE), np.nan)
    for knot in range(int(np.ceil(there.min())), int(np.floor(there.max())) + 1):
        target[knot] = change[np.abs(there - knot).argmin()]
    return target


def _solve_knot_step(
    rows: Array,
    found: Matches,
    left: Array,
    share: Array,
    total: Array,
    config: AlignConfig,
    target: Array | None = None,
) -> Array:
    """The change (k, 6) of every knot's correction that brings the points nearer to the planes.

    A point moves by the corrections of the knots before (``left``) and after it, in the ``share`` of the way. ``total``
    (k, 6) is the correction so far: neighbouring ones should be alike, and none large. Where ``target`` (k, 6) is not
    NaN, it should be that.
    """
    count, error = len(total), found.error
    row = np.repeat(np.arange(len(error)), 2 * POSE)
    column = (POSE * left[:, None] + np.arange(2 * POSE)).ravel()
    values = np.concatenate([(1 - share)[:, None] * rows, share[:, None] * rows], axis=1).ravel()
    jacobian = sparse.csr_matrix((values, (row, column)), shape=(len(error), POSE * count))
    drift = np.repeat([np.radians(config.drift_deg), config.drift_m], 3)
    steps = sparse.kron(sparse.csr_matrix(np.diff(np.eye(count), axis=0)), np.eye(POSE))
    stiff = steps.T.dot(sparse.diags(np.tile(1.0 / drift**2, count - 1))).dot(steps)  # sparse, no BLAS
    stiff = stiff + sparse.diags(np.tile(1.0 / (_LOOSE * drift) ** 2, count))
    weight = geman_mcclure_weight(error, _MIN_WIDTH_M) / _NOISE_M**2
    system, slope = normal_equations(jacobian, error, weight)
    right = -slope - stiff.dot(total.ravel())  # sparse, no BLAS
    if target is not None:
        hold = np.where(np.isnan(target), 0.0, 1.0 / (_HELD_DRIFT_SHARE * drift) ** 2)
        stiff = stiff + sparse.diags(hold.ravel())
        right -= (hold * (total - np.nan_to_num(target))).ravel()
    return _solve_chain((system + stiff).tocsr(), right.reshape(count, POSE))


def _solve_chain(system: sparse.csr_matrix, right: Array) -> Array:
    """The x (k, 6) of a symmetric system (6 k, 6 k) in which each six unknowns are coupled with the next six only.

    Elimination from block to block (Golub and Van Loan, Matrix Computations, 4th ed., section 4.5.1).
    """
    count = len(right)
    n = POSE
    rows = [system[n * at : n * (at + 1), n * at : n * (at + 2)].toarray() for at in range(count)]
    diagonal, side = rows[0][:, :n], right[0]
    passed: list[Array] = []  # a block's unknowns as a linear function of the next ones'
    for at in range(1, count):
        coupling = rows[at - 1][:, n:]
        passed.append(portable.solve(diagonal, np.column_stack([coupling, side])))
        reduced = portable.matmul(coupling.T, passed[-1])
        diagonal, side = rows[at][:, :n] - reduced[:, :n], right[at] - reduced[:, n]
    found = [portable.solve(diagonal, side)]
    for step in reversed(passed):
        found.append(step[:, n] - portable.matmul(step[:, :n], found[-1]))
    return np.stack(found[::-1])
