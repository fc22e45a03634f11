"""Pairs of recorded logs, for learning: worlds of some of their sweeps, with their traffic (D, 5.1)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from resweep.build import BuildConfig, HybridConfig
from resweep.build.pipeline import build
from resweep.errors import ResweepError
from resweep.learn.pairs import Pair, PairConfig, make_pairs
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.objects import build_bank
from resweep.pose import Array
from resweep.scenario import Actor
from resweep.scenario.replay_actors import replay_actors
from resweep.sweep import Sweep
from resweep.worlds import World


def pair_log(
    log: Log,
    method: BuildConfig | None = None,
    config: PairConfig | None = None,
    *,
    cache: Path | None = None,
    progress: bool = True,
) -> list[Pair]:
    """The sweeps of a log, each with its re-simulation in a world of the others, by the method that ``method`` names.

    Annotated objects are actors, cut out of the other sweeps too. Of logs without, beams that returned from what moves
    are left out. ``cache`` is a folder of this log and these settings, in which finished pairs are kept.
    """
    method = HybridConfig() if method is None else method
    annotated = _has_boxes(log)
    labels = method.map.choose_labels(log)

    def make(rest: Log, whole: Log) -> tuple[World, Sequence[Actor]]:
        world = build(rest, method, progress=False)
        return world, _place_objects(rest, whole, world) if annotated else ()

    def mappable(sweep: Sweep) -> Array:
        if annotated:
            return np.asarray(sweep.range >= method.map.ego_radius_m)
        return find_mappable(sweep, method.map, labels)

    return make_pairs(log, make, mappable, config, cache=cache, progress=progress)


def _has_boxes(log: Log) -> bool:
    boxes = log[0].boxes if len(log) else None
    return boxes is not None and len(boxes) > 0


def _place_objects(rest: Log, whole: Log, world: World) -> Sequence[Actor]:
    """The annotated objects of the whole log, cut out of the ``rest`` of it."""
    try:
        return replay_actors(whole, world, build_bank(rest, progress=False)).actors
    except ResweepError as error:
        warnings.warn(f"log '{whole.name}': its objects are left out of the simulation ({error})", stacklevel=2)
        return ()
