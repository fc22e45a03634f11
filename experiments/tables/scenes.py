"""The sweeps of every training set: recorded ones, their pairs in every variant, and a negative control."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import resweep as rs
from experiments.tables import paper
from experiments.tables.sizes import Size, Split
from resweep.dataset.paired_scenes import PairedConfig, PairedScenes
from resweep.learn.boosting import BoostingConfig
from resweep.learn.fitting import FitConfig
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.perception.judging.negative_control import make_box_scene
from resweep.pose import Array, from_xyz_rpy
from resweep.scenario import Actor, Asset, Bank, builtin_bank
from resweep.scenario.replay_actors import replay_actors
from resweep.scenes import box
from resweep.simulate import RealismModel
from resweep.simulate.recorded_sensor import make_unknown_sensor
from resweep.sweep import Sweep
from resweep.voxels import find_first_in_voxels
from resweep.worlds import World

VARIANTS: dict[str, dict[str, Any]] = {
    paper.SIM: {"drop": "learned"},
    paper.TRUE_DROP: {"drop": "true"},
    paper.RANDOM_DROP: {"drop": "random"},
    paper.NO_DROP: {"drop": "none"},
    paper.CAD: {"drop": "learned", "objects": "cad"},
    paper.SURFELS: {"drop": "learned", "world": "surfels"},
    paper.IDEAL: {"drop": "learned", "intensity": "ideal"},
}
PARTS: dict[str, tuple[tuple[str, bool], ...]] = {  # of mixtures: what of, and whether of the tenth of the places only
    paper.REAL_FEW: ((paper.REAL, True),),
    paper.FEW_AND_SIM: ((paper.REAL, True), (paper.SIM, False)),
    paper.BOTH: ((paper.REAL, False), (paper.SIM, False)),
}
_CONTROL_VOXEL_M = 0.2


class Scenes:
    """The places of one size. What is built and simulated is kept in ``cache``, if one is given."""

    def __init__(self, size: Size, cache: Path | None) -> None:
        self.size = size
        self.cache = None if cache is None else cache / size.name.replace(" ", "-")
        self._logs: dict[str, rs.Log] = {}
        self._banks: dict[str, Bank | None] = {}
        self._pairs: dict[tuple[str, str], PairedScenes] = {}
        self._models: dict[str, RealismModel] = {}
        self._scratch: Any = None

    def list_sources(self, split: Split, train: str) -> list[tuple[str, str]]:
        """The places of a training set, each with what its sweeps are."""
        parts = PARTS.get(train, ((train, False),))
        return [(source, place) for source, few in parts for place in (split.few if few else split.train)]

    def load(self, split: Split, source: str, place: str) -> rs.Log:
        """The recorded or simulated sweeps of a place, with labels and boxes."""
        log = self.record(place)
        if source == paper.REAL:
            return log
        if source in (paper.CONTROL_BOXES, paper.CONTROL_CAD):
            sweeps = list(_control(log, source == paper.CONTROL_CAD))
        else:
            config = PairedConfig(**{"world": self.size.world, **VARIANTS[source]})
            model = self.learn(split) if config.drop == "learned" else None
            sweeps = [pair.simulated for pair in self.pair(split, place).run(config, model)]
        return rs.Log.from_sweeps(sweeps, place, labels=log.labels, intensity_scale=log.intensity_scale)

    def record(self, place: str) -> rs.Log:
        """The recording of a place."""
        if place not in self._logs:
            self._logs[place] = self.size.record(place)
        return self._logs[place]

    def pair(self, split: Split, place: str) -> PairedScenes:
        """The paired scenes of a place, with objects from the other places that networks of a split are trained on."""
        key = (split.name, place)
        if key not in self._pairs:
            bank = self._join_banks([other for other in split.train if other != place])
            cache = None if self.cache is None else self.cache / place
            self._pairs[key] = PairedScenes(self.record(place), bank, cache=cache, progress=False, threads=1)
        return self._pairs[key]

    def learn(self, split: Split) -> RealismModel:
        """The model of drops, learned from the places that networks of a split are trained on."""
        if split.name not in self._models:
            folder = self._folder() / f"{split.name.replace(' ', '-')}.model"
            if not (folder / "card.json").exists():
                config = PairedConfig(world=self.size.world)
                pairs = [pair for place in split.train for pair in self.pair(split, place).beam_pairs(config)]
                trees = BoostingConfig(trees=60, most_rays=150_000)
                folder.mkdir(parents=True, exist_ok=True)
                settings = RealismConfig(drop=FitConfig(variant="trees", trees=trees))
                log = self.record(split.train[0])
                fit_realism(pairs, folder, settings, labels=log.labels.name, scale=log.intensity_scale, progress=False)
            self._models[split.name] = rs.load_realism(folder)
        return self._models[split.name]

    def _folder(self) -> Path:
        if self.cache is not None:
            return self.cache
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory()
        return Path(self._scratch.name)

    def _join_banks(self, places: Sequence[str]) -> Bank:
        """The objects of several places, each with its place in its name."""
        assets: list[Asset] = []
        for place in places:
            bank = self._cut_bank(place)
            names = [] if bank is None else list(bank)
            assets += [replace(bank[name], name=f"{place}-{name}") for name in names if bank is not None]
        return Bank(assets)

    def _cut_bank(self, place: str) -> Bank | None:
        """The objects of a place; None if none of them has returns enough."""
        if place in self._banks:
            return self._banks[place]
        path = None if self.cache is None else self.cache / place / "objects.bank"
        if path is not None and path.exists():
            found: Bank | None = rs.load_bank(path)
        else:
            try:
                found = rs.build_bank(self.record(place))
            except rs.ResweepError as error:
                if "none of its" not in str(error) and "no sweep has" not in str(error):
                    raise
                found = None
            if path is not None and found is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                found.save(path)
        self._banks[place] = found
        return found


def _control(log: rs.Log, cad: bool) -> Sequence[Sweep]:
    """The sweeps of a log as a plain simulator gives them (D, 5.2): boxes, one noiseless ray, the mean intensity, no
    drops.

    Objects are CAD models that fit the annotated boxes best, as in CARLA-Modified, or boxes, as its collision hulls.
    """
    points, label, instance = _gather(log)
    middle = log.poses[len(log) // 2][:3, 3]
    still = ~np.isin(label, [*log.labels.movable, *log.labels.moving])
    world = make_box_scene(points[still], label[still], instance[still], log.labels, middle)
    if world is None:
        raise rs.ResweepError(f"log '{log.name}': has no labelled ground to make a scene of boxes")
    world = World(world.layers, world.origin, labels=log.labels)
    actors = replay_actors(log, world, builtin_bank()).actors
    if not cad:
        actors = [_box(actor) for actor in actors]
    retracer = rs.Retracer(world, make_unknown_sensor(), actors=actors, noise=False, threads=1)
    found = []
    for at, real in enumerate(log):
        sweep = retracer.sweep(real, at)
        light = np.full(len(sweep), real.intensity.mean() if len(real) else 0.0, np.float32)
        found.append(replace(sweep, intensity=light, extra={}, boxes=real.boxes))
    return found


def _box(actor: Actor) -> Actor:
    size = actor.size_m or (4.3, 1.8, 1.5)
    shape = box(size, label=actor.label or 0)
    return replace(actor, layers=(shape.moved(from_xyz_rpy()),))


def _gather(log: rs.Log) -> tuple[Array, Array, Array]:
    """Points, labels and instances of a log, one a voxel of each sweep."""
    parts = []
    for sweep in log:
        rows = find_first_in_voxels(sweep.deskewed(), _CONTROL_VOXEL_M)
        parts.append((sweep.world_points()[rows], sweep.label[rows], sweep.instance[rows]))
    points, label, instance = (np.concatenate(column) for column in zip(*parts, strict=True))
    return points, label, instance
