"""A drive, recorded or simulated: sweeps in order, read or computed only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Log:
    """Sweeps with a trajectory; ``log[i]`` is a `Sweep`, ``log[a:b]`` a `Log` that loads nothing.

    ``load(i)`` gives the i-th sweep. ``times`` (n,) are sweep timestamps and ``poses`` (n, 4, 4) the
    sweeps' ``T_world_sensor``, both known without loading any sweep. ``meta`` says where it came from.
    """

    load: Callable[[int], Sweep]
    times: Array
    poses: Array
    name: str = ""
    sensor: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

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
        return Log(
            lambda i: load(int(chosen[i])),
            self.times[chosen],
            self.poses[chosen],
            self.name,
            self.sensor,
            self.meta,
        )

    def __iter__(self) -> Iterator[Sweep]:
        for at in range(len(self)):
            yield self.load(at)

    @property
    def trajectory(self) -> Trajectory:
        """The sweeps' poses over time."""
        return Trajectory(self.times, self.poses)

    @classmethod
    def from_sweeps(cls, sweeps: Sequence[Sweep], name: str = "", meta: Mapping[str, Any] | None = None) -> Log:
        """A log of sweeps already in memory."""
        held = list(sweeps)
        if not held:
            raise ResweepError("log: no sweep given; a log holds at least one")
        return cls(
            held.__getitem__,
            np.array([sweep.timestamp for sweep in held]),
            np.stack([sweep.pose for sweep in held]),
            name,
            held[0].sensor,
            {} if meta is None else meta,
        )
