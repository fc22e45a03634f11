"""Training pairs: a recorded sweep, and its re-simulation at the same pose from the other sweeps (D, 5.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from resweep.config import Spec
from resweep.errors import ResweepError
from resweep.files.pieces import Pieces
from resweep.learn.default_scatter import COLUMNS, DefaultScatter, draw_default
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.quantities import MAX_COUNT, Count, Seed
from resweep.scenario import Actor
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import Retracer
from resweep.simulate.beam_channels import BeamChannels, find_channels
from resweep.simulate.sensor_grid import SensorGrid, find_sensor_grid
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import World

# A world built from some sweeps of a log, with the actors that its whole drive has.
Build = Callable[[Log, Log], tuple[World, Sequence[Actor]]]
Mappable = Callable[[Sweep], Array]
MIN_SWEEPS = 4


class PairConfig(Spec):
    """How a log becomes pairs."""

    folds: Annotated[int, Field(ge=2, le=50)] = 3
    """Worlds a log: each is built from the sweeps of all folds but one, and that one is simulated in it."""
    most_folds: Count | None = None
    """Folds that are simulated at most; fewer than all cost fewer builds, and give fewer pairs."""
    most_sweeps: Annotated[int, Field(ge=MIN_SWEEPS, le=MAX_COUNT)] = 100
    """Sweeps of a log that become pairs at most, evenly spread over it."""
    seed: Seed = 0
    """Seed of the simulated sweeps."""


@dataclass(frozen=True, eq=False)
class BeamPair:
    """One recorded sweep and its re-simulation, beam by beam.

    ``channels`` are those of the simulated sweep. Of the recorded one, by beam (b,): ``returned``, and ``range`` metres
    and ``intensity`` of the first return, 0 where there is none. ``counted`` leaves out beams that returned from what
    the simulation does not hold, such as moving cars and the vehicle itself. ``place`` names where it was recorded:
    sweeps of one place are held out together. ``simulated`` (b,) is the intensity that physics alone gives, ``hit``
    (b, 3) where simulation returned, metres in the coordinates of the log, from its first pose. ``known`` (b,) is false
    where simulation looked where nothing was recorded, ``blind`` (b,) the chance that a blind sector of the calibration
    takes the return; simulated sweeps here are without those. ``default`` is what simulation without a learned model
    draws, None if the world does not know how its recording scattered.
    """

    channels: BeamChannels
    returned: Array
    range: Array
    intensity: Array
    simulated: Array
    counted: Array
    hit: Array
    known: Array
    blind: Array
    place: str
    layout: SensorGrid
    labelled: bool
    default: DefaultScatter | None = None

    @property
    def chosen(self) -> Array:
        """The beams (n,) on which a drop can be seen: simulation returned, and reality is known."""
        return np.flatnonzero(self.channels.occupied & self.counted)

    @property
    def dropped(self) -> Array:
        """Whether each of the chosen beams (n,) did not return in reality."""
        return ~self.returned[self.chosen]


def make_pairs(
    log: Log,
    build: Build,
    mappable: Mappable,
    config: PairConfig | None = None,
    *,
    cache: Path | None = None,
    key: str = "",
    progress: bool = True,
    threads: int = 0,
) -> list[BeamPair]:
    """A pair of every chosen sweep of a log; ``build`` makes the world of some of its sweeps.

    ``mappable(sweep)`` (n,) marks the returns that the simulation could hold. Pairs are kept in the folder ``cache``,
    and read from there; ``key`` tells this log and these settings from others. The bytes do not depend on ``threads``.
    """
    config = config or PairConfig()
    kept = None if cache is None else Pieces(cache, key)
    _check(log)
    log = prepare_drive(log)
    count = min(len(log), config.most_sweeps)
    chosen = np.unique(np.linspace(0, len(log) - 1, count).astype(int)).tolist()
    found: dict[int, BeamPair] = {at: pair for at in chosen if (pair := read_pair(kept, at)) is not None}
    with open_progress(progress) as shown:
        folds = [chosen[fold :: config.folds] for fold in range(config.folds)][: config.most_folds]
        wanted = sorted(at for held in folds for at in held)
        shown.start(f"simulating {log.name} again", len(wanted))
        shown.advance(sum(at in found for at in wanted))
        for fold, held in enumerate(folds):
            missing = [at for at in held if at not in found]
            if not missing:
                continue
            rest = [at for at in range(len(log)) if at not in set(held)]
            world, actors = build(log[rest], log)
            retracer = Retracer.for_log(world, log, actors=actors, seed=config.seed, threads=threads).with_hits()
            for at in missing:
                found[at] = pair = make_pair(retracer, log, at, mappable)
                write_pair(kept, at, pair)
                shown.advance(1, f"fold {fold + 1} of {len(folds)}")
    return [found[at] for at in wanted]


def _check(log: Log) -> None:
    if len(log) < MIN_SWEEPS:
        raise ResweepError(
            f"log '{log.name}': {len(log)} sweeps are too few, as worlds are built from some and compared with "
            f"others; give at least {MIN_SWEEPS}"
        )
    log.require_poses("its sweeps cannot be simulated again")
    log.require_beams("its sweeps cannot be simulated again")
    if log.empty_beams.source == "unknown":
        raise ResweepError(
            f"log '{log.name}': its beams without return are unknown ({log.empty_beams.detail}), so no drop can be "
            "seen; give a log that keeps them, or of a sensor whose grid can be found"
        )


def make_pair(retracer: Retracer, log: Log, at: int, mappable: Mappable) -> BeamPair:
    """The pair of one sweep of a prepared log; ``retracer`` is one `with_hits` in a world without that sweep."""
    real = log[at]
    layout = find_sensor_grid(real)
    simulated = retracer.sweep(real, at)
    labels = retracer.world.labels
    gainless = simulated.intensity / retracer.find_gain(simulated.ring, real)
    incidence_exponent = None if retracer.calibration is None else retracer.calibration.incidence_exponent
    plain = replace(simulated, intensity=gainless)
    channels = find_channels(plain, labels, labels.known, incidence_exponent or 1.0)
    first = np.flatnonzero(real.return_index == 0)
    ranges, light, physics = np.zeros((3, real.n_beams), np.float32)
    ranges[real.beam[first]], light[real.beam[first]] = real.range[first], real.intensity[first]
    nearest = np.flatnonzero(simulated.return_index == 0)
    physics[simulated.beam[nearest]] = simulated.intensity[nearest]
    hit = np.zeros((real.n_beams, 3), np.float32)
    hit[simulated.beam[nearest]] = simulated.world_points()[nearest] - log.poses[0, :3, 3]
    known = simulated.beam_status != BeamStatus.UNKNOWN
    sectors = None if retracer.calibration is None else retracer.calibration.find_blind(simulated)
    blind = np.zeros(real.n_beams, np.float32) if sectors is None else sectors.astype(np.float32)
    counted = np.ones(real.n_beams, bool)
    counted[real.beam[~mappable(real)]] = False
    returned = np.zeros(real.n_beams, bool)
    returned[real.beam] = True
    columns = returned, ranges, light, physics, counted, hit, known, blind
    default = draw_default(retracer, plain, real, at)
    return BeamPair(channels, *columns, log.name, layout, labels.known, default)


_COLUMNS = ("returned", "range", "intensity", "simulated", "counted", "hit", "known", "blind")
_DEFAULT = "default_"
_OF_CHANNELS = ("values", "turn", "azimuth", "surface")


def write_pair(kept: Pieces | None, at: int, pair: BeamPair) -> None:
    """Keep the pair of sweep ``at`` as a piece."""
    if kept is None:
        return
    columns = {name: getattr(pair, name) for name in _COLUMNS}
    arrays: dict[str, Any] = {
        **columns,
        **{name: getattr(pair.channels, name) for name in _OF_CHANNELS},
        "elevation_deg": np.array(pair.layout.elevation_deg),
    }
    if pair.default is not None:
        arrays |= {f"{_DEFAULT}{name}": getattr(pair.default, name) for name in COLUMNS}
    facts = {"place": pair.place, "layout": pair.layout.model_dump_json(), "labelled": pair.labelled}
    kept.write(_name(at), arrays, facts)


def read_pair(kept: Pieces | None, at: int) -> BeamPair | None:
    """The pair of sweep ``at`` that was kept; None if it was not, or if the piece is damaged."""
    piece = None if kept is None else kept.find(_name(at))
    if piece is None:
        return None
    columns = piece.arrays
    channels = BeamChannels(*(columns.pop(name) for name in _OF_CHANNELS))
    elevation = tuple(columns.pop("elevation_deg").tolist())
    drawn = {name: columns.pop(_DEFAULT + name) for name in COLUMNS if _DEFAULT + name in columns}
    grid = SensorGrid.model_construct(**{**json.loads(piece.facts["layout"]), "elevation_deg": elevation})
    return BeamPair(
        channels,
        **columns,
        place=piece.facts["place"],
        layout=grid,
        labelled=bool(piece.facts["labelled"]),
        default=DefaultScatter(**drawn) if drawn else None,
    )


def _name(at: int) -> str:
    return f"{at:06d}"
