"""A scenario placed in a world: the trajectory of the ego, and the actors on the ground."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from resweep.errors import ResweepError
from resweep.io import load_poses, open_log
from resweep.labels import LabelSet
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario.actors import Actor
from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank
from resweep.scenario.coverage import estimate_known_share
from resweep.scenario.ground import Ground, find_ground
from resweep.scenario.motion import TimedPath
from resweep.scenario.overlap import Overlap, find_actor_overlaps, find_world_overlap
from resweep.scenario.recorded_objects import RecordedObject, find_recorded_objects
from resweep.scenario.spec import ActorSpec, RecordedTrack
from resweep.worlds import Layer, Mesh, StreamedWorld, World

if TYPE_CHECKING:
    from resweep.scenario.scenario import Scenario

EGO = "ego"
_MIN_KNOT_GAP_S = 1e-6  # knots of a trajectory differ by more
_TRIGGER_STEP_S = 0.05  # between the moments at which the distance of the ego is looked at


def make_ego_trajectory(scenario: Scenario, ground: Ground) -> Trajectory:
    """``T_world_sensor`` for the scenario's duration."""
    ego = scenario.ego
    if ego.poses is not None or ego.log is not None:
        motion = load_poses(ego.poses, rate_hz=ego.rate_hz) if ego.poses is not None else _read_log_motion(scenario)
        motion = motion.offset(from_xyz_rpy(*ego.offset_m))
        return motion if scenario.duration_s is None else _cut_or_hold(motion, motion.start + scenario.duration_s)
    path = ego.path()
    where = f"scenario '{scenario.name}', ego"
    check_within_world(path, ground, where)
    poses = place_on_ground(path, ground, (0.6, 0.6), where, ego.kinds()[0])
    if np.isfinite(path.places[:, 2]).all():
        poses[:, 2, 3] = path.places[:, 2]
    else:
        poses[:, :3, 3] += ego.height_m * poses[:, :3, 2]
    duration = path.end if scenario.duration_s is None else scenario.duration_s
    return _cut_or_hold(Trajectory(path.times, poses), duration)


def _read_log_motion(scenario: Scenario) -> Trajectory:
    log = open_log(str(scenario.ego.log), rate_hz=scenario.ego.rate_hz, empty_beams=False)
    if not log.poses_known:
        raise ResweepError(f"scenario '{scenario.name}', ego.log: '{scenario.ego.log}' has no poses; give ego.poses")
    return log.trajectory


def _cut_or_hold(motion: Trajectory, end: float) -> Trajectory:
    """The motion cut at ``end``, or at rest at its last pose until then."""
    if motion.end > end:
        return motion.window(motion.start, end)
    if motion.end < end:
        return Trajectory(np.append(motion.times, end), np.concatenate([motion.poses, motion.poses[-1:]]))
    return motion


def check_within_world(path: TimedPath, ground: Ground, where: str) -> None:
    """Raise if a path leaves the world, seen from above."""
    low, high = ground.bounds[:, :2]
    outside = ((path.places[:, :2] < low) | (path.places[:, :2] > high)).any(axis=1)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        x, y = path.places[at, :2]
        raise ResweepError(
            f"{where}: leaves the world {path.times[at]:.1f} s after its start at ({x:.1f}, {y:.1f}); the world "
            f"reaches from ({low[0]:.1f}, {low[1]:.1f}) to ({high[0]:.1f}, {high[1]:.1f})"
        )


def place_on_ground(path: TimedPath, ground: Ground, size: tuple[float, float], where: str, field: str) -> Array:
    """Poses (n, 4, 4) of an object, ``size`` long and wide, that follows a path on the ground; raises if none."""
    poses = ground.poses(path.places, path.yaw, *size)
    lost = ~np.isfinite(poses[:, 2, 3])
    if lost.any():
        at = int(np.flatnonzero(lost)[0])
        x, y = path.places[at, :2]
        raise ResweepError(
            f"{where}, {field}: no ground at ({x:.1f}, {y:.1f}), {path.times[at]:.1f} s after its start; "
            "move the path, or give z and set snap: false"
        )
    return poses


