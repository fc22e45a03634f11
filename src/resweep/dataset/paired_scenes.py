"""Paired scenes: every recorded sweep with its simulation at its pose, in a world of the other sweeps (D, 5.1).

What moves or could move is left out of the world. Annotated objects come back as actors: each is the object of a bank
that fits its box and the side first seen best, and never itself. So a recorded sweep and its pair show the same scene,
with the same boxes, and what a network says of both can be compared.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from resweep.boxes import Boxes
from resweep.build import BuildConfig
from resweep.build.methods import METHODS
from resweep.build.pipeline import build
from resweep.config import Share, Spec
from resweep.errors import ResweepError, SettingsError
from resweep.files.partial import hash_text
from resweep.files.pieces import Pieces
from resweep.learn.beam_pairs import BeamPair, make_pair, read_pair, write_pair
from resweep.log import Log
from resweep.objects import build_bank
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.quantities import Seed
from resweep.scenario import Actor, Bank, builtin_bank
from resweep.scenario.replay_actors import replay_actors
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import RealismModel, Retracer
from resweep.sweep import Sweep
from resweep.worlds import World, load_world

Columns = dict[str, Any]
MIN_SWEEPS = 4
_COLUMNS = ("beam", "range", "intensity", "return_index", "label", "instance", "beam_status")
_RANDOM_DROP = 0x64726F70


class PairedConfig(Spec):
    """How scenes are simulated; the variants of D, 5.3 and ours."""

    world: Literal["splats", "surfels", "hybrid"] = "hybrid"
    """How worlds are built: splats (C), surfels (D), or splats and volumes."""
    objects: Literal["bank", "cad"] = "bank"
    """Objects cut out of recordings, or the built-in CAD models, in place of the annotated ones."""
    drop: Literal["none", "random", "learned", "true"] = "none"
    """Which beams that hit something do not return: none, a random share, as a model says, or as in the recording."""
    intensity: Literal["ideal", "scattered", "learned"] = "scattered"
    """Intensities as the surfaces reflect, scattered as those of the recording, or drawn by a model."""
    random_share: Share | None = None
    """The share of returns that a random drop loses; that which the recording lacks (D: 0.1) if left out."""
    folds: Annotated[int, Field(ge=2, le=50)] = 2
    """Worlds a log: each is built from the sweeps of all folds but one, and those of that one are simulated in it."""
    seed: Seed = 0
    """Seed of all that is drawn."""

    @model_validator(mode="after")
    def _check(self) -> PairedConfig:
        if self.random_share is not None and self.drop != "random":
            raise SettingsError(
                "random_share", f"is given, and drop is {self.drop}; set drop to random or leave it out"
            )
        return self

    @property
    def method(self) -> BuildConfig:
        """The settings of the build: what could move is left out, since actors stand for it."""
        plain = METHODS[self.world]
        method: BuildConfig = plain.model_copy(update={"map": plain.map.model_copy(update={"drop_movable": True})})
        return method


@dataclass(frozen=True, eq=False)
class PairedScene:
    """A recorded sweep and its simulation, beam by beam; both have the same boxes, each with its own ``n_points``.

    ``number`` is that of the sweep in its log.
    """

    number: int
    real: Sweep
    simulated: Sweep


class PairedScenes:
    """The paired scenes of one log, of any variant; worlds and finished sweeps are kept in the folder ``cache``.

    ``bank`` has the objects that stand for annotated ones, by default those of the log itself, without each one's own.
    ``cache`` is of this log alone; without one nothing is kept on disk.

    Example: ``[pair.simulated for pair in PairedScenes(log).run(PairedConfig(drop="true"))]``
    """

    def __init__(
        self,
        log: Log,
        bank: Bank | None = None,
        *,
        cache: str | Path | None = None,
        progress: bool = True,
        threads: int = 0,
    ) -> None:
        if len(log) < MIN_SWEEPS:
            raise ResweepError(
                f"log '{log.name}': {len(log)} sweeps are too few, as each is simulated in a world of others; "
                f"give at least {MIN_SWEEPS}"
            )
        log.require_poses("its sweeps cannot be simulated again")
        log.require_beams("its sweeps cannot be simulated again")
        self.log = prepare_drive(log)
        self.cache = None if cache is None else Path(cache)
        self.progress, self.threads = progress, threads
        self._bank = bank
        self._own: Bank | None = None
        self._latest: dict[str, tuple[str, Any]] = {}

    def run(self, config: PairedConfig | None = None, realism: RealismModel | None = None) -> list[PairedScene]:
        """Every sweep of the log with its pair; ``realism`` is what ``learned`` parts are drawn from.

        Variants that differ in what they drop alone have the same returns but for those.
        """
        config = config or PairedConfig()
        if config.drop != "true":
            self._require_empty_beams()
        light = _choose_part("intensity", config.intensity, realism)
        drops = _choose_part("drop", config.drop, realism)
        fired = self._fire(config, light, config.intensity == "scattered")
        left = None if drops is None else self._fire(config, drops, False)
        share = self._find_share(config, fired)
        found = []
        for at, columns in enumerate(fired):
            real = self.log[at]
            sweep = replace(real, extra={}, boxes=None, **columns)
            if config.drop == "true":
                sweep = sweep.select(np.isin(sweep.beam, real.beam))
            elif config.drop == "random":
                drawn = np.random.default_rng([config.seed, at, _RANDOM_DROP]).random(sweep.n_beams)
                sweep = sweep.select(drawn[sweep.beam] >= share)
            elif left is not None:
                sweep = sweep.select(np.isin(sweep.beam, left[at]["beam"]))
            found.append(PairedScene(at, _count(real, real.boxes), _count(sweep, real.boxes)))
        return found

    def beam_pairs(self, config: PairedConfig | None = None) -> list[BeamPair]:
        """The pairs that models of drops and intensities are learned from (`fit_realism`), in the same worlds."""
        config = config or PairedConfig()
        self._require_empty_beams()
        near_m = config.method.map.ego_radius_m

        def mappable(sweep: Sweep) -> Array:
            return np.asarray(sweep.range >= near_m)

        kept = self._open_pieces("beams", config.world, config.objects, config.folds, self._name_objects(config))
        found = {at: pair for at in range(len(self.log)) if (pair := read_pair(kept, at)) is not None}
        for at, retracer in self._trace(config, None, False, found):
            found[at] = pair = make_pair(retracer.with_hits(), self.log, at, mappable)
            write_pair(kept, at, pair)
        return [found[at] for at in range(len(self.log))]

    def _require_empty_beams(self) -> None:
        if self.log.empty_beams.source == "unknown":
            raise ResweepError(
                f"log '{self.log.name}': its beams without return are unknown ({self.log.empty_beams.detail}), so "
                "nothing can be fired on them; take drop: true, or a log that keeps them"
            )

    def _find_share(self, config: PairedConfig, fired: Sequence[Columns]) -> float:
        """The share of returns that a random drop loses."""
        if config.random_share is not None or config.drop != "random":
            return config.random_share or 0.0
        lost = [np.count_nonzero(~np.isin(columns["beam"], self.log[at].beam)) for at, columns in enumerate(fired)]
        return sum(lost) / max(sum(len(columns["beam"]) for columns in fired), 1)

    def _fire(self, config: PairedConfig, model: RealismModel | None, noise: bool) -> list[Columns]:
        """The return columns of the pair of each sweep, before anything but ``model`` drops any."""
        settings = replace_settings(config, drop="none", intensity="ideal", random_share=None)
        drawn = None if model is None else model.card.model_dump_json()
        kept = self._open_pieces("scenes", settings.model_dump_json(), noise, drawn, self._name_objects(config))
        found: dict[int, Columns] = {}
        if kept is not None:
            pieces = {at: kept.find(_name(at)) for at in range(len(self.log))}
            found = {at: piece.arrays for at, piece in pieces.items() if piece is not None}
        for at, retracer in self._trace(config, model, noise, found):
            real = self.log[at]
            sweep = retracer.sweep(real, at, self._place(at, real, retracer, config))
            found[at] = {name: getattr(sweep, name) for name in _COLUMNS}
            if kept is not None:
                kept.write(_name(at), found[at])
        return [found[at] for at in range(len(self.log))]

    def _trace(
        self, config: PairedConfig, model: RealismModel | None, noise: bool, known: Container[int]
    ) -> Iterator[tuple[int, Retracer]]:
        """The numbers of the sweeps that are not ``known`` yet, each with what traces it; fold by fold."""
        with open_progress(self.progress) as shown:
            shown.start(f"simulating {self.log.name} again", len(self.log))
            for fold in range(config.folds):
                own = range(fold, len(self.log), config.folds)
                missing = [at for at in own if at not in known]
                shown.advance(len(own) - len(missing))
                retracer = self._open_retracer(fold, config, model, noise) if missing else None
                for at in missing:
                    assert retracer is not None
                    yield at, retracer
                    shown.advance(1)

    def _place(self, at: int, real: Sweep, retracer: Retracer, config: PairedConfig) -> Sweep:
        """The sweep where it lies in the world of its fold; registering takes longer than all else, so it is kept."""
        kept = self._open_pieces("poses", config.world, config.folds)
        piece = None if kept is None else kept.find(_name(at))
        pose = retracer.place(real).pose if piece is None else piece.arrays["pose"]
        if kept is not None and piece is None:
            kept.write(_name(at), {"pose": pose})
        return real.moved_to(pose, real.timestamp)

    def _open_retracer(self, fold: int, config: PairedConfig, model: RealismModel | None, noise: bool) -> Retracer:
        """What traces the sweeps of a fold, without any drops but those of a model."""
        world = self._open_fold(fold, config)
        made = Retracer.for_log(
            world,
            self.log,
            actors=self._place_objects(world, config.objects),
            realism=model,
            noise=noise,
            seed=config.seed,
            threads=self.threads,
        )
        return made.without_drops()

    def _open_fold(self, fold: int, config: PairedConfig) -> World:
        """The world of all sweeps but those of a fold."""
        name = f"{config.world}-{fold}-of-{config.folds}"
        if self._latest.get("world", ("",))[0] != name:
            path = None if self.cache is None else self.cache / f"{name}.world"
            if path is not None and path.exists():
                world = load_world(path)
            else:
                rest = [at for at in range(len(self.log)) if at % config.folds != fold]
                world = build(self.log[rest], config.method, progress=False)
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    world.save(path)
            self._latest["world"] = (name, world)
        found: World = self._latest["world"][1]
        return found

    def _open_pieces(self, what: str, *settings: Any) -> Pieces | None:
        """Where pieces of finished work are kept that depends on ``settings``."""
        if self.cache is None:
            return None
        key = hash_text(*settings)
        return Pieces(self.cache / f"{what}-{key[:12]}", key)

    def _name_objects(self, config: PairedConfig) -> list[str]:
        """What tells the objects that stand for annotated ones from others."""
        return sorted(self._bank) if self._bank is not None and config.objects == "bank" else []

    def _place_objects(self, world: World, objects: str) -> Sequence[Actor]:
        if not any(sweep.boxes is not None and len(sweep.boxes) for sweep in self.log):
            return ()
        if objects == "cad":
            bank = builtin_bank()
        elif self._bank is not None:
            bank = self._bank
        else:
            bank = self._own = build_bank(self.log, progress=False) if self._own is None else self._own
        return replay_actors(self.log, world, bank, itself=False).actors


def replace_settings(config: PairedConfig, **changes: Any) -> PairedConfig:
    """The settings with some of them changed, checked again."""
    return PairedConfig(**{**config.model_dump(), **changes})


def _choose_part(part: str, setting: str, realism: RealismModel | None) -> RealismModel | None:
    """The part of a learned model that a setting asks for; an error if there is none."""
    if setting != "learned":
        return None
    if realism is None:
        raise ResweepError(f"{part}: learned, and no model is given; give one as realism (rs.learn_realism)")
    return realism.only(part)


def _count(sweep: Sweep, boxes: Boxes | None) -> Sweep:
    """The sweep with the boxes of its scene, which know how many of its returns are in them."""
    if boxes is None:
        return sweep
    return replace(sweep, boxes=replace(boxes, n_points=boxes.count_points(sweep.deskewed())))


def _name(at: int) -> str:
    return f"{at:06d}"
