"""Whether points that labels do not classify are a surface or let beams through: evidence from held-out beams.

Two kinds of evidence. *Permeability*: the share of beams that pass on, of those that reach a region (A).
*Likelihood*: how much better a world of volumes predicts the beams of held-out sweeps than a world of splats. Both
come out of one pass over the recording: the sweeps that are not held out first, then those that are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import _core
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.splats import splats
from resweep.build.splats.splats import Scales
from resweep.build.volumes.volumes import VolumeEstimate
from resweep.errors import NothingToFitError
from resweep.map.beams import Beams
from resweep.map.map import Map
from resweep.map.predicted import measured_ranges, predict_beams
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.simulate.prediction import PredictionConfig
from resweep.simulate.scene import make_native_scene
from resweep.voxels import number_voxels
from resweep.worlds import Layer, World

# Chosen by hand where a line names no source.
_REGION_M = 0.3  # of the voxels in which passing beams are counted, A's for a drive
_CELL_M = 0.1  # points that share what is known of their surroundings
MAX_GAIN_NATS = 4.0  # of one beam's likelihood; also what a range that is right to 10 cm counts
_MAX_HELD = 10  # sweeps that are held out; chosen by hand
_MIN_BEAMS = 5  # of gain 0 that are added to those of a point; chosen by hand
_RANGE_MAX_M = 200.0  # up to which beams are predicted
_MIN_SWEEPS = 3  # of which one is held out


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the beams show of the points (n,) of a map; None for a kind that is not wanted or not possible.

    ``passed`` is the share of beams that pass on, of those that reach the point's region. ``gain`` is how much better
    volumes predict the beams around the point than splats, in nats; it is meaningful only where ``gain_known``.
    """

    passed: Array | None = None
    gain: Array | None = None
    gain_known: Array | None = None


def gather_evidence(map: Map, config: HybridConfig, scales: Scales | None = None) -> Evidence:
    """The evidence of ``config.evidence`` in one pass; likelihood needs three sweeps, of which one is held out.

    ``scales`` are those of the whole map where this is a part of one.
    """
    region = _count_regions(map, config) if "permeability" in config.evidence else None
    trial = None
    if "likelihood" in config.evidence and len(map.beam_source.sweeps) >= _MIN_SWEEPS:
        trial = _Trial.of(map, config, scales)
    if trial is None and region is None:
        return Evidence()
    estimates = [estimate for estimate in (region, None if trial is None else trial.volumes) if estimate is not None]
    source = map if trial is None else trial.rest
    for beams in source.beam_blocks("following beams", config.volumes.empty_range_m):
        for estimate in estimates:
            estimate.add(beams)
    gain = known = None
    if trial is not None:
        gain, known = trial.score_region(region)
    return Evidence(None if region is None else _find_passed_share(region), gain, known)


def _count_regions(map: Map, config: HybridConfig) -> VolumeEstimate:
    """Counts beams in voxels of `_REGION_M`, whatever the labels in them."""
    side = max(_REGION_M, config.volumes.voxel_m)  # a sparse cloud has hardly a point in a smaller one
    coarse = VolumeConfig(voxel_m=side, split_labels=False, empty_range_m=config.volumes.empty_range_m)
    return VolumeEstimate(map, coarse)


def _find_passed_share(region: VolumeEstimate) -> Array:
    """The share (n,) of the beams that pass on in the region of each point: A's permeability."""
    counts = region.counts
    return np.asarray((counts.passed / np.maximum(counts.passed + counts.stopped, 1e-9))[region.cluster])