def find_recorded_track(track: RecordedTrack) -> tuple[float, RecordedObject]:
    """When the log of a track begins, seconds, and the object that the track names."""
    log = open_log(track.log, empty_beams=False)
    for item in find_recorded_objects(log):
        if item.number == track.id:
            return float(log.times[0]), item
    raise ResweepError(f"log '{track.log}' has no track {track.id}")


class ActorPlacer:
    """Makes the actors of a scenario in one world."""

    def __init__(self, scenario: Scenario, world: World | Ground, bank: Bank, first_instance: int | None) -> None:
        self.scenario, self.bank = scenario, bank
        if isinstance(world, Ground):
            self.ground, self.first = world, first_instance or 1
        else:
            self.ground, self.first = find_ground(world), first_instance or find_free_instance(world)

    def place(self) -> list[Actor]:
        """The actors of the scenario; every asset is found before any is placed."""
        ego = make_ego_trajectory(self.scenario, self.ground)
        end = ego.start + (self.scenario.duration_s or ego.end - ego.start)
        names = [self._choose(at, ego) for at in range(len(self.scenario.actors))]
        assets: dict[str, Asset] = {}
        actors = []
        for at, (spec, chosen) in enumerate(zip(self.scenario.actors, names, strict=True)):
            asset = chosen if isinstance(chosen, Asset) else assets.setdefault(chosen, self.bank[chosen])
            motion = self._motion(spec, at, asset, ego, end)
            actors.append(make_actor(asset, motion, self.first + at, spec.name, self.ground.labels))
        return actors

    def where(self, at: int) -> str:
        """What errors call an actor."""
        return f"scenario '{self.scenario.name}', actors[{at}] '{self.scenario.actors[at].name}'"

    def _choose(self, at: int, ego: Trajectory) -> str | Asset:
        """The object of an actor: the name of an asset, or one read from a file."""
        spec = self.scenario.actors[at]
        try:
            if spec.cad is not None:
                options = spec.cad.model_dump(exclude={"file", "category"})
                return Asset.from_mesh(spec.cad.file, category=spec.cad.category, name=f"cad-{at}", **options)
            if spec.asset is not None:
                self.bank.facts(spec.asset)  # raises if the bank does not hold it
                return spec.asset
            category, size = spec.category, spec.size_m
            if category is None:
                assert spec.track is not None
                recorded = find_recorded_track(spec.track)[1]
                category, size = recorded.category.name, recorded.size_m
            if size is None:
                names = self.bank.by_category(category)
                rng = np.random.default_rng([self.scenario.seed, at, 0x6173])
                return str(names[int(rng.integers(len(names)))])
            return self.bank.rank(category, size, self._view(spec, ego))[0][0]
        except ResweepError as error:
            field = "cad" if spec.cad else "asset" if spec.asset else "category" if spec.category else "track"
            raise ResweepError(f"{self.where(at)}, {field}: {error}") from error

    def _view(self, spec: ActorSpec, ego: Trajectory) -> float | None:
        """The angle from the object's front to the sensor when the scenario begins (D, 5.1)."""
        if spec.track is not None:
            return None
        path = spec.path()
        towards = ego.poses[0, :2, 3] - path.places[0, :2]
        return math.atan2(towards[1], towards[0]) - float(path.yaw[0])

    def _recorded(self, spec: ActorSpec, at: int) -> tuple[float, RecordedObject]:
        assert spec.track is not None
        try:
            return find_recorded_track(spec.track)
        except ResweepError as error:
            raise ResweepError(f"{self.where(at)}, track: {error}") from error

    def _motion(self, spec: ActorSpec, at: int, asset: Asset, ego: Trajectory, end: float) -> Trajectory:
        if spec.track is not None:
            begin, item = self._recorded(spec, at)
            longest = max(item.motions(), key=len)
            return Trajectory(longest.times - begin + ego.start + spec.start_s, longest.poses)
        path, where = spec.path(), self.where(at)
        check_within_world(path, self.ground, where)
        if spec.snap:
            poses = place_on_ground(path, self.ground, asset.size_m[:2], where, spec.kinds()[0])
        elif np.isfinite(path.places).all():
            poses = np.stack(
                [from_xyz_rpy(x, y, z, yaw=yaw) for (x, y, z), yaw in zip(path.places, path.yaw, strict=True)]
            )
        else:
            raise ResweepError(f"{where}, snap: an actor that is not set on the ground needs z; give [x, y, z]")
        begin = self._begin(spec, at, poses[0], ego, end)
        return _schedule(path.times, poses, begin, ego.start, end, spec.after == "stay")

    def _begin(self, spec: ActorSpec, at: int, pose: Array, ego: Trajectory, end: float) -> float:
        """When an actor's motion begins, on the ego's clock."""
        if spec.start_within_m is None:
            return ego.start + spec.start_s
        times = np.arange(ego.start, min(end, ego.end) + 1e-9, _TRIGGER_STEP_S)
        distance = np.linalg.norm(ego.at(times)[:, :2, 3] - pose[:2, 3], axis=1)
        near = np.flatnonzero(distance <= spec.start_within_m)
        if not len(near):
            raise ResweepError(
                f"{self.where(at)}, start_within_m: the ego comes no nearer than {distance.min():.1f} m; "
                f"give more than that, or the actor never starts"
            )
        return float(times[near[0]]) + spec.start_s


