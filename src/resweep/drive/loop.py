"""The closed loop: sensors, autonomy, control, vehicle and new poses, in any world."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from resweep.drive.autonomy.channel import open_channel
from resweep.drive.autonomy.guard import Decision, Guard
from resweep.drive.body.collisions import BoxProbe
from resweep.drive.body.footing import Footing
from resweep.drive.body.solid import make_solid
from resweep.drive.config import LoopConfig
from resweep.drive.drive_traffic import Traffic, make_traffic
from resweep.drive.episode import Episode, Surroundings
from resweep.drive.idm import Idm
from resweep.drive.recording import MemoryRecorder, Recorder, check_target, open_recorder
from resweep.drive.run import Run, load_run
from resweep.drive.sensing.lidars import MountedLidar, make_lidars, reseed_lidars
from resweep.drive.sensing.observation import Mission, Observation
from resweep.drive.sensing.rig import Sensors, make_rig
from resweep.drive.vehicles import State, Vehicle, load_vehicle
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.scenario import Actor, Bank, Scenario
from resweep.scenario.ground import Ground
from resweep.worlds import World


class Loop:
    """A vehicle with sensors in a world, driven by an autonomy; the same ``seed`` gives the same bytes.

    ``vehicle`` is a `Vehicle`, a name of the catalog or a YAML file. ``sensors`` is a `Rig`, or LiDARs by name, spec or
    `LidarMount`, which get GPS, compass and wheel odometry beside them. ``autonomy`` is a callable ``observation ->
    command``, an object with ``step(observation)`` and perhaps ``reset(mission)``, or a `SocketAutonomy`; None if the
    loop is only stepped by `episode`.

    The vehicle begins at ``start`` (x, y, yaw) with ``speed_mps``, or where the ego of the ``scenario`` does, whose
    path is then the route of the mission. ``actors`` come beside those of the scenario; those of its own that
    ``reactive`` names drive by the Intelligent Driver Model (`resweep.drive.idm.Idm`). With ``truth`` observations
    hold the true state too. ``world_name`` is noted in the run, as ``scene:street`` or a path, for whoever replays it.
    """

    def __init__(
        self,
        world: World,
        vehicle: Vehicle | str,
        sensors: Sensors,
        autonomy: Any = None,
        *,
        scenario: Scenario | None = None,
        start: Sequence[float] | None = None,
        speed_mps: float | None = None,
        actors: Sequence[Actor] = (),
        reactive: Mapping[str, Idm] | None = None,
        bank: Bank | None = None,
        config: LoopConfig | None = None,
        seed: int = 0,
        threads: int = 0,
        truth: bool = False,
        world_name: str = "",
    ) -> None:
        self.world, self.world_name = world, world_name
        self.vehicle = load_vehicle(vehicle) if isinstance(vehicle, str | Path) else vehicle
        self.rig = make_rig(sensors, self.vehicle.length_m, self.vehicle.rear_overhang_m, self.vehicle.height_m)
        self.autonomy, self.scenario, self.config = autonomy, scenario, config or LoopConfig()
        self.seed, self.threads, self.truth = seed, threads, truth
        self._extra, self._bank, self.reactive = tuple(actors), bank, dict(reactive or {})
        self.duration_s = self._choose_duration()
        self.start, self.speed_mps, self.route = self._choose_start(start, speed_mps)
        if autonomy is not None:
            open_channel(autonomy)  # refuses what cannot drive now, not after the world is built

    @cached_property
    def ground(self) -> Ground:
        """What the vehicle stands on and can strike."""
        return make_solid(self.world, self.vehicle)

    @cached_property
    def _probe(self) -> BoxProbe:
        return BoxProbe(self.vehicle, self.ground)

    @cached_property
    def _lidars(self) -> list[MountedLidar]:
        return make_lidars(self.rig, self.vehicle, self.world, (), self.seed, self.threads)

    def with_seed(self, seed: int) -> Loop:
        """The same with other random numbers; what is built of the world is shared."""
        other = copy.copy(self)
        other.seed = seed
        other.__dict__.update(ground=self.ground, _probe=self._probe, _lidars=reseed_lidars(self._lidars, seed))
        return other

    @property
    def mission(self) -> Mission:
        """What the autonomy gets at the start."""
        x, y, yaw = self.start
        goal = self.config.goal
        return Mission(
            self.vehicle,
            self.rig,
            1.0 / self.config.control_hz,
            (x, y, yaw),
            goal,
            self.route,
            self._choose_speed(),
            self.speed_mps,
            self.seed,
        )

    def episode(self, traffic: Traffic | None = None) -> Episode:
        """A drive for the caller to step; raises if the vehicle cannot stand at its start, or the goal is no place."""
        footing = Footing(self.ground, self.vehicle)
        if (goal := self.config.goal) is not None and not math.isfinite(footing.first_height(*goal)):
            raise ResweepError(f"goal ({goal[0]:.1f}, {goal[1]:.1f}): no ground there; choose another")
        moving = traffic or self._make_traffic()
        x, y, yaw = self.start
        state = State(x, y, yaw, self.speed_mps)
        lidars = [MountedLidar(own.mount, own.sensor, own.simulator.with_actors(moving.actors)) for own in self._lidars]
        around = Surroundings(footing, self._probe, moving)
        return Episode(
            self.vehicle, self.rig, lidars, around, state, self.config, self.seed, self.duration_s, self.truth
        )

    def run(
        self,
        output: str | Path | None = None,
        *,
        overwrite: bool = False,
        keep_sweeps: bool = True,
        progress: bool = False,
    ) -> Run:
        """Drive until the run ends, and give what happened.

        With ``output`` the run is written there as it is driven, and a run that was stopped goes on when it is
        called again with the same settings; the autonomy then sees the same observations once more. Without,
        sweeps stay in memory. If not ``keep_sweeps`` they are dropped: `replay` makes them again.
        """
        if self.autonomy is None:
            raise ResweepError("loop: it has no autonomy; give one, or step it with episode()")
        return self._record(output, overwrite, keep_sweeps, progress, None)

    def replay(self, run: Run | str | Path, output: str | Path | None = None, *, overwrite: bool = False) -> Run:
        """Drive a run again by its recorded commands, without its autonomy: the same states, events and sweeps."""
        recorded = run if isinstance(run, Run) else load_run(run)
        return self._record(output, overwrite, True, False, list(recorded.decisions))

    def settings(self) -> dict[str, Any]:
        """All that decides a run but the world and the autonomy, as plain data."""
        return {
            "world": self.world_name,
            "vehicle": self.vehicle.model_dump(mode="json"),
            "rig": self.rig.model_dump(mode="json"),
            "config": self.config.model_dump(mode="json"),
            "scenario": None if self.scenario is None else self.scenario.model_dump(mode="json"),
            "start": list(self.start),
            "start_speed_mps": self.speed_mps,
            "duration_s": self.duration_s,
            "reactive": {name: idm.model_dump(mode="json") for name, idm in sorted(self.reactive.items())},
            "actors": [[actor.name, actor.trajectory.times.tolist()] for actor in self._extra],
            "seed": self.seed,
        }

    def _record(
        self,
        output: str | Path | None,
        overwrite: bool,
        keep: bool,
        progress: bool,
        decisions: list[Decision] | None,
    ) -> Run:
        # The sensor of a vehicle on the world's ground may have nothing within reach.
        warnings.filterwarnings("ignore", message=r"sweep \d+: none of", module=r"resweep\.drive")
        if output is None:
            return self._drive(MemoryRecorder(keep), progress, decisions)
        place = Path(output)
        check_target(place, overwrite)
        world = f"{self.world.meta} {self.world.n_primitives} {self.world.bounds.tolist()}"
        first = self.rig.lidars[0].name if self.rig.lidars else ""
        with open_recorder(place, self.settings(), world, first if keep else None) as recorder:
            run = self._drive(recorder, progress, decisions)
            recorder.write(run)
        return load_run(place)

    def _drive(self, recorder: Recorder, progress: bool, recorded: list[Decision] | None) -> Run:
        episode = self.episode()
        guard = None if recorded is not None else Guard(open_channel(self.autonomy), self.vehicle, self.config.answers)
        before = recorder.read_decisions() if recorded is None else recorded
        decided: list[Decision] = []
        opening = () if guard is None else guard.start(self.mission)
        add_sweep = recorder.add_sweep if recorder.keeps_sweeps else None
        try:
            with open_progress(progress) as shown:
                shown.start("driving", math.ceil(self.duration_s * self.config.control_hz - 1e-9))
                observation = episode.begin()
                while not episode.outcome:
                    decision = self._decide(guard, observation, episode, before, decided, opening)
                    decided.append(decision)
                    recorder.add_decision(decision)
                    episode.events.extend(decision.events)
                    if decision.end:
                        episode.end(decision.end)
                        break
                    observation = episode.step(decision.command, recorder.find_sweep, add_sweep)
                    shown.advance()
        finally:
            if guard is not None:
                guard.channel.stop(episode.outcome)
        return self._make_run(episode, decided, recorder)

    def _decide(
        self,
        guard: Guard | None,
        observation: Observation,
        episode: Episode,
        before: list[Decision],
        decided: list[Decision],
        opening: tuple[Any, ...],
    ) -> Decision:
        """The decision of a step: a recorded one where there is one; the autonomy is asked all the same."""
        at = len(decided)
        if guard is None:
            if at >= len(before):
                raise ResweepError(f"replay: the run has {len(before)} commands, and goes on after them here")
            return before[at]
        decision = guard.decide(observation, episode.state.speed)
        if at == 0 and opening:
            decision = Decision(decision.command, (*opening, *decision.events), decision.end)
        if at >= len(before):
            return decision
        if decision.command != before[at].command:
            warnings.warn(
                f"drive: at {observation.time_s:.2f} s the autonomy answers {decision.command}, before the run was "
                f"stopped it answered {before[at].command}, which counts; it does not depend on its observations alone",
                stacklevel=3,
            )
        return before[at]

    def _make_run(self, episode: Episode, decided: list[Decision], recorder: Recorder) -> Run:
        return Run(
            episode.outcome,
            tuple(sorted(episode.events, key=lambda event: float(event["time_s"]))),
            np.array(episode.states),
            tuple(decided),
            episode.nearness.actors,
            self.settings(),
            recorder.logs(episode.lidars),
        )

    def _make_traffic(self) -> Traffic:
        traffic = make_traffic(self.scenario, self.world, self._bank, self.duration_s, self.reactive)
        return traffic.with_actors(self._extra) if self._extra else traffic

    def _choose_duration(self) -> float:
        if self.config.duration_s is not None:
            return self.config.duration_s
        if self.scenario is None:
            raise ResweepError("loop: no duration; give config=LoopConfig(duration_s=...) or a scenario")
        if self.scenario.duration_s is not None:
            return self.scenario.duration_s
        path = self.scenario.trajectory(self.world)
        return path.end - path.start

    def _choose_start(
        self, start: Sequence[float] | None, speed_mps: float | None
    ) -> tuple[tuple[float, float, float], float, Array]:
        """Start, speed and route: as given, else those of the scenario's ego."""
        route, begin, speed = np.zeros((0, 2)), None, 0.0
        if self.scenario is not None:
            # The route is the whole lane, however far the scenario's duration leads along it.
            whole = self.scenario.ego.at is None
            ego = self.scenario.model_copy(update={"duration_s": None}) if whole else self.scenario
            path = ego.trajectory(self.world)
            route = path.poses[:, :2, 3]
            first = path.poses[0]
            begin = (float(first[0, 3]), float(first[1, 3]), math.atan2(first[1, 0], first[0, 0]))
            if len(path) > 1:
                step = path.poses[1, :2, 3] - first[:2, 3]
                speed = math.sqrt(float((step * step).sum())) / float(path.times[1] - path.times[0])
        if start is not None:
            if len(start) != 3 or not all(math.isfinite(value) for value in start):
                raise ResweepError(f"start: expected x, y and yaw, got {start!r}")
            begin = (float(start[0]), float(start[1]), float(start[2]))
        if begin is None:
            raise ResweepError("loop: no start; give start=(x, y, yaw) or a scenario")
        chosen = speed if speed_mps is None else float(speed_mps)
        if not -self.vehicle.reverse_max_mps <= chosen <= self.vehicle.speed_max_mps:
            raise ResweepError(
                f"speed_mps: {chosen:g} m/s at the start; '{self.vehicle.name}' drives at most "
                f"{self.vehicle.speed_max_mps:g} m/s"
            )
        return begin, chosen, route

    def _choose_speed(self) -> float:
        if self.scenario is None:
            return self.vehicle.speed_max_mps
        speeds = self.scenario.ego.speed_mps
        return float(np.max(speeds)) if speeds is not None else self.speed_mps
