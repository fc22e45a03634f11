"""Means and covariances of volumes, moved to the beam ends that each explains; and volumes that explain none."""

from __future__ import annotations

import numpy as np

from resweep import _core
from resweep.build.settings.refine import RefineConfig
from resweep.build.volumes.gaussians import widen
from resweep.pose import Array
from resweep.worlds import Volumes
from resweep.worlds.layers.volumes import unpack_symmetric


def reshape_volumes(volumes: Volumes, sums: _core.BeamStatistics, config: RefineConfig, noise_m: float) -> Volumes:
    """The volumes with the mean and covariance of the ends that each explains, by their share of each beam.

    With them are ``prior_ends`` ends that lie as the present Gaussian says. No volume is thinner than ``noise_m``.
    """
    ends, moments = sums.stopped(), sums.end_moments()
    count = (ends + config.prior_ends)[:, None]
    shift = moments[:, :3] / count
    present = volumes.covariance.astype(np.float64)
    square = unpack_symmetric((moments[:, 3:] + config.prior_ends * present) / count)
    covariance = square - shift[:, :, None] * shift[:, None, :]
    mean = volumes.mean.astype(np.float64) + shift
    return volumes.with_(mean=mean.astype(np.float32), covariance=widen(covariance, noise_m).astype(np.float32))


def find_kept(sums: _core.BeamStatistics, config: RefineConfig) -> Array:
    """Volumes (n,) bool that are left: not those that ``met_min`` beams hit and that stopped less than ``ends_min``."""
    stopped, hit = sums.stopped(), sums.stopped() + sums.let_pass()
    return np.asarray((stopped >= config.ends_min) | (hit < config.met_min))


def select_volumes(volumes: Volumes, keep: Array) -> Volumes:
    """The volumes of the rows ``keep`` (n,) bool."""
    if keep.all():
        return volumes
    columns = ("mean", "covariance", "permeability", "exposure_m", "label", "reflectance", "instance")
    given = {name: getattr(volumes, name) for name in columns}
    extra = {name: values[keep] for name, values in volumes.extra.items()}
    return volumes.with_(**{name: None if of is None else of[keep] for name, of in given.items()}, extra=extra)