def _schedule(times: Array, poses: Array, begin: float, start: float, end: float, stays: bool) -> Trajectory:
    """A motion that waits at its first pose from ``start``, begins at ``begin``, and stays until ``end`` or leaves."""
    if len(times) == 1:
        return Trajectory(np.array([start]), poses)
    when, where = times + begin, poses
    if begin > start + _MIN_KNOT_GAP_S:
        when, where = np.concatenate([[start], when]), np.concatenate([where[:1], where])
    if stays and when[-1] < end - _MIN_KNOT_GAP_S:
        when, where = np.append(when, end), np.concatenate([where, where[-1:]])
    return Trajectory(when, where)


def find_overlaps(scenario: Scenario, ground: Ground, actors: list[Actor], ego: Trajectory) -> list[Overlap]:
    """What the actors run into, by time."""
    allowed = {spec.name for spec in scenario.actors if spec.allow_overlap}
    end = ego.start + (scenario.duration_s or ego.end - ego.start)
    checked = [actor for actor in actors if actor.name not in allowed]
    found = [hit for actor in checked if (hit := find_world_overlap(actor, ground, ego.start, end)) is not None]
    if scenario.ego.size_m is not None and checked:
        checked = [*checked, _make_vehicle(scenario, ego)]
    found += find_actor_overlaps(checked, ego.start, end)
    return sorted(found, key=lambda item: item.time_s)


def _make_vehicle(scenario: Scenario, ego: Trajectory) -> Actor:
    """The ego's vehicle as a box below the sensor."""
    assert scenario.ego.size_m is not None
    length, width, height = scenario.ego.size_m
    top = height - scenario.ego.height_m
    corners = np.array([[-length / 2, -width / 2, top - height], [length / 2, width / 2, top], [0.0, 0.0, top]])
    return Actor((Mesh(corners, np.array([[0, 1, 2]])),), ego, 1, name=EGO)


def find_free_instance(world: World | StreamedWorld) -> int:
    """The first instance id above all that the world uses."""
    return max(0, world.largest_instance) + 1


def make_actor(asset: Asset, motion: Trajectory, instance: int, name: str, labels: LabelSet) -> Actor:
    """An asset as an actor, its label in the vocabulary of the world that it moves through."""
    own = labels if labels.known else asset.labels
    label, known = asset.label_in(labels), estimate_known_share(asset.coverage)
    return Actor(check_movable(asset), motion, instance, label, name, own, asset.size_m, known)


def check_movable(asset: Asset) -> tuple[Layer, ...]:
    """The layers of an asset as an actor takes them; raises if one cannot move."""
    for layer in asset.layers:
        if not layer.can_move:
            raise ResweepError(
                f"asset '{asset.name}': its layer '{layer.name}' is of kind '{layer.kind}', which cannot move; "
                "export the model with its copies applied"
            )
    return asset.layers
