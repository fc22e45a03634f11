"""The hybrid of a stationary sensor: volumes of the ranges of each direction, or splats that predict shots as well."""

from __future__ import annotations

import numpy as np

from resweep import _core, portable
from resweep.build.hybrid.evidence import MAX_GAIN_NATS, hold_out, vote_gains
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.splats import splats
from resweep.build.stationary.directions import Directions
from resweep.build.stationary.range_cells import RangeCells
from resweep.build.stationary.stationary_learning import DRAWS, count_primitives, learn, predict_likelihood, read_beams
from resweep.errors import NothingToFitError
from resweep.map.beams import Beams
from resweep.map.map import Map
from resweep.pose import Array
from resweep.progress import begin_stage
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Layer, World

STAGES = ("comparing splats and volumes", "learning the ranges of each direction")
_TRIAL_SWEEPS, _TRIAL_ROUNDS = 60, 5  # that the volumes of the trial are learned by: they need not be the best
_MIN_NATS = -50.0  # to which likelihoods count, so that their mean is not 0: far below what clutter explains


def fit(map: Map, config: HybridConfig, directions: Directions) -> tuple[Layer, ...]:
    """Volumes for the ranges of each direction, or splats over the points where these predict held-out shots better."""
    begin_stage(STAGES[0])
    permeable = find_volumes(map, config, directions)
    begin_stage(STAGES[1])
    if (~permeable).sum() <= config.splats.k:  # too few for a surface
        permeable = np.ones_like(permeable)
    layers: tuple[Layer, ...] = ()
    if not permeable.all():
        layers = splats.fit(map.select(np.flatnonzero(~permeable)), config.splat_config)
    if not permeable.any():
        return layers
    cells = RangeCells.of(map.cloud[np.flatnonzero(permeable)], directions, config)
    return (*layers, learn(cells, read_beams(map), directions, layers))


def find_volumes(map: Map, config: HybridConfig, directions: Directions) -> Array:
    """Points (n,) bool around which volumes predict the shots of held-out sweeps better than splats do.

    Both kinds are made of the other sweeps. The gain of a shot is the difference of its log-likelihoods, at most 4 nats
    either way, where the shot ended; it is voted as in `hybrid.evidence`. Where no shot is evidence, volumes.
    """
    held = hold_out(map.beam_source.sweeps, config)
    rest = map.select_sweeps(np.setdiff1d(map.beam_source.sweeps, held).tolist())
    try:
        surfaces = splats.fit(rest, config.splat_config)
    except NothingToFitError:
        return np.ones(len(map), bool)
    cells = RangeCells.of(rest.cloud, directions, config)
    volumes = learn(cells, read_beams(rest, max_sweeps=_TRIAL_SWEEPS), directions, rounds=_TRIAL_ROUNDS)
    worlds = (surfaces, (volumes,))
    scenes = [(make_native_scene(World(layers)), count_primitives(layers)) for layers in worlds]
    places, gains = [], []
    for number, beams in enumerate(read_beams(map, held)):
        place, gain = _find_gains(beams, scenes, directions, number)
        places.append(place)
        gains.append(gain)
    voted, known = vote_gains(map, np.concatenate(places), np.concatenate(gains), config)
    return np.ones(len(map), bool) if voted is None or known is None else (voted > 0) | ~known


def _find_gains(
    beams: Beams, scenes: list[tuple[_core.Scene, tuple[int, int]]], directions: Directions, number: int
) -> tuple[Array, Array]:
    """Places (m, 3) where shots ended, and how much likelier (m,) the second of the scenes makes them, in nats.

    With each scene are the numbers of its splats and volumes.
    """
    returned = beams[np.flatnonzero(beams.returned)]
    random = np.random.Generator(np.random.Philox(key=[number, DRAWS]))
    drawn = [directions.draw(returned.direction, random) for _ in range(1 if directions.is_exact else DRAWS)]
    found = [np.stack([predict_likelihood(*scene, returned, each) for each in drawn]) for scene in scenes]
    mean = [portable.log(portable.exp(np.maximum(each, _MIN_NATS)).mean(axis=0)) for each in found]
    return returned.ends, np.clip(mean[1] - mean[0], -MAX_GAIN_NATS, MAX_GAIN_NATS)
