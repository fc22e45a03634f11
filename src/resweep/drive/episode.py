"""One drive, step by step: a command goes in, the world moves on, and what the sensors measured comes out."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep.drive.body.collisions import (
    BoxProbe,
    ContactMonitor,
    find_actor_bounds,
    find_actor_contact,
    find_map_contact,
)
from resweep.drive.body.footing import Footing
from resweep.drive.command import Command, Event, check_command
from resweep.drive.config import LoopConfig
from resweep.drive.drive_traffic import Traffic
from resweep.drive.idm import RoadUser
from resweep.drive.nearness import NearnessLog
from resweep.drive.sensing.instruments import WIDTHS, VehicleMotion, make_instruments
from resweep.drive.sensing.lidars import Known, MountedLidar
from resweep.drive.sensing.observation import Observation, Scan, Truth, make_no_readings
from resweep.drive.sensing.rig import Rig
from resweep.drive.vehicles import State, Vehicle, advance
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

OnSweep = Callable[[str, int, Sweep], None]
Scans = dict[str, tuple[Scan, ...]]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a vehicle drives in: the ground under it, what it can strike, and the traffic."""

    footing: Footing
    probe: BoxProbe
    traffic: Traffic


class Episode:
    """A drive that is under way. `begin` gives the first observation, `step` takes a command and gives the next.

    ``outcome`` is empty until the drive ends: then ``goal``, ``collision``, ``left-ground`` or ``time``, or the outcome
    given to `end`. ``states`` are rows (time, x, y, z, yaw, speed, lateral speed, yaw rate, steering) after each step.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        rig: Rig,
        lidars: list[MountedLidar],
        around: Surroundings,
        start: State,
        config: LoopConfig,
        seed: int,
        duration_s: float,
        truth: bool = False,
    ) -> None:
        self.vehicle, self.config, self.duration_s = vehicle, config, duration_s
        self.lidars, self._around, self._truth = lidars, around, truth
        self._instruments = make_instruments(rig, seed)
        self.state = start
        self.number, self.outcome = 0, ""
        self.events: list[Event] = []
        self.states: list[list[float]] = []
        self.nearness = NearnessLog()
        self._queue: deque[tuple[float, Command | str]] = deque()
        self._acting: Command | str = (start.speed, 0.0) if vehicle.model == "skid-steer" else (0.0, start.steering)
        self._touching: set[str] = set()
        self._watch = ContactMonitor(vehicle)
        pose = self._place_start(start)
        self._path = Trajectory(np.zeros(1), pose[None])
        self._note_state()

    @property
    def time_s(self) -> float:
        """Seconds since the start."""
        return self.number / self.config.control_hz

    @property
    def pose(self) -> Array:
        """``T_world_vehicle`` (4, 4) now."""
        return np.asarray(self._path.poses[-1])

    @property
    def actors(self) -> tuple[Any, ...]:
        """The actors, with their motion as far as it is known."""
        return self._around.traffic.actors

    def begin(self) -> Observation:
        """The observation at time 0: instruments only, as no sweep has ended."""
        still = VehicleMotion(self._path, np.array([self.state.speed]), np.array([self.state.yaw_rate]), 0.0, 0.0)
        return self._observe(still, {lidar.name: () for lidar in self.lidars})

    def step(self, command: Command | str, known: Known | None = None, on_sweep: OnSweep | None = None) -> Observation:
        """Drive on under a command, or under `BRAKE`, until the next one is due.

        A command that is no two finite numbers is an error, and changes nothing.
        ``known`` gives sweeps that exist already; ``on_sweep`` gets every sweep as it ends. Without it, sweeps have
        no more than the observation shows.
        """
        if self.outcome:
            raise ResweepError(f"drive: has ended ({self.outcome}); begin another")
        self._queue.append((self.time_s + self.vehicle.delay_s, check_command(command)))
        motion = self._move()
        self.number += 1
        self._note_state()
        scans = self._sweep(motion, known, on_sweep)
        observation = self._observe(motion, scans)
        if not self.outcome and self.time_s >= self.duration_s - 1e-9:
            self.end("time")
        return observation

    def end(self, outcome: str, time_s: float | None = None, **more: Any) -> None:
        """End the drive, with an event that gives the reason."""
        self.outcome = outcome
        self.note("end", time_s, outcome=outcome, **more)

    def note(self, kind: str, time_s: float | None = None, **more: Any) -> None:
        """Record an event."""
        self.events.append({"time_s": self.time_s if time_s is None else time_s, "kind": kind, **more})

    def _place_start(self, start: State) -> Array:
        """The first pose; raises where there is no ground or something stands."""
        where = f"start ({start.x:.1f}, {start.y:.1f})"
        height = self._around.footing.first_height(start.x, start.y)
        pose = np.full((4, 4), np.nan)
        if math.isfinite(height):
            (pose,) = self._around.footing.poses(np.array([[start.x, start.y]]), np.array([start.yaw]), height)
        if not np.isfinite(pose).all():
            raise ResweepError(
                f"{where}: no ground there that the vehicle '{self.vehicle.name}' can stand on; start elsewhere"
            )
        hit = self._around.probe.strike(pose[None])
        if hit is not None:
            x, y, _ = hit.place
            raise ResweepError(
                f"{where}: the vehicle '{self.vehicle.name}' would stand in {hit.what} at ({x:.1f}, {y:.1f}); "
                "start elsewhere"
            )
        path = Trajectory(np.zeros(1), pose[None])
        for actor in self._around.traffic.actors:
            contact, _ = find_actor_contact(self.vehicle.box, path, actor, 0.0, 0.0)
            if contact is not None:
                raise ResweepError(f"{where}: the actor '{actor.name}' stands there at the start; start elsewhere")
        return pose

    def _move(self) -> VehicleMotion:
        """The motion of one period, as far as it goes: cut where it leaves the ground or strikes something."""
        begin, step_s = self.time_s, self.config.physics_step_s
        states = [self.state]
        grade = float(self.pose[2, 0])
        for at in range(self.config.steps_per_command):
            states.append(
                advance(self.vehicle, states[-1], self._command_at(begin + at * step_s, states[-1]), step_s, grade)
            )
        end = (self.number + 1) / self.config.control_hz
        times = np.append(begin + np.arange(len(states) - 1) * step_s, end)
        places = np.array([(state.x, state.y) for state in states])
        yaw = np.array([state.yaw for state in states])
        poses = self._around.footing.poses(places, yaw, float(self.pose[2, 3]))
        poses[0] = self.pose
        lost = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
        if len(lost):
            self._cut(states, poses, int(lost[0]) - 1)
            self.end("left-ground", float(times[lost[0]]), x=float(places[lost[0], 0]), y=float(places[lost[0], 1]))
        path = Trajectory.trusted(times, poses)
        velocity = self.state.speed * self.pose[:2, 0]
        ego = RoadUser(self.pose, velocity, self.vehicle.box, is_ego=True)
        self._around.traffic.advance(begin, end, ego, path.poses[:, :3, 3])
        contact_s = self._find_contacts(path)
        if contact_s is not None and self.config.stop_on_collision and not self.outcome:
            path, states = self._hold(path, states, contact_s)
            self.end("collision", contact_s)
        if not self.outcome:
            self._check_goal(path)
        self.state = states[-1]
        return self._extend(path, states)

    def _command_at(self, time_s: float, state: State) -> Command:
        """The command that acts at a time, once its delay is over."""
        while self._queue and self._queue[0][0] <= time_s + 1e-9:
            self._acting = self._queue.popleft()[1]
        if isinstance(self._acting, str):
            return self.vehicle.braking_command(state.speed, state.steering)
        return self._acting

    def _find_contacts(self, path: Trajectory) -> float | None:
        """Record new contacts along a path; when the first was, if any."""
        found: list[float] = []
        touching: set[str] = set()
        contact = find_map_contact(self._around.probe, path)
        if contact is not None:
            touching.add("map")
            if "map" not in self._touching:
                found.append(contact.time_s)
                self.note("collision", contact.time_s, **{"with": contact.what, "place": list(contact.place)})
        for actor, seen in self._watch.look(path, self._around.traffic.actors):
            self.nearness.note_encounter(actor.name, seen, self.state.speed > 0.0)
            if seen.contact is not None:
                touching.add(actor.name)
                if actor.name not in self._touching:
                    found.append(seen.contact.time_s)
                    speed = float(self.state.speed)
                    self.note("collision", seen.contact.time_s, **{"with": f"actor {actor.name}", "speed_mps": speed})
        self._touching = touching
        return min(found, default=None)

    def _cut(self, states: list[State], poses: Array, last: int) -> None:
        """Let the vehicle stand at knot ``last`` for the rest of a period."""
        for at in range(last + 1, len(states)):
            states[at] = _stop_state(states[last])
            poses[at] = poses[last]

    def _hold(self, path: Trajectory, states: list[State], contact_s: float) -> tuple[Trajectory, list[State]]:
        """The path up to a contact, and then at rest."""
        times, pose = path.times, path.at(contact_s)
        poses, after = path.poses.copy(), times >= contact_s
        poses[after] = pose
        last = states[max(0, int(np.flatnonzero(~after)[-1]))] if (~after).any() else states[0]
        x, y = float(pose[0, 3]), float(pose[1, 3])
        held = replace(_stop_state(last), x=x, y=y, yaw=math.atan2(pose[1, 0], pose[0, 0]))
        return Trajectory.trusted(times, poses), [
            held if late else state for state, late in zip(states, after, strict=True)
        ]

    def _check_goal(self, path: Trajectory) -> None:
        if self.config.goal is None:
            return
        apart = path.poses[:, :2, 3] - np.array(self.config.goal)
        near = np.flatnonzero((apart * apart).sum(axis=1) <= self.config.goal_radius_m**2)
        if len(near) and not any(event["kind"] == "goal" for event in self.events):
            self.note("goal", float(path.times[near[0]]))
            if self.config.stop_on_goal:
                self.end("goal", float(path.times[near[0]]))

    def _extend(self, path: Trajectory, states: list[State]) -> VehicleMotion:
        """The motion of the period, with the knot before it; the path of all sweeps that have not ended grows by it."""
        knots, poses = self._path.times, self._path.poses
        times, poses = np.concatenate([knots[:-1], path.times]), np.concatenate([poses[:-1], path.poses])
        earliest = min([path.start, *(lidar.next_start_s for lidar in self.lidars)])
        first = max(0, int(np.searchsorted(times, earliest, side="right")) - 3)
        self._path = Trajectory.trusted(times[first:], poses[first:])
        before = max(0, len(self._path) - len(states) - 1)
        shown = Trajectory.trusted(self._path.times[before:], self._path.poses[before:])
        lead = len(shown) - len(states)
        speed = np.array([states[0].speed] * lead + [state.speed for state in states])
        rate = np.array([states[0].yaw_rate] * lead + [state.yaw_rate for state in states])
        return VehicleMotion(shown, speed, rate, path.start, path.end)

    def _sweep(self, motion: VehicleMotion, known: Known | None, on_sweep: OnSweep | None) -> Scans:
        scans: Scans = {}
        for lidar in self.lidars:
            if lidar.simulator.actors != self._around.traffic.actors:
                lidar.simulator = lidar.simulator.with_actors(self._around.traffic.actors)
            ended = lidar.sweeps_until(motion.end_s, self._path, known, bare=on_sweep is None)
            for index, sweep in ended:
                self.nearness.note_sweep(self._around.traffic.actors, sweep, self.time_s)
                if on_sweep is not None:
                    on_sweep(lidar.name, index, sweep)
            scans[lidar.name] = tuple(lidar.scan(sweep) for _, sweep in ended)
        return scans

    def _observe(self, motion: VehicleMotion, scans: Scans) -> Observation:
        read = {name: instrument.read(motion) for name, instrument in self._instruments.items()}
        readings = {name: read.get(name, make_no_readings(width)) for name, width in WIDTHS.items()}
        truth = self._make_truth() if self._truth else None
        return Observation(self.number, self.time_s, scans, **readings, truth=truth)

    def _make_truth(self) -> Truth:
        rows = []
        for actor in self._around.traffic.actors:
            if actor.is_present(self.time_s, self.time_s):
                pose, bounds = actor.pose_at(self.time_s), find_actor_bounds(actor)
                size = (bounds[1] - bounds[0]).tolist()
                yaw = math.atan2(pose[1, 0], pose[0, 0])
                rows.append((actor.name, *pose[:3, 3].tolist(), yaw, *size))
        return Truth(self.pose.copy(), self.state.speed, self.state.yaw_rate, tuple(rows))

    def _note_state(self) -> None:
        s = self.state
        z = float(self._path.poses[-1, 2, 3])
        self.states.append([self.time_s, s.x, s.y, z, s.yaw, s.speed, s.lateral, s.yaw_rate, s.steering])


def _stop_state(state: State) -> State:
    return replace(state, speed=0.0, lateral=0.0, yaw_rate=0.0, acceleration=0.0)
