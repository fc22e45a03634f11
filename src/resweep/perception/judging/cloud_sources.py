"""Where the clouds of a judged sweep come from: a world that fires its beams again, or a log simulated before."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.perception.judging.clouds import (
    CONTROL,
    IDEAL,
    LIKELY,
    NULL_NEXT,
    NULL_NOISE,
    OURS,
    REAL,
    JudgedCloud,
    SimulatedSweep,
    take_first_returns,
)
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.perception.judging.negative_control import NegativeControl
from resweep.perception.judging.nulls import add_range_noise, take_next
from resweep.simulate import RealismModel, Retracer
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World


class Simulated(Protocol):
    """Gives the simulated sweeps of recorded ones."""

    title: str
    noise: str
    left_out: int
    """Recorded returns so far from what no map holds, such as moving cars: the world has something else there."""

    def fire(self, real: Sweep, number: int) -> tuple[dict[str, Sweep], Sweep]:
        """Sweeps by the name of their cloud, `OURS` among them, and the recorded sweep where it lies in the world."""


class FiredAgain:
    """Recorded beams in a world, as `resweep.resimulate` fires them; without noise and most likely too."""

    left_out = 0

    def __init__(
        self,
        log: Log,
        world: World | StreamedWorld,
        *,
        realism: RealismModel | None,
        noise: bool,
        seed: int,
        threads: int,
    ) -> None:
        log.require_beams("they cannot be fired again")
        if len(log) > 1:
            log.require_poses("its beams have no place in a world")
        if realism is not None:
            realism.check_scale(log.intensity_scale)
        self._drawn = Retracer.for_log(world, log, realism=realism, noise=noise, seed=seed, threads=threads)
        self._ideal = Retracer.for_log(world, log, noise=False, threads=threads) if noise else None
        self.title = f"{log.name} fired again"
        self.noise = self._drawn.describe_noise()
        self._map_filter = world.map_filter

    def fire(self, real: Sweep, number: int) -> tuple[dict[str, Sweep], Sweep]:
        """The sweep of `OURS`, `IDEAL` unless that is the same, and `LIKELY`."""
        if self._map_filter is not None:
            self.left_out += int(np.count_nonzero(~self._map_filter.keeps(real)))
        placed = self._drawn.place(real)
        found = {OURS: self._drawn.sweep(real, number, placed), LIKELY: self._drawn.predict(real, placed)}
        if self._ideal is not None:
            found[IDEAL] = self._ideal.sweep(real, number, placed)
        return found, placed


class SimulatedLog:
    """Sweeps of a log that was simulated before, the pairs of recorded ones by number."""

    left_out = 0

    def __init__(self, log: Log, pairs: dict[int, int]) -> None:
        self._log, self._pairs = log, pairs
        self.title, self.noise = log.name, str(log.meta.get("noise", "unknown"))

    def fire(self, real: Sweep, number: int) -> tuple[dict[str, Sweep], Sweep]:
        """The sweep of `OURS` alone, seen from the place of the recorded one."""
        return {OURS: self._log[self._pairs[number]]}, real


class CloudSource:
    """All clouds of a judged sweep."""

    def __init__(
        self,
        drive: JudgedDrive,
        simulated: Simulated,
        control: NegativeControl,
        config: JudgingConfig,
        seed: int,
        threads: int,
    ) -> None:
        self.drive, self.simulated, self.control, self.config = drive, simulated, control, config
        self.seed, self.threads = seed, threads
        self.without_next: list[int] = []
        self.has_intensity = False

    def list_clouds(self, number: int) -> dict[str, JudgedCloud]:
        """The clouds of sweep ``number``, `REAL` first."""
        real = take_first_returns(self.drive.load(number))
        if not len(real):
            raise ResweepError(f"judge: sweep {number} of '{self.drive.log.name}' has no return to judge; leave it out")
        given = bool(real.intensity.any())
        self.has_intensity |= given
        clouds = {
            REAL: JudgedCloud(real, np.arange(len(real))),
            NULL_NOISE: add_range_noise(real, self.config.null_sigma_m, self.seed, number),
        }
        after = take_next(self.drive, number, real, self.config, self.threads)
        if after is None:
            self.without_next.append(number)
        else:
            clouds[NULL_NEXT] = after
        fired, placed = self.simulated.fire(real, number)
        for name, sweep in fired.items():
            first = take_first_returns(sweep)
            # As in the recording: a model that reads intensities sees the same nothing on both sides.
            seen = first if given else replace(first, intensity=np.zeros(len(first), np.float32))
            pair = SimulatedSweep.pair(seen, real)
            clouds[name] = pair.cloud
            if name == OURS:
                clouds |= pair.swap(given)
        control = self.control.fire(real, number, placed)
        if control is not None:
            clouds[CONTROL] = control
        return clouds
