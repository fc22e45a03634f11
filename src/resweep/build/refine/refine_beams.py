"""Recorded beams as a refinement reads them: traced in the present world, sweep by sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import _core
from resweep.map.beams import Beams
from resweep.map.predicted import measured_ranges
from resweep.pose import Array
from resweep.simulate.prediction import PredictionConfig
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Layer, Splats, Volumes, World
from resweep.worlds.layers.layer import kinds_in

EMPTY_RANGE_M = 80.0  # where beams without return end; chosen by hand
RANGE_MAX_M = 200.0  # up to which beams are predicted; a bound chosen by hand
COSINE_MIN = 0.2  # of incidence; errors of poses keep grazing beams from saying more; chosen by hand
_UNEXPLAINED = 0.5  # share of a beam that clutter takes: likelier than everything else
PASSED_M = 0.15  # behind a splat from which on a beam has passed it; chosen by hand


@dataclass(frozen=True, eq=False)
class RefineStatistics:
    """Statistics of beams against the present layers: native sums, and the mean log-likelihood of a beam.

    ``unexplained`` (m, 3) float32 are the ends of those that clutter explains better than any primitive.
    """

    sums: _core.BeamStatistics
    log_likelihood: float
    unexplained: Array


def find_splats(layers: Sequence[Layer]) -> Splats | None:
    """The layer of splats, if there is one."""
    return next(iter(kinds_in(layers, Splats)), None)


def find_volumes(layers: Sequence[Layer]) -> Volumes | None:
    """The layer of volumes, if there is one."""
    return next(iter(kinds_in(layers, Volumes)), None)


def sum_beams(
    layers: Sequence[Layer],
    batches: Sequence[Beams],
    empty_range_m: float,
    slope: float,
    sigma_m: float,
    clutter: float,
    threads: int = 0,
    *,
    offsets: bool = True,
    rings: bool = False,
    moments: bool = False,
) -> RefineStatistics:
    """Statistics of ``batches`` of beams against layers, of which there is one of each kind at most.

    Beams that ended on what the map does not hold do not count. ``offsets``: how far splats are off is summed too;
    with ``rings`` beams are also counted by where they hit a splat, and with ``moments`` by where they end in a volume.
    """
    counts = (0 if layer is None else len(layer) for layer in (find_splats(layers), find_volumes(layers)))
    sums = _core.BeamStatistics(*counts, offsets=offsets, rings=rings, moments=moments)
    scene = make_native_scene(World(list(layers)))
    total, count, unexplained = 0.0, 0, [np.zeros((0, 3), np.float32)]
    for beams in batches:
        known = beams[~beams.find_hidden(empty_range_m)]
        found = sums.add(
            scene,
            np.ascontiguousarray(known.origin),
            np.ascontiguousarray(known.direction),
            measured_ranges(known),
            sigma=sigma_m,
            clutter=clutter,
            slope=slope,
            range_max=RANGE_MAX_M,
            cosine_min=COSINE_MIN,
            height=PredictionConfig().height_m,
            margin=PASSED_M,
            threads=threads,
        )
        total += float(found["log_likelihood"].astype(np.float64).sum())
        count += len(known)
        unexplained.append(known[known.returned & (found["clutter"] > _UNEXPLAINED)].ends)
    return RefineStatistics(sums, total / max(count, 1), np.concatenate(unexplained))
