"""Permeable volumes learned from a map and its beams (A, section III-C): voxels, top-down, bottom-up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.build.settings.volumes import VolumeConfig
from resweep.build.volumes.clusters import bottom_up, top_down
from resweep.build.volumes.gaussians import fit_gaussians, fit_neighbours
from resweep.build.volumes.permeability import BeamCounter, Counts, OwnVolumes, match_permeability
from resweep.errors import NothingToFitError, ResweepError
from resweep.map.beams import Beams
from resweep.map.map import Map
from resweep.map.reflectance import compensate_range, smooth_reflectance
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import number_voxels
from resweep.worlds import Layer
from resweep.worlds.layers.volumes import Volumes

_UNLEARNED = 0.5  # permeability before any beam is counted; counting does not depend on it


def fit(map: Map, config: VolumeConfig, others: Sequence[Layer] = ()) -> tuple[Layer, ...]:
    """The map as permeable volumes, by ``config.method``, with the permeability that the log's beams show.

    ``others`` are further layers of the world, on which beams end too.
    """
    size = float(np.ptp(map.cloud.points, axis=0).max())
    if map.stored is None and config.method == "voxels" and config.voxel_m > size:
        raise ResweepError(
            f"voxel_m: {config.voxel_m:g} m is larger than the scene ({size:.2f} m); give smaller voxels"
        )
    estimate = VolumeEstimate(map, config)
    for beams in map.beam_blocks("following beams", config.empty_range_m):
        estimate.add(beams)
    return (estimate.finish(others),)


class VolumeEstimate:
    """Volumes fitted to the points of a map, whose permeability is learned from the beams that `add` is given."""

    def __init__(self, map: Map, config: VolumeConfig) -> None:
        self._map, self._config = map, config
        self.cluster = _cluster_points(map, config)
        if config.method == "neighbours":
            shape = fit_neighbours(map.cloud.points, self.cluster, config, range_m=map.cloud.range_m)
        else:
            shape = fit_gaussians(map.cloud.points, self.cluster, config)
        self.volumes = Volumes(shape.mean, shape.covariance, _UNLEARNED, tau=config.tau, element_m=config.element_m)
        self._own = OwnVolumes(map.cloud.points, self.cluster, self.volumes)
        self._counter = BeamCounter(self.volumes, map.beam_slope)

    def add(self, beams: Beams) -> None:
        """Count beams of the map's log."""
        self._counter.add(self._own.clip_to_own_volume(beams))

    @property
    def counts(self) -> Counts:
        """Beams that passed and stopped so far."""
        return self._counter.counts

    def finish(self, others: Sequence[Layer] = ()) -> Volumes:
        """The volumes that stopped a beam, with the permeability that was counted, or matched to it."""
        counts, config = self.counts, self._config
        kept = counts.stopped > 0
        if not kept.any():
            raise NothingToFitError(
                "volumes: no beam ends in any; the log's beams do not fit its points (poses, calibration)"
            )
        learned = self._learn(counts, kept)
        return match_permeability(self._map, learned, others, counts[kept], config.empty_range_m, config.rounds)

    def _learn(self, counts: Counts, kept: Array) -> Volumes:
        """The volumes ``kept`` (v,), with the share of beams that passed each."""
        cloud, config, cluster = self._map.cloud, self._config, self.cluster
        prior = config.prior_beams
        hit = counts.passed + counts.stopped
        permeability = (counts.passed + prior * config.prior_permeability) / np.maximum(hit + prior, 1e-9)
        first = np.zeros(len(self.volumes), np.int64)
        first[cluster[::-1]] = np.arange(len(cluster))[::-1]
        number = np.bincount(cluster)
        bright = np.bincount(cluster, compensate_range(cloud.intensity, cloud.range_m, config.reflectance)) / number
        places = np.ascontiguousarray(self.volumes.mean, np.float32)
        bright = smooth_reflectance(Neighbours(places), places, bright, number)
        extra = {"passed": np.rint(counts.passed), "stopped": np.rint(counts.stopped), "count": number}
        extra = {name: values.astype(np.int32) for name, values in extra.items()}
        if cloud.colour is not None:
            for axis, name in enumerate(("red", "green", "blue")):
                extra[name] = np.rint(np.bincount(cluster, cloud.colour[:, axis]) / number).astype(np.uint8)
        return Volumes(
            self.volumes.mean[kept],
            self.volumes.covariance[kept],
            permeability[kept],
            counts.exposure_m[kept] if config.permeability == "extinction" else None,
            cloud.label[first][kept],
            bright[kept],
            extra={name: values[kept] for name, values in extra.items()},
            tau=config.tau,
            element_m=config.element_m,
        )


def _cluster_points(map: Map, config: VolumeConfig) -> Array:
    """The volume (n,) that each point belongs to, numbered from 0 without gaps; labels are kept apart."""
    cloud = map.cloud
    kind = cloud.label if config.split_labels else np.zeros(len(cloud), np.int32)
    if config.method == "top-down":
        return top_down(cloud.points, kind, config.leaf_points, config.gaussian_z, config.noise_m)
    if config.method == "bottom-up":
        return bottom_up(cloud.points, kind, config.seed_m, config.density_ratio, config.size_max_m, config.noise_m)
    return number_voxels(cloud.points, config.voxel_m, kind)
