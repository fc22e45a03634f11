"""The steps of a refinement: each gives layers that explain the beams better, from statistics of the present ones.

The sums are those of `refine.beams.sum_beams`. A beam is shared among the primitives that may have stopped it, by how
likely each makes its range (the E step); each primitive then moves to where its share of the beams wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep import _core, portable
from resweep.build.settings.refine import RefineConfig
from resweep.build.settings.splats import CarveConfig
from resweep.labels import Group
from resweep.map.beams import Beams
from resweep.pose import Array
from resweep.worlds import Splats, Volumes
from resweep.worlds.layers.layer import PERMEABILITY

_MIN_HIT = 0.5  # beams below which the exposure of a volume is unreliable; chosen by hand
_MIN_PERMEABILITY = 1e-6  # and 1 less it: its logarithm stays finite and above 0


def change_splats(splats: Splats, keep: Array | None = None, **changed: Any) -> Splats:
    """The splats with columns changed, and then only those where ``keep`` (n,) is true."""
    other = splats.with_(**changed) if changed else splats
    return other if keep is None else other.select(keep)


def with_permeability(splats: Splats) -> Splats:
    """The splats with a column of how permeable each is."""
    if PERMEABILITY in splats.extra:
        return splats
    return splats.with_(extra={**splats.extra, PERMEABILITY: np.zeros(len(splats), np.float32)})


def move_splats(splats: Splats, sums: _core.BeamStatistics, config: RefineConfig) -> Splats:
    """The splats moved along their normals to where the beams that they stop end.

    The mean residual of a splat is that over its beams and ``prior_weight`` beams without residual.
    """
    offset = sums.offset() / (sums.weight() + config.prior_weight)
    offset = np.clip(offset, -config.step_m, config.step_m)
    centre = splats.centre + offset[:, None] * splats.normal
    return change_splats(splats, centre=centre.astype(np.float32))


def carve_again(
    splats: Splats, batches: Sequence[Beams], config: CarveConfig, keep: Array | None
) -> tuple[Splats, Array | None]:
    """The splats cut back where they now stand in the way of beams that passed them before they were moved.

    Permeable ones stay as they are. Also gives which splats are left (n,), of those to ``keep``.
    """
    if config.rounds == 0:
        return splats, keep
    rows = [beams[beams.returned] for beams in batches]
    origin, ends = (np.concatenate([getattr(beams, name) for beams in rows]) for name in ("origin", "ends"))
    group = splats.extra.get("group", np.zeros(len(splats)))
    ratio = np.where(group == Group.LINEAR, np.float32(config.ratio_linear), np.float32(config.ratio))
    radius = _core.carve(
        splats.centre,
        splats.normal,
        splats.radius,
        ratio,
        np.ascontiguousarray(origin, np.float32),
        np.ascontiguousarray(ends, np.float32),
        np.ones(len(origin), bool),
        config.rounds,
        config.margin_m,
        config.margin_per_m,
        config.radius_min_m,
    )
    if splats.permeability is not None:
        radius = np.where(splats.permeability > 0, splats.radius, radius)
    left = radius > 0
    changed = change_splats(splats, radius=np.where(left, radius, splats.radius))
    return changed, left if keep is None else left & keep


def learn_splat_permeability(splats: Splats, passed: Array, ended: Array, config: RefineConfig) -> tuple[Splats, Array]:
    """The splats with the share of beams that each lets pass, and which of them (n,) stop enough to stay.

    The share is that of the beams hit and of ``opaque_beams`` beams that do not pass. Opaque splats count beams that
    end behind them, permeable ones the part of each beam that they do not explain.
    """
    share = passed / np.maximum(passed + ended + config.opaque_beams, 1e-9)
    known = np.zeros(len(splats)) if splats.permeability is None else splats.permeability.astype(np.float64)
    share = np.where(passed + ended > 0, share, known)
    permeable = share >= config.share_min
    if not permeable.any() and splats.permeability is None:
        return splats, np.ones(len(splats), bool)
    extra = {**splats.extra, PERMEABILITY: np.where(permeable, share, 0.0).astype(np.float32)}
    return change_splats(splats, extra=extra), share <= config.share_max


def learn_permeability(volumes: Volumes, sums: _core.BeamStatistics, config: RefineConfig) -> Volumes:
    """The volumes with the permeability that the beams show, each shared among the volumes that may have stopped it.

    The share that passes is that of the beams hit and of ``prior_beams`` beams of the present permeability.
    """
    passed = sums.let_pass()
    hit = sums.stopped() + passed
    prior = config.prior_beams
    present = volumes.permeability.astype(np.float64)
    if volumes.exposure_m is None:
        share = (passed + prior * present) / np.maximum(hit + prior, 1e-9)
        return volumes.with_(permeability=share.astype(np.float32), extra=_count_beams(volumes, sums))
    known = volumes.exposure_m.astype(np.float64)
    exposure = np.where(hit > _MIN_HIT, sums.exposure() / np.maximum(hit, 1e-9), known)
    rate = -portable.log(np.clip(present, _MIN_PERMEABILITY, 1 - _MIN_PERMEABILITY)) / known
    share = (passed + prior * portable.exp(-rate * exposure)) / np.maximum(hit + prior, 1e-9)
    kept = exposure > 0
    return volumes.with_(
        permeability=np.where(kept, share, present).astype(np.float32),
        exposure_m=np.where(kept, exposure, known).astype(np.float32),
        extra=_count_beams(volumes, sums),
    )


def _count_beams(volumes: Volumes, sums: _core.BeamStatistics) -> dict[str, Array]:
    """The further columns of volumes, with the beams that passed and stopped as they are shared now."""
    shared = {"passed": sums.let_pass(), "stopped": sums.stopped()}
    return {name: _rounded(shared[name]) if name in shared else values for name, values in volumes.extra.items()}


def _rounded(values: Array) -> Array:
    return np.round(values).astype(np.int32)
