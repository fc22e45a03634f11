"""What the beams say of a region whose labels say nothing: is it a surface, or does it let beams through?"""

from __future__ import annotations

import numpy as np

from resweep.labels import LabelSet
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.reconstruction.config import HybridConfig, VolumeConfig
from resweep.reconstruction.map.accumulate import Cloud, mappable, tracked
from resweep.reconstruction.splats.splats import build_splats
from resweep.reconstruction.volumes.volumes import build_volumes, fit_gaussians, follow_beams
from resweep.simulate.retrace import Retracer
from resweep.sweep import Sweep
from resweep.voxels import number_voxels
from resweep.worlds import World

_REGION_M = 0.3  # of the voxels in which passing beams are counted, A's for a drive
_CELL_M = 0.1  # points that share what is known of their surroundings
_MOST_SURPRISE = 4.0  # nats that one beam may count; also what meeting it to 10 cm counts
_MOST_HELD = 10
_FEWEST_BEAMS = 5


def share_passed(cloud: Cloud, log: Log, config: HybridConfig, labels: LabelSet, progress: bool = False) -> Array:
    """Around each point (n,), the share of beams that pass on, of those that reach it: A's permeability."""
    coarse = VolumeConfig(voxel_m=_REGION_M, split_labels=False, map=config.map)
    cluster = number_voxels(cloud.points, _REGION_M)
    counts = follow_beams(cloud, cluster, fit_gaussians(cloud.points, cluster, coarse), log, coarse, labels, progress)[
        1
    ]
    return np.asarray((counts.passed / np.maximum(counts.passed + counts.stopped, 1))[cluster])


def volumes_gain(
    cloud: Cloud, log: Log, config: HybridConfig, labels: LabelSet, progress: bool = False
) -> tuple[Array, Array]:
    """How much better volumes foretell the beams around each point than splats, and whether that is known.

    Every ``held_every``-th sweep (at most ten of them) is held out; both kinds of world are built from the others
    and asked for the likelihood of its beams. A beam's gain is the difference, in nats, at most 4 either way, and 4
    more or less where the likeliest return of only one of the worlds is right to 10 cm. It is laid where the first of
    the beam's return and the splats' return is: there something is that stops beams, or does not. The gain (n,) of
    a point is the mean over the up to ``vote_beams`` nearest within ``vote_m``, as if five beams of none were with
    them; known (n,) if there are five.
    """
    held = np.arange(len(log))[config.held_every // 2 :: config.held_every]
    held = held[np.unique(np.linspace(0, len(held) - 1, min(len(held), _MOST_HELD)).astype(int))]
    rest = np.setdiff1d(np.arange(len(log)), held)
    known = cloud[np.flatnonzero(~np.isin(cloud.sweep, held))]
    splats = Retracer(World([build_splats(known, config.splat_config, labels)], cloud.origin))
    volumes = Retracer(
        World([build_volumes(known, log[rest.tolist()], config.volume_config, labels, progress)], cloud.origin)
    )
    asked = tracked(log[held.tolist()], "asking held-out sweeps", progress)
    parts = [_beam_gains(sweep, splats, volumes, config, labels) for _, sweep in asked]
    place, gain = (np.concatenate(column) for column in zip(*parts, strict=True))
    near = Neighbours(place.astype(np.float32))
    cell = number_voxels(cloud.points, _CELL_M)
    middle = cloud.merged(cell).points
    found = near.knn(middle, min(config.vote_beams, len(place)), config.vote_m).index
    met = found >= 0
    count = met.sum(axis=1)
    mean = np.where(met, gain[np.maximum(found, 0)], 0.0).sum(axis=1) / (count + _FEWEST_BEAMS)
    return mean[cell], (count >= _FEWEST_BEAMS)[cell]


def _beam_gains(
    sweep: Sweep, splats: Retracer, volumes: Retracer, config: HybridConfig, labels: LabelSet
) -> tuple[Array, Array]:
    """Places (m, 3) around the worlds' origin where a sweep's beams tell something, and their gains (m,)."""
    keep = np.ones(sweep.n_beams, bool)
    keep[sweep.beam[~mappable(sweep, config.map, labels)]] = False
    sweep = sweep.select_beams(keep)
    real = _ranges(sweep)
    foretold = [_ranges(world.expected(sweep)) for world in (splats, volumes)]
    window = splats.expectation.window_m
    right = [(np.isinf(real) & np.isinf(other)) | (np.abs(_finite(other) - _finite(real)) < window) & np.isfinite(real)
             for other in foretold]  # fmt: skip
    surprise = volumes.log_likelihood(sweep) - splats.log_likelihood(sweep)
    gain = np.clip(surprise, -_MOST_SURPRISE, _MOST_SURPRISE)
    gain = gain + _MOST_SURPRISE * (right[1].astype(float) - right[0])
    first = np.minimum(real, foretold[0])
    rows = np.flatnonzero(np.isfinite(first))
    origin, direction = sweep.deskewed_beams()
    shift = sweep.pose.copy()
    shift[:3, 3] -= splats.world.origin
    local = origin[rows] + direction[rows] * first[rows, None]
    return transform(shift, local.astype(np.float64)), gain[rows]


def _ranges(sweep: Sweep) -> Array:
    """The nearest return (b,) of each beam, infinite if it has none."""
    ranges = np.full(sweep.n_beams, np.inf)
    np.minimum.at(ranges, sweep.beam, sweep.range)
    return ranges


def _finite(ranges: Array) -> Array:
    """Ranges with one for none that is far from any other."""
    return np.where(np.isfinite(ranges), ranges, -1e6)
