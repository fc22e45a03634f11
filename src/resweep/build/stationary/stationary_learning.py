"""EM over where each shot of a stationary sensor really went: volumes without the pointing error of the shots.

A shot goes a little beside the direction that it reports, by up to half a step of the encoder. Volumes that are fitted
to the reported directions hold that error, and a simulation that draws it again has it twice. So each shot is
explained by one of several directions that it may have had, drawn anew in each round. One of them is chosen by how
likely it makes the range (the E step, a draw from the posterior), and the volumes are fitted to the shots in their
chosen directions (the M step).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep import _core, portable
from resweep.build.refine.refine_beams import (
    COSINE_MIN,
    EMPTY_RANGE_M,
    PASSED_M,
    RANGE_MAX_M,
    find_splats,
    find_volumes,
)
from resweep.build.refine.steps import learn_permeability
from resweep.build.settings.refine import RefineConfig
from resweep.build.stationary.directions import Directions
from resweep.build.stationary.range_cells import RangeCells
from resweep.map.beams import Beams
from resweep.map.map import Map
from resweep.map.predicted import measured_ranges
from resweep.pose import Array
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Layer, Volumes, World

# Chosen by hand where a line names no source.
ROUNDS = 10  # of EM
_PERMEABILITY_FIRST = 3  # rounds before shapes are learned: before, beams are shared among volumes as if by chance
DRAWS = 4  # directions that each shot may have had, in each round
SIGMA_M = 0.0006  # that of a range rounded to 2 mm: volumes hold the noise of ranges
_CLUTTER = 1e-3  # share of the shots that nothing explains
_PRIOR_ENDS = 5.0  # of the present Gaussian, added to those that a volume explains
_MAX_SWEEPS = 300  # that volumes are learned from, spread over the log
_BATCH = 1 << 20  # beams that are traced at once: bounds memory
_MOMENTS = 9  # of the ends in a volume: 3 of their offsets, 6 of the products of these
_PERMEABILITY = RefineConfig(prior_beams=0.0)


def read_beams(map: Map, sweeps: Array | None = None, max_sweeps: int = _MAX_SWEEPS) -> list[Beams]:
    """The beams of a map, or of some sweeps of it by number: of ``max_sweeps`` at most, spread over the log."""
    source = map.beam_source
    chosen = source.sweeps if sweeps is None else sweeps
    spread = np.unique(np.linspace(0, len(chosen) - 1, min(len(chosen), max_sweeps)).astype(int))
    blocks = source.select(chosen[spread]).blocks("following beams", EMPTY_RANGE_M, map.progress)
    known = [beams[~beams.find_hidden(EMPTY_RANGE_M)] for beams in blocks]
    names = ("origin", "direction", "length", "returned")
    joined = Beams(*(np.concatenate([getattr(beams, name) for beams in known]) for name in names))
    return [joined[np.arange(at, min(at + _BATCH, len(joined)))] for at in range(0, len(joined), _BATCH)]


def learn(
    cells: RangeCells,
    batches: Sequence[Beams],
    directions: Directions,
    others: Sequence[Layer] = (),
    rounds: int = ROUNDS,
) -> Volumes:
    """The volumes of ``cells`` after ``rounds`` of EM on the beams; ``others`` are layers that stop beams too."""
    for index in range(rounds):
        volumes = cells.volumes
        layers = [*others, volumes]
        scene = make_native_scene(World(layers))
        sizes = count_primitives(layers)
        sums = _core.BeamStatistics(*sizes, offsets=False, rings=False, moments=True)
        for number, beams in enumerate(batches):
            random = np.random.Generator(np.random.Philox(key=[index, number]))
            _add(sums, scene, beams, _choose_direction(scene, sizes, beams, directions, random))
        if index >= _PERMEABILITY_FIRST:
            count, moments = np.asarray(sums.stopped()), np.asarray(sums.end_moments()).reshape(-1, _MOMENTS)
            cells = cells.reshape(count, moments, _PRIOR_ENDS)
        cells = cells.with_volumes(_with_permeability(cells.volumes, volumes, sums))
    return cells.volumes


def _with_permeability(reshaped: Volumes, volumes: Volumes, sums: _core.BeamStatistics) -> Volumes:
    """The volumes as ``reshaped``, with the permeability that the beams show of them as they were."""
    learned = learn_permeability(volumes, sums, _PERMEABILITY)
    columns = ("permeability", "exposure_m", "extra")
    return reshaped.with_(**{name: getattr(learned, name) for name in columns})


def _choose_direction(
    scene: _core.Scene, sizes: tuple[int, int], beams: Beams, directions: Directions, random: np.random.Generator
) -> Array:
    """One direction (n, 3) for each beam, of `DRAWS` that it may have had, by their likelihoods."""
    if directions.is_exact:
        return np.ascontiguousarray(beams.direction)
    drawn = [directions.draw(beams.direction, random) for _ in range(DRAWS)]
    found = np.stack([predict_likelihood(scene, sizes, beams, each) for each in drawn])
    share = np.cumsum(portable.exp(found - found.max(axis=0)), axis=0)
    chosen = (random.random(len(beams)) * share[-1] > share[:-1]).sum(axis=0)
    return np.ascontiguousarray(np.stack(drawn)[chosen, np.arange(len(beams))])


def predict_likelihood(scene: _core.Scene, sizes: tuple[int, int], beams: Beams, direction: Array) -> Array:
    """Log-likelihood (n,) float64 of beams, if they went in the given directions (n, 3).

    ``sizes`` are the numbers of splats and volumes in the scene.
    """
    return _add(_core.BeamStatistics(*sizes, offsets=False, rings=False, moments=False), scene, beams, direction)


def count_primitives(layers: Sequence[Layer]) -> tuple[int, int]:
    """The numbers of splats and of volumes in layers, of which there is one of each kind at most."""
    splats, volumes = find_splats(layers), find_volumes(layers)
    return 0 if splats is None else len(splats), 0 if volumes is None else len(volumes)


def _add(sums: _core.BeamStatistics, scene: _core.Scene, beams: Beams, direction: Array) -> Array:
    found = sums.add(
        scene,
        np.ascontiguousarray(beams.origin),
        np.ascontiguousarray(direction),
        measured_ranges(beams),
        sigma=SIGMA_M,
        clutter=_CLUTTER,
        slope=0.0,
        range_max=RANGE_MAX_M,
        cosine_min=COSINE_MIN,
        height=0.0,
        margin=PASSED_M,
        threads=0,
    )
    return np.asarray(found["log_likelihood"], np.float64)
