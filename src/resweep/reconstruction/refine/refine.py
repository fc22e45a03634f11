"""A world adjusted to the recorded beams: steps of EM, judged by the beams of sweeps that took no part in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resweep.pose import Array
from resweep.progress import begin_stage
from resweep.reconstruction.config import BuildConfig
from resweep.reconstruction.hybrid.config import HybridConfig
from resweep.reconstruction.map.beams import Beams
from resweep.reconstruction.map.cloud import Cloud
from resweep.reconstruction.map.map import Map
from resweep.reconstruction.refine.beams import EMPTY_RANGE_M, Gathered, find_splats, find_volumes, gather
from resweep.reconstruction.refine.births import bear_volumes
from resweep.reconstruction.refine.config import REFINEMENTS, Refine, RefineConfig, Step
from resweep.reconstruction.refine.steps import carve_again, learn_permeability, move_splats
from resweep.reconstruction.splats.config import SplatConfig, SplatSettings
from resweep.worlds import Layer

STAGE = "refining by likelihood"
_MOST_SWEEPS = 100  # that take part; of a longer log these are spread over it
_FEWEST_SWEEPS = 3
_REACH_M = 0.5  # beyond the points of a map, in which its primitives still lie


FitRest = Callable[[Array], Sequence[Layer]]  # the layers of some sweeps (m,), by number


def refine(
    map: Map,
    layers: Sequence[Layer],
    how: Refine,
    fit_rest: FitRest,
    settings: BuildConfig | None = None,
    threads: int = 0,
) -> tuple[Layer, ...]:
    """Layers of a map that make its recorded beams more likely: ``fast`` by a few steps, ``full`` by as many as help.

    ``fit_rest`` gives the layers of some sweeps, for the trial of ``full``. By the ``settings`` of the build, splats
    that were moved are carved and new volumes shaped; without a hybrid's none are born. Up to 100 sweeps, spread over
    the log, take part. With fewer than three the layers stay as they are.
    """
    sweeps = map.beam_source.sweeps if how != "none" and layers else np.zeros(0, np.int64)
    if len(sweeps) < _FEWEST_SWEEPS:
        return tuple(layers)
    sweeps = sweeps[np.unique(np.linspace(0, len(sweeps) - 1, min(len(sweeps), _MOST_SWEEPS)).astype(int))]
    config = REFINEMENTS[how]
    every = min(config.kept_every, len(sweeps))
    kept = sweeps[every // 2 :: every]
    rest = np.setdiff1d(sweeps, kept)
    work = Refinement(config, map.cloud, map.beam_slope, settings or SplatConfig(), threads)
    learn, judged = _read_beams(map, rest), _read_beams(map, kept)
    steps = config.steps
    if config.tried:
        trial = fit_rest(rest)
        begin_stage(STAGE)
        steps = work.choose(trial, learn, judged)
    return work.take(layers, steps, [*learn, *judged])


def _read_beams(map: Map, sweeps: Array) -> list[Beams]:
    """The beams of some sweeps, batch by batch; those that end outside of the map have passed all of it."""
    low, high = map.cloud.points.min(axis=0) - _REACH_M, map.cloud.points.max(axis=0) + _REACH_M
    batches = []
    for beams in map.beam_source.select(sweeps).blocks("reading beams", EMPTY_RANGE_M, map.progress):
        ends = beams.ends
        beyond = beams.returned & ~((ends >= low) & (ends <= high)).all(axis=1)
        length = np.where(beyond, np.float32(EMPTY_RANGE_M), beams.length)
        batches.append(Beams(beams.origin, beams.direction, length, beams.returned & ~beyond))
    return batches


class Refinement:
    """The steps of a refinement; ``history`` lists those that were tried, with the mean log-likelihood each gave."""

    def __init__(
        self, config: RefineConfig, cloud: Cloud, slope: float, settings: BuildConfig, threads: int = 0
    ) -> None:
        self.config, self.cloud, self.slope, self.settings, self.threads = config, cloud, slope, settings, threads
        self.history: list[tuple[str, float, bool]] = []

    def choose(self, trial: Sequence[Layer], learn: Sequence[Beams], kept: Sequence[Beams]) -> tuple[Step, ...]:
        """The steps that make ``kept`` beams more likely, in the ``trial`` layers that know only those of ``learn``."""
        present, kinds, chosen = tuple(trial), list(dict.fromkeys(self.config.steps)), []
        best = self._gather(present, kept).log_likelihood
        self.history = [("before", best, True)]
        for _ in range(self.config.rounds):
            for kind in list(kinds):
                changed = self.take(present, (kind,), learn)
                found = self._gather(changed, kept).log_likelihood
                better = found > best + self.config.gain_min
                self.history.append((kind, found, better))
                if better:
                    present, best = changed, found
                    chosen.append(kind)
                else:
                    kinds.remove(kind)
        return tuple(chosen)

    def take(self, layers: Sequence[Layer], steps: Sequence[Step], batches: Sequence[Beams]) -> tuple[Layer, ...]:
        """The layers after some steps, each by what ``batches`` of beams say of the layers before it."""
        taking = {"volumes": self._fit_volumes, "births": self._bear_volumes, "splats": self._move_splats}
        present = tuple(layers)
        for kind in steps:
            present = taking[kind](present, batches)
        return present

    def _fit_volumes(self, layers: tuple[Layer, ...], batches: Sequence[Beams]) -> tuple[Layer, ...]:
        old = find_volumes(layers)
        if old is None:
            return layers
        return _exchange(layers, old, learn_permeability(old, self._gather(layers, batches).sums, self.config))

    def _bear_volumes(self, layers: tuple[Layer, ...], batches: Sequence[Beams]) -> tuple[Layer, ...]:
        old = find_volumes(layers)
        if old is None or not isinstance(self.settings, HybridConfig):
            return layers
        ends = self._gather(layers, batches).unexplained
        new = bear_volumes(old, self.cloud, ends, self.settings.volume_config)
        return self._fit_volumes(_exchange(layers, old, new), batches)

    def _move_splats(self, layers: tuple[Layer, ...], batches: Sequence[Beams]) -> tuple[Layer, ...]:
        old = find_splats(layers)
        if old is None or old.depth == 1:  # a ray then reads the nearest disc alone
            return layers
        moved = move_splats(old, self._gather(layers, batches).sums, self.config)
        part = self.settings.splats if isinstance(self.settings, HybridConfig) else self.settings
        if isinstance(part, SplatSettings):
            moved = carve_again(moved, batches, part.carve)
        return _exchange(layers, old, moved)

    def _gather(self, layers: Sequence[Layer], batches: Sequence[Beams]) -> Gathered:
        how = self.config
        return gather(layers, batches, EMPTY_RANGE_M, self.slope, how.sigma_m, how.clutter, self.threads)


def _exchange(layers: tuple[Layer, ...], old: Layer, new: Layer) -> tuple[Layer, ...]:
    return tuple(new if layer is old else layer for layer in layers)
