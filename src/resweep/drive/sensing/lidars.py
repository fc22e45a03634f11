"""The LiDARs of a vehicle: sweeps along its true motion, as each of them ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resweep.drive.sensing.observation import Scan
from resweep.drive.sensing.rig import LidarMount, Rig
from resweep.drive.vehicles import Vehicle
from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.pose import Trajectory, inverse
from resweep.scenario import Actor
from resweep.scenario.actors import find_common_labels
from resweep.scenes import box
from resweep.scenes.cars import car
from resweep.sensors import Rosette, Sensor, fire
from resweep.simulate import Simulator
from resweep.simulate.ego import Ego
from resweep.simulate.philox import key
from resweep.sweep import Sweep
from resweep.worlds import World

_TINY_S = 1e-9
# Gives a sweep that exists already, by the name of its LiDAR and its number; None if it must be simulated.
Known = Callable[[str, int], Sweep | None]


class MountedLidar:
    """One LiDAR of a vehicle in a world."""

    def __init__(self, mount: LidarMount, sensor: Sensor, simulator: Simulator) -> None:
        self.mount, self.sensor, self.simulator = mount, sensor, simulator
        self.next = 0
        self._T_vehicle_sensor = mount.T_vehicle_sensor
        # A look-up by a sensor hashes all of its spec: what all sweeps share is found once.
        self._lasts_s = None if isinstance(sensor.pattern, Rosette) else float(fire(sensor).time[-1])

    @property
    def name(self) -> str:
        """Its name on this vehicle."""
        return self.mount.name

    @property
    def next_start_s(self) -> float:
        """When its next sweep begins, seconds."""
        return self.mount.start_s + self.next * self.sensor.sweep_period_s

    def sweeps_until(
        self, time_s: float, path: Trajectory, known: Known | None = None, bare: bool = False
    ) -> list[tuple[int, Sweep]]:
        """The sweeps that ended since the last call, up to ``time_s``; ``path`` holds ``T_world_vehicle`` of them.

        ``bare`` ones suffice where nothing but `scan` looks at them.
        """
        bare = bare and self.simulator.realism is None
        found: list[tuple[int, Sweep]] = []
        while True:
            start, index = self.next_start_s, self.next
            end = start + (float(fire(self.sensor, index).time[-1]) if self._lasts_s is None else self._lasts_s)
            if end > time_s + _TINY_S:
                return found
            sweep = None if known is None else known(self.name, index)
            if sweep is None:
                motion = path.window(start, end).offset(self._T_vehicle_sensor)
                sweep = self.simulator.sweep(motion, start=start, index=index, bare=bare)
            found.append((index, sweep))
            self.next += 1

    def scan(self, sweep: Sweep) -> Scan:
        """A sweep as the autonomy gets it."""
        times = sweep.beam_time
        return Scan(
            sweep.points,
            sweep.time,
            sweep.intensity,
            sweep.ring,
            float(times[0]) if len(times) else sweep.timestamp,
            float(times[-1]) if len(times) else sweep.timestamp,
            self._T_vehicle_sensor,
        )

    def empty_log(self, name: str, meta: dict[str, object]) -> Log:
        """A log of no sweep with all that is known of this LiDAR's drive."""
        return Log(
            _refuse_sweep,
            np.zeros(0),
            np.zeros((0, 4, 4)),
            name=name,
            sensor=self.sensor,
            labels=find_common_labels(self.simulator.world, self.simulator.actors),
            empty_beams=EmptyBeams("fired", "simulated"),
            meta=meta,
        )


def _refuse_sweep(at: int) -> Sweep:
    raise IndexError(f"no sweep {at}")


def make_lidars(
    rig: Rig, vehicle: Vehicle, world: World, actors: Sequence[Actor], seed: int, threads: int
) -> list[MountedLidar]:
    """The LiDARs of a rig, which share one native scene; the vehicle's own body blocks their beams."""
    lidars: list[MountedLidar] = []
    for at, mount in enumerate(rig.lidars):
        sensor = mount.load()
        own = int(key(seed, at)[0])
        if not lidars:
            simulator = Simulator(world, sensor, actors=actors, noise=mount.noise, seed=own, threads=threads)
        else:
            simulator = lidars[0].simulator.with_sensor(sensor, noise=mount.noise).with_seed(own)
        simulator.ego = _make_body(vehicle, mount)
        lidars.append(MountedLidar(mount, sensor, simulator))
    return lidars


def reseed_lidars(lidars: Sequence[MountedLidar], seed: int) -> list[MountedLidar]:
    """The same LiDARs with other random numbers, as `make_lidars` would give them."""
    return [
        MountedLidar(lidar.mount, lidar.sensor, lidar.simulator.with_seed(int(key(seed, at)[0])))
        for at, lidar in enumerate(lidars)
    ]


def _make_body(vehicle: Vehicle, mount: LidarMount) -> Ego:
    """The vehicle's body in the frame of one of its LiDARs."""
    low, high = vehicle.box
    at = np.array(mount.position_m)
    if ((low < at) & (at < high)).all():
        raise ResweepError(
            f"lidar '{mount.name}': sits within the vehicle's box, which would block every beam; "
            f"mount it above {vehicle.height_m:g} m or outside"
        )
    x, y = ((low + high) / 2)[:2].tolist()
    if vehicle.shape == "car":
        body = car((x, y, 0.0), length_m=vehicle.length_m, width_m=vehicle.width_m, height_m=vehicle.height_m)
    else:
        body = box((high - low).tolist(), (x, y, float(low[2])))
    return Ego(body.moved(inverse(mount.T_vehicle_sensor)))
