"""Radii of splats: cut back where beams pass their rim, and grown to where beams end in nothing beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import _core, portable
from resweep.build.settings.refine import RefineConfig
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.worlds import Splats

# Chosen by hand.
_NEAREST = 16  # centres of splats around an end, of which one may grow to it
_WIDEST = 0.95  # quantile of radii that says how far splats are looked for
_BEYOND = 1.02  # of the distance of an end, so that its beam hits the splat


@dataclass(frozen=True, eq=False)
class RadiusCut:
    """What is left of splats (n,): the share of the radius, and the beams that ended on that part and passed it."""

    share: Array
    ended: Array
    passed: Array


def cut_radii(sums: _core.BeamStatistics, config: RefineConfig) -> RadiusCut:
    """How far each splat is to be cut back, by the likelihood of the beams that hit it.

    A splat of fewer rings lets the beams beyond them pass: those that ended there are lost, at ``lost_nats`` each.
    Within them it is opaque, at ``lost_nats`` for each beam that passes, or permeable by the share of those. With the
    beams are ``opaque_beams`` that end, spread over the whole splat. Of all numbers of rings the likeliest is taken, of
    several the most; with none of them the share is 0.
    """
    ended, passed = (_within_rings(of) for of in (sums.ended_by_ring(), sums.passed_by_ring()))
    rings = ended.shape[1] - 1
    stopped = ended + config.opaque_beams * np.arange(rings + 1) / rings
    share = passed / np.maximum(passed + stopped, 1e-9)
    permeable = stopped * portable.log(np.maximum(1.0 - share, 1e-9)) + passed * portable.log(np.maximum(share, 1e-9))
    within = np.where(share >= config.share_min, permeable, -config.lost_nats * passed)
    score = within - config.lost_nats * (stopped[:, -1:] - stopped)
    best = rings - np.argmax(score[:, ::-1], axis=1)
    rows = np.arange(len(best))
    return RadiusCut(np.sqrt(best / rings), ended[rows, best], passed[rows, best])


def _within_rings(counts: Array) -> Array:
    """Of counts (n, k) by ring those (n, k + 1) within the first 0 to k rings."""
    return np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)


def grow_radii(splats: Splats, ends: Array, config: RefineConfig) -> Array:
    """Radii (n,) float32 of splats that reach the ``ends`` (m, 3) beside them which nothing explains.

    An end is beside a splat if it lies within ``beside_m`` of its plane and ``grow_max`` radii of its centre. It makes
    the one grow that has to grow least.
    """
    radius = splats.radius.copy()
    if len(ends) == 0:
        return radius
    reach = config.grow_max * float(np.quantile(radius, _WIDEST))
    found = Neighbours(splats.centre).knn(np.ascontiguousarray(ends, np.float32), min(_NEAREST, len(splats)), reach)
    disc = np.maximum(found.index, 0)
    off = ends[:, None].astype(np.float64) - splats.centre[disc]
    height = np.einsum("mki,mki->mk", off, splats.normal[disc].astype(np.float64))
    across = np.sqrt(np.maximum(np.einsum("mki,mki->mk", off, off) - height**2, 0.0))
    ratio = across / radius[disc]
    beside = (found.index >= 0) & (np.abs(height) <= config.beside_m) & (ratio <= config.grow_max)
    best = np.argmin(np.where(beside, ratio, np.inf), axis=1)
    rows = np.flatnonzero(beside.any(axis=1))
    grown = (_BEYOND * across[rows, best[rows]]).astype(np.float32)
    np.maximum.at(radius, disc[rows, best[rows]], grown)
    return radius
