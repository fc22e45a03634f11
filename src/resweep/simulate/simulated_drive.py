"""`SimulatedDrive`: a description of a simulated drive from which any process computes its sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError
from resweep.io.source import make_absolute_name, with_source
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor
from resweep.scenes.opening import SCENE, stream_world
from resweep.sensors import Sensor
from resweep.simulate.realism import RealismModel
from resweep.simulate.retrace import Retracer
from resweep.simulate.simulator import Simulator
from resweep.work import cache
from resweep.worlds import StreamedWorld, World


@dataclass(frozen=True, eq=False)
class SimulatedDrive:
    """The drive of a sensor through a named world: ``scene:NAME``, a saved world or a mesh file, and its ``up`` axis.

    It moves along a ``motion``, which is what `Simulator.run` takes, with its ``starts`` and number of ``sweeps``; or
    drives ``like`` a log (`Simulator.run_like`), with ``recorded`` by the beams of that log (`Retracer.for_log`).
    ``memory_bytes`` bounds what a process keeps of the world. ``realism`` is a learned model of the sensor.
    """

    world: str
    sensor: Sensor
    up: str | None = None
    actors: tuple[Actor, ...] = ()
    seed: int = 0
    threads: int = 0
    motion: Trajectory | Array | None = None
    starts: Array | None = None
    sweeps: int | None = None
    like: Log | None = None
    recorded: bool = False
    offset: Array | None = None
    standing: bool = False
    memory_bytes: int | None = None
    realism: RealismModel | None = None

    def __post_init__(self) -> None:
        if (self.motion is None) == (self.like is None):
            raise ResweepError("drive: give either a motion or a log to drive like")
        if not self.world.startswith(SCENE):
            object.__setattr__(self, "world", make_absolute_name(self.world))

    def open(self) -> Log:
        """The drive, computed as it is read; the world is read by name, once a process."""
        return self.run(_open_world(self.world, self.seed, self.up, self.memory_bytes))

    def run(self, world: World | StreamedWorld, *, ready: bool = False) -> Log:
        """The same in ``world``, which must be the one of its name. Other processes read that by themselves.

        With ``ready`` the native scene is built now, not with the first sweep.
        """
        return with_source(self._run(world, ready), self)

    def _run(self, world: World | StreamedWorld, ready: bool) -> Log:
        how: dict[str, Any] = {
            "actors": self.actors,
            "realism": self.realism,
            "seed": self.seed,
            "threads": self.threads,
        }
        if self.recorded:
            assert self.like is not None
            return Retracer.for_log(world, self.like, self.sensor, **how).run(self.like)
        simulator = Simulator(world, self.sensor, **how)
        if ready:
            _ = simulator.scene
        if self.like is not None:
            return simulator.run_like(self.like, offset=self.offset, standing=self.standing)
        assert self.motion is not None
        return simulator.run(self.motion, sweeps=self.sweeps, starts=self.starts)


@cache(2)
def _open_world(name: str, seed: int, up: str | None, memory_bytes: int | None) -> World | StreamedWorld:
    if not name.startswith(SCENE) and "://" not in name and not Path(name).exists():
        raise ResweepError(f"{name}: is not there for a worker; all of them must see the same files")
    return stream_world(name, seed, up, memory_bytes=memory_bytes)
