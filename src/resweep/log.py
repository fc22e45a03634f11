"""A drive, recorded or simulated: sweeps in order, read or computed only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

if TYPE_CHECKING:
    from resweep.sensors import Sensor


@dataclass(frozen=True)
class EmptyBeams:
    """Where the beams without return of a log come from.

    ``source``: ``fired`` (simulated, or recorded with the beams), ``stored`` (the format keeps empty cells),
    ``inferred`` (from the grid of the sensor) or ``unknown`` (only beams with returns are there). ``detail`` says
    how, or why not, for people.
    """

    source: Literal["fired", "stored", "inferred", "unknown"] = "unknown"
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Log:
    """Sweeps with a trajectory; ``log[i]`` is a `Sweep`, ``log[a:b]`` a `Log` that loads nothing.

    ``load(i)`` gives the i-th sweep. ``times`` (n,) are sweep timestamps and ``poses`` (n, 4, 4) the
    sweeps' ``T_world_sensor``, both there without loading any sweep; ``poses_known`` is false where they are
    identities that stand for nothing, ``times_known`` where times were assumed from a rate.

    ``sensor`` is the spec of the sensor, None where it is unknown; ``sensor_name`` is what the log calls it.
    ``labels`` says what the label ids of its returns mean, ``empty_beams`` where beams without return come from.
    ``steps`` names what `map` added between the source and the caller, in order. ``meta`` is provenance for
    people: no code decides by it.
    """

    load: Callable[[int], Sweep]
    times: Array
    poses: Array
    name: str = ""
    sensor: Sensor | None = None
    sensor_name: str = ""
    labels: LabelSet = UNKNOWN_LABELS
    poses_known: bool = True
    times_known: bool = True
    empty_beams: EmptyBeams = EmptyBeams()
    steps: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sensor is not None and not self.sensor_name:
            object.__setattr__(self, "sensor_name", self.sensor.name)

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, index: int) -> Sweep: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int]) -> Log: ...
    def __getitem__(self, index: int | slice | Sequence[int]) -> Sweep | Log:
        if isinstance(index, int | np.integer):
            at = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= at < len(self):
                raise IndexError(f"log '{self.name}' has {len(self)} sweeps, no sweep {index}")
            return self.load(at)
        rows = index if isinstance(index, slice) else np.asarray(index, dtype=None if len(index) else int)
        chosen = np.arange(len(self))[rows]
        load = self.load
        return replace(self, load=lambda i: load(int(chosen[i])), times=self.times[chosen], poses=self.poses[chosen])

    def __iter__(self) -> Iterator[Sweep]:
        for at in range(len(self)):
            yield self.load(at)

    def map(self, function: Callable[..., Sweep], step: str = "", *, indexed: bool = False, **changes: Any) -> Log:
        """The log with ``function(sweep)`` applied to each sweep when it is loaded.

        With ``indexed`` the function is called as ``function(sweep, i)``, i being the place in this log. ``step``
        names it when the log is printed (default: the function's name). ``changes`` are fields of the log that the
        function changes, such as ``poses``.
        """
        load = self.load

        def mapped(at: int) -> Sweep:
            return function(load(at), at) if indexed else function(load(at))

        name = step or getattr(function, "__name__", "map")
        return replace(self, load=mapped, steps=(*self.steps, name), **changes)

    @property
    def trajectory(self) -> Trajectory:
        """The sweeps' poses over time."""
        return Trajectory(self.times, self.poses)

    def __repr__(self) -> str:
        facts = [
            f"{len(self)} sweeps",
            f"sensor {self.sensor_name or 'unknown'}",
            f"labels {self.labels.name}",
            "poses " + ("known" if self.poses_known else "unknown"),
            "times " + ("known" if self.times_known else "assumed"),
            f"empty beams {self.empty_beams.source}",
        ]
        chain = " -> ".join(("read", *self.steps))
        return f"Log('{self.name}': {', '.join(facts)}; {chain})"

    def with_sweeps(self, sweeps: Sequence[Sweep], **changes: Any) -> Log:
        """Other sweeps, in memory, with what is known of this log; ``changes`` are fields that differ."""
        other = Log.from_sweeps(sweeps)
        return replace(self, **{"load": other.load, "times": other.times, "poses": other.poses, **changes})

    @classmethod
    def from_sweeps(cls, sweeps: Sequence[Sweep], name: str = "", **facts: Any) -> Log:
        """A log of sweeps already in memory; ``facts`` are further fields, such as ``labels``."""
        held = list(sweeps)
        if not held:
            raise ResweepError("log: no sweep given; a log holds at least one")
        times = np.array([sweep.timestamp for sweep in held])
        poses = np.stack([sweep.pose for sweep in held])
        return cls(held.__getitem__, times, poses, name, **{"sensor_name": held[0].sensor, **facts})
