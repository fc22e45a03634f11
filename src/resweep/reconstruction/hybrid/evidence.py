"""What the beams say of points whose labels say nothing: are they a surface, or do they let beams through?

Two kinds of evidence. *Permeability*: the share of beams that pass on, of those that reach a region (A).
*Likelihood*: how much better a world of volumes predicts the beams of held-out sweeps than a world of splats. Both
come out of one pass over the recording: the sweeps that are not held out first, then those that are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.reconstruction.hybrid.config import HybridConfig
from resweep.reconstruction.map.map import Map
from resweep.reconstruction.splats import splats
from resweep.reconstruction.volumes.config import VolumeConfig
from resweep.reconstruction.volumes.volumes import VolumeEstimate
from resweep.simulate.retrace import Retracer
from resweep.sweep import Sweep
from resweep.voxels import number_voxels
from resweep.worlds import Layer, World

_REGION_M = 0.3  # of the voxels in which passing beams are counted, A's for a drive
_CELL_M = 0.1  # points that share what is known of their surroundings
_MAX_GAIN_NATS = 4.0  # of one beam's likelihood; also what a range that is right to 10 cm counts
_MOST_HELD = 10
_FEWEST_BEAMS = 5
_FEWEST_SWEEPS = 3  # of which one is held out


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the beams show of the points (n,) of a map; None for a kind that is not wanted or not possible.

    ``passed`` is the share of beams that pass on, of those that reach the point's region. ``gain`` is how much better
    volumes predict the beams around the point than splats, in nats; it says something only where ``gain_known``.
    """

    passed: Array | None = None
    gain: Array | None = None
    gain_known: Array | None = None


def gather_evidence(map: Map, config: HybridConfig) -> Evidence:
    """The evidence of ``config.evidence`` in one pass; likelihood needs three sweeps, of which one is held out."""
    region = _count_regions(map, config) if "permeability" in config.evidence else None
    trial = None
    if "likelihood" in config.evidence and len(map.beam_log) >= _FEWEST_SWEEPS:
        trial = _Trial(map, config)
    if trial is None and region is None:
        return Evidence()
    estimates = [estimate for estimate in (region, None if trial is None else trial.volumes) if estimate is not None]
    for sweep in map.sweeps("following beams") if trial is None else trial.rest.sweeps("following beams"):
        beams = map.beams(sweep, config.volumes.empty_range_m)
        for estimate in estimates:
            estimate.add(beams)
    gain = known = None
    if trial is not None:
        gain, known = trial.judge(region)
    return Evidence(None if region is None else _share_passed(region), gain, known)


def _count_regions(map: Map, config: HybridConfig) -> VolumeEstimate:
    """Counts beams in voxels of `_REGION_M`, whatever the labels in them."""
    coarse = VolumeConfig(voxel_m=_REGION_M, split_labels=False, empty_range_m=config.volumes.empty_range_m)
    return VolumeEstimate(map, coarse)


def _share_passed(region: VolumeEstimate) -> Array:
    """The share (n,) of the beams that pass on in the region of each point: A's permeability."""
    counts = region.counts
    return np.asarray((counts.passed / np.maximum(counts.passed + counts.stopped, 1))[region.cluster])


class _Trial:
    """A world of splats and one of volumes, both of all sweeps but some, and how well they predict those held out.

    Every ``held_every``-th sweep is held out, at most ten of them.
    """

    def __init__(self, map: Map, config: HybridConfig) -> None:
        count = len(map.beam_log)
        held = np.arange(count)[config.held_every // 2 :: config.held_every]
        held = held[np.unique(np.linspace(0, len(held) - 1, min(len(held), _MOST_HELD)).astype(int))]
        self.map, self.config = map, config
        self.held = held.tolist()
        self.rest = map.select_sweeps(np.setdiff1d(np.arange(count), held).tolist())
        self.splats = splats.fit(self.rest, config.splat_config)
        self.volumes = VolumeEstimate(self.rest, config.volume_config)

    def judge(self, region: VolumeEstimate | None) -> tuple[Array, Array]:
        """The gain (n,) of volumes at each point of the map, and whether it is known (n,); beams of the held-out
        sweeps are also counted in ``region``.

        A beam's gain is the difference of the log-likelihoods, at most 4 nats either way, and 4 more or less where the
        likeliest return of only one of the worlds is right to 10 cm. It counts where the first of the beam's return
        and the splats' return is: there something is that stops beams, or does not. The gain of a point is the mean
        over the up to ``vote_beams`` nearest beams within ``vote_m``, as if five beams without gain were with them;
        known if there are five.
        """
        worlds = [self._retrace(self.splats), self._retrace((self.volumes.finish(),))]
        parts = []
        for sweep in self.map.show(self.map.beam_log[self.held], "tracing held-out sweeps"):
            if region is not None:
                region.add(self.map.beams(sweep, self.config.volumes.empty_range_m))
            parts.append(_beam_gains(self.map, sweep, *worlds))
        place, gain = (np.concatenate(column) for column in zip(*parts, strict=True))
        cell = number_voxels(self.map.cloud.points, _CELL_M)
        middle = self.map.cloud.merged(cell).points
        near = Neighbours(place.astype(np.float32))
        found = near.knn(middle, min(self.config.vote_beams, len(place)), self.config.vote_m).index
        there = found >= 0
        count = there.sum(axis=1)
        mean = np.where(there, gain[np.maximum(found, 0)], 0.0).sum(axis=1) / (count + _FEWEST_BEAMS)
        return mean[cell], (count >= _FEWEST_BEAMS)[cell]

    def _retrace(self, layers: tuple[Layer, ...]) -> Retracer:
        return Retracer(World(layers, self.map.origin), beam_slope=self.map.beam_slope)


def _beam_gains(map: Map, sweep: Sweep, splats: Retracer, volumes: Retracer) -> tuple[Array, Array]:
    """Places (m, 3) around the map's origin where a sweep's beams say something, and their gains (m,) in nats."""
    sweep = map.select_mappable(sweep)
    real = _nearest_ranges(sweep)
    predicted = [_nearest_ranges(world.predict(sweep)) for world in (splats, volumes)]
    right = [_are_right(ranges, real, splats.prediction.window_m) for ranges in predicted]
    difference = volumes.log_likelihood(sweep) - splats.log_likelihood(sweep)
    gain = np.clip(difference, -_MAX_GAIN_NATS, _MAX_GAIN_NATS)
    gain = gain + _MAX_GAIN_NATS * (right[1].astype(float) - right[0])
    first = np.minimum(real, predicted[0])
    rows = np.flatnonzero(np.isfinite(first))
    origin, direction = sweep.deskewed_beams()
    shift = sweep.pose.copy()
    shift[:3, 3] -= map.origin
    local = origin[rows] + direction[rows] * first[rows, None]
    return transform(shift, local.astype(np.float64)), gain[rows]


def _nearest_ranges(sweep: Sweep) -> Array:
    """The nearest return (b,) of each beam, infinite if it has none."""
    ranges = np.full(sweep.n_beams, np.inf)
    np.minimum.at(ranges, sweep.beam, sweep.range)
    return ranges


def _are_right(predicted: Array, real: Array, window_m: float) -> Array:
    """Beams (b,) bool that end as predicted: within ``window_m``, or both without return."""
    both_empty = np.isinf(predicted) & np.isinf(real)
    both = np.isfinite(predicted) & np.isfinite(real)
    off = np.abs(np.where(both, predicted, 0.0) - np.where(both, real, 0.0))
    return np.asarray(both_empty | (both & (off < window_m)))
