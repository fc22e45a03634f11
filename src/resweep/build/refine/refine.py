"""A world adjusted to the recorded beams: steps of EM, validated by the beams of held-out sweeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resweep.build.refine.densify import add_volumes
from resweep.build.refine.radii import cut_radii, grow_radii
from resweep.build.refine.refine_beams import EMPTY_RANGE_M, RefineStatistics, find_splats, find_volumes, sum_beams
from resweep.build.refine.shapes import find_kept, reshape_volumes, select_volumes
from resweep.build.refine.steps import (
    carve_again,
    change_splats,
    learn_permeability,
    learn_splat_permeability,
    move_splats,
    with_permeability,
)
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.refine import REFINEMENTS, Refine, RefineConfig, Round
from resweep.build.settings.splats import SplatConfig, SplatSettings
from resweep.build.settings.volumes import VolumeSettings
from resweep.map.beams import Beams
from resweep.map.cloud import Cloud
from resweep.map.map import Map
from resweep.pose import Array
from resweep.progress import begin_stage
from resweep.worlds import Layer, Splats, Volumes

STAGE = "refining by likelihood"
# Chosen by hand.
_MIN_SWEEPS = 3  # of a trial
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
    """Layers of a map that make its recorded beams more likely: ``fast`` by three rounds, ``full`` by as many as help.

    ``fit_rest`` gives the layers of some sweeps, for the trial of ``full``. By the ``settings`` of the build, splats
    that were moved are carved and new volumes shaped; without a hybrid's none are added. As many sweeps take part as
    `RefineConfig` says, spread over the log. Fewer than three leave none for a trial: ``full`` is then ``fast``.
    """
    if how == "none" or not layers:
        return tuple(layers)
    layers = tuple(layers)
    if (splats := find_splats(layers)) is not None:  # so that all tiles of a world have the same columns
        layers = _exchange(layers, splats, with_permeability(splats))
    sweeps = map.beam_source.sweeps
    if len(sweeps) == 0:
        return layers
    if len(sweeps) < _MIN_SWEEPS:
        how = "fast"
    config = REFINEMENTS[how]
    sweeps = _choose_evenly(sweeps, config.sweeps)
    work = Refinement(config, map.cloud, map.beam_slope, settings or SplatConfig(), threads)
    if not config.tried:
        first = _choose_evenly(sweeps, config.first_sweeps)
        few, others = _read_beams(map, first), _read_beams(map, np.setdiff1d(sweeps, first))
        *rounds, last = config.rounds
        return work.take(work.take(layers, rounds, few), (last,), [*few, *others])
    every = min(config.kept_every, len(sweeps))
    kept = sweeps[every // 2 :: every]
    rest = np.setdiff1d(sweeps, kept)
    learn, judged = _read_beams(map, rest), _read_beams(map, kept)
    trial = fit_rest(rest)
    begin_stage(STAGE)
    return work.take(layers, work.choose(trial, learn, judged), [*learn, *judged])


def _choose_evenly(sweeps: Array, max_sweeps: int) -> Array:
    """At most so many of some sweeps (m,), spread evenly over them."""
    return np.asarray(sweeps[np.unique(np.linspace(0, len(sweeps) - 1, min(len(sweeps), max_sweeps)).astype(int))])


def _read_beams(map: Map, sweeps: Array) -> list[Beams]:
    """The beams of some sweeps, batch by batch; those that end outside of the map have passed all of it."""
    if len(sweeps) == 0:
        return []
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

    def choose(self, trial: Sequence[Layer], learn: Sequence[Beams], kept: Sequence[Beams]) -> tuple[Round, ...]:
        """The rounds that make ``kept`` beams more likely, in ``trial`` layers that know only those of ``learn``."""
        present, chosen = tuple(trial), list[Round]()
        tried = list(dict.fromkeys(self.config.rounds))
        best = self._collect(present, kept).log_likelihood
        self.history = [("before", best, True)]
        for _ in range(self.config.tries):
            for steps in list(tried):
                # A volume that is new or has another shape knows nothing of its beams yet.
                new = "densify" in steps or "shapes" in steps
                rounds: tuple[Round, ...] = (steps, ("volumes",)) if new else (steps,)
                changed = self.take(present, rounds, learn)
                found = self._collect(changed, kept).log_likelihood
                better = found > best + self.config.gain_min
                self.history.append((" ".join(steps), found, better))
                if better:
                    present, best = changed, found
                    chosen.extend(rounds)
                else:
                    tried.remove(steps)
        return tuple(chosen)

    def take(self, layers: Sequence[Layer], rounds: Sequence[Round], batches: Sequence[Beams]) -> tuple[Layer, ...]:
        """The layers after some rounds, each from statistics of ``batches`` of beams."""
        present = tuple(layers)
        for steps in rounds:
            found = self._collect(present, batches, steps)
            splats, volumes = find_splats(present), find_volumes(present)
            if volumes is not None:
                present = _exchange(present, volumes, self._adjust_volumes(volumes, steps, found))
            if splats is not None:
                present = _exchange(present, splats, self._adjust_splats(splats, steps, found, batches))
        return present

    def _adjust_volumes(self, volumes: Volumes, steps: Round, found: RefineStatistics) -> Volumes:
        sums, config = found.sums, self.config
        kept = find_kept(sums, config) if "prune" in steps else None
        if "volumes" in steps:
            volumes = learn_permeability(volumes, sums, config)
        if "shapes" in steps:
            volumes = reshape_volumes(volumes, sums, config, self._volume_settings.noise_m)
        if kept is not None and kept.any():
            volumes = select_volumes(volumes, kept)
        if "densify" in steps and isinstance(self.settings, HybridConfig):
            volumes = add_volumes(volumes, self.cloud, found.unexplained, self.settings.volume_config)
        return volumes

    def _adjust_splats(self, splats: Splats, steps: Round, found: RefineStatistics, batches: Sequence[Beams]) -> Splats:
        sums, config, keep = found.sums, self.config, None
        passed, ended, shares = sums.passed(), sums.ended(), None
        if "radii" in steps:
            cut = cut_radii(sums, config)
            passed, ended, shares = cut.passed, cut.ended, cut.share
        if "permeability" in steps:
            splats, keep = learn_splat_permeability(splats, passed, ended, config)
        if shares is not None:
            splats = change_splats(splats, radius=np.where(shares > 0, splats.radius * shares, splats.radius))
            keep = shares > 0 if keep is None else keep & (shares > 0)
        if "growth" in steps:
            splats = change_splats(splats, radius=grow_radii(splats, found.unexplained, config))
        if "splats" in steps and splats.depth > 1:  # of depth 1 a ray reads the nearest disc alone
            splats = move_splats(splats, found.sums, self.config)
        if "growth" in steps or ("splats" in steps and splats.depth > 1):
            part = self.settings.splats if isinstance(self.settings, HybridConfig) else self.settings
            if isinstance(part, SplatSettings):
                splats, keep = carve_again(splats, batches, part.carve, keep)
        return splats if keep is None or keep.all() or not keep.any() else change_splats(splats, keep)

    @property
    def _volume_settings(self) -> VolumeSettings:
        if isinstance(self.settings, HybridConfig):
            return self.settings.volumes
        return self.settings if isinstance(self.settings, VolumeSettings) else VolumeSettings()

    def _collect(self, layers: Sequence[Layer], batches: Sequence[Beams], steps: Round = ()) -> RefineStatistics:
        how = self.config
        wanted = {"offsets": "splats" in steps, "rings": "radii" in steps, "moments": "shapes" in steps}
        return sum_beams(layers, batches, EMPTY_RANGE_M, self.slope, how.sigma_m, how.clutter, self.threads, **wanted)


def _exchange(layers: tuple[Layer, ...], old: Layer, new: Layer) -> tuple[Layer, ...]:
    return tuple(new if layer is old else layer for layer in layers)