class _Trial:
    """A world of splats and one of volumes, both of all sweeps but some, and how well they predict those held out.

    Every ``held_every``-th sweep is held out, at most ten of them.
    """

    def __init__(self, map: Map, config: HybridConfig, held: Array, rest: Map, layers: tuple[Layer, ...]) -> None:
        self.map, self.config, self.held, self.rest, self.splats = map, config, held, rest, layers
        self.volumes = VolumeEstimate(rest, config.volume_config)

    @classmethod
    def of(cls, map: Map, config: HybridConfig, scales: Scales | None) -> _Trial | None:
        """The trial of a map; None for a part of one in which the sweeps that are not held out left too little."""
        numbers = map.beam_source.sweeps
        held = hold_out(numbers, config)
        rest = map.select_sweeps(np.setdiff1d(numbers, held).tolist())
        if map.stored is None:
            return cls(map, config, held, rest, splats.fit(rest, config.splat_config))
        if len(rest) <= config.splats.k or scales is None:
            return None
        # Fewer points lie farther apart: on surfaces, by the root of their number.
        wider = Scales(scales.radius_m * math.sqrt(len(map) / len(rest)), scales.bound_m)
        try:
            return cls(map, config, held, rest, splats.fit(rest, config.splat_config, wider))
        except NothingToFitError:
            return None

    def score_region(self, region: VolumeEstimate | None) -> tuple[Array | None, Array | None]:
        """The gain (n,) of volumes at each point of the map, and whether it is known (n,); beams of the held-out
        sweeps are also counted in ``region``. None if no beam is evidence.

        A beam's gain is the difference of the log-likelihoods, at most 4 nats either way, and 4 more or less where the
        likeliest return of only one of the worlds is right to 10 cm. It counts where the first of the beam's return
        and the splats' return is: there something is that stops beams, or does not. `vote_gains` makes it that of
        points.
        """
        scenes = [self._trace(self.splats), self._trace((self.volumes.finish(),))]
        empty_range_m = self.config.volumes.empty_range_m
        parts = []
        for beams in self.map.beam_source.select(self.held).blocks(
            "tracing held-out sweeps", empty_range_m, self.map.progress
        ):
            if region is not None:
                region.add(beams)
            parts.append(_beam_gains(beams[~beams.find_hidden(empty_range_m)], scenes, self.map.beam_slope))
        place, gain = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else (np.zeros(0),) * 2
        return vote_gains(self.map, place, gain, self.config)

    def _trace(self, layers: tuple[Layer, ...]) -> _core.Scene:
        return make_native_scene(World(layers, self.map.origin))


def hold_out(sweeps: Array, config: HybridConfig) -> Array:
    """Every ``held_every``-th of the numbers of sweeps (m,), at most ten of them."""
    held = sweeps[config.held_every // 2 :: config.held_every]
    return np.asarray(held[np.unique(np.linspace(0, len(held) - 1, min(len(held), _MAX_HELD)).astype(int))])


def vote_gains(map: Map, place: Array, gain: Array, config: HybridConfig) -> tuple[Array | None, Array | None]:
    """The gain (n,) at each point of a map by those (m,) of beams at places (m, 3), and whether it is known (n,).

    It is the mean over the up to ``vote_beams`` nearest beams within ``vote_m``, as if five beams without gain were
    with them; known if there are five. None without any beam.
    """
    if len(place) == 0:
        return None, None
    cell = number_voxels(map.cloud.points, _CELL_M)
    middle = map.cloud.merged(cell).points
    near = Neighbours(place.astype(np.float32))
    found = near.knn(middle, min(config.vote_beams, len(place)), config.vote_m).index
    there = found >= 0
    count = there.sum(axis=1)
    mean = np.where(there, gain[np.maximum(found, 0)], 0.0).sum(axis=1) / (count + _MIN_BEAMS)
    return mean[cell], (count >= _MIN_BEAMS)[cell]


def _beam_gains(beams: Beams, scenes: Sequence[_core.Scene], slope: float) -> tuple[Array, Array]:
    """Places (m, 3) around the map's origin where beams are evidence, and their gains (m,) in nats.

    ``scenes`` are those of splats and of volumes.
    """
    real = measured_ranges(beams)
    found = [predict_beams(scene, beams, slope, _RANGE_MAX_M, real) for scene in scenes]
    right = [_are_right(each["range"], real, PredictionConfig().window_m) for each in found]
    gain = np.clip(found[1]["log_likelihood"] - found[0]["log_likelihood"], -MAX_GAIN_NATS, MAX_GAIN_NATS)
    gain = gain + MAX_GAIN_NATS * (right[1].astype(float) - right[0])
    first = np.minimum(real, found[0]["range"])
    rows = np.flatnonzero(np.isfinite(first))
    return beams.origin[rows] + beams.direction[rows] * first[rows, None], gain[rows]


def _are_right(predicted: Array, real: Array, window_m: float) -> Array:
    """Beams (b,) bool that end as predicted: within ``window_m``, or both without return."""
    both_empty = np.isinf(predicted) & np.isinf(real)
    both = np.isfinite(predicted) & np.isfinite(real)
    off = np.abs(np.where(both, predicted, 0.0) - np.where(both, real, 0.0))
    return np.asarray(both_empty | (both & (off < window_m)))
