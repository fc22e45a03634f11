"""The steps of a refinement: each gives layers that explain the beams better, from what the beams say of the present.

The sums are those of `refine.beams.gather`. A beam is shared among the primitives that may have stopped it, by how
likely each makes its range (the E step); each primitive then moves to where its share of the beams wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep import _core, portable
from resweep.labels import Group
from resweep.pose import Array
from resweep.reconstruction.map.beams import Beams
from resweep.reconstruction.refine.config import RefineConfig
from resweep.reconstruction.splats.config import CarveConfig
from resweep.worlds import Splats, Volumes

_LEAST_MET = 0.5  # beams below which the exposure of a volume says nothing


def change_splats(splats: Splats, keep: Array | None = None, **changed: Any) -> Splats:
    """The splats with columns changed, and then only those where ``keep`` (n,) is true."""
    columns = ("centre", "normal", "radius", "label", "reflectance", "instance")
    given: dict[str, Any] = {name: changed.get(name, getattr(splats, name)) for name in columns}
    extra = dict(splats.extra)
    if keep is not None:
        given = {name: values[keep] for name, values in given.items()}
        extra = {name: values[keep] for name, values in extra.items()}
    return Splats(**given, extra=extra, name=splats.name, depth=splats.depth, gap_m=splats.gap_m)


def move_splats(splats: Splats, sums: _core.BeamStatistics, config: RefineConfig) -> Splats:
    """The splats moved along their normals to where the beams that they stop end.

    The mean residual of a splat is that over its beams and ``prior_weight`` beams without residual.
    """
    offset = sums.offset() / (sums.weight() + config.prior_weight)
    offset = np.clip(offset, -config.step_m, config.step_m)
    centre = splats.centre + offset[:, None] * splats.normal
    return change_splats(splats, centre=centre.astype(np.float32))


def carve_again(splats: Splats, batches: Sequence[Beams], config: CarveConfig) -> Splats:
    """The splats cut back where they now stand in the way of beams that passed them before they were moved."""
    if config.rounds == 0:
        return splats
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
    return change_splats(splats, radius > 0, radius=radius) if (radius > 0).any() else splats


def learn_permeability(volumes: Volumes, sums: _core.BeamStatistics, config: RefineConfig) -> Volumes:
    """The volumes with the permeability that the beams show, each shared among the volumes that may have stopped it.

    The share that passes is that of the beams met and of ``prior_beams`` beams of the present permeability.
    """
    passed = sums.let_pass()
    met = sums.stopped() + passed
    prior = config.prior_beams
    present = volumes.permeability.astype(np.float64)
    if volumes.exposure_m is None:
        share = (passed + prior * present) / np.maximum(met + prior, 1e-9)
        return volumes.with_(permeability=share.astype(np.float32), extra=_count_beams(volumes, sums))
    known = volumes.exposure_m.astype(np.float64)
    exposure = np.where(met > _LEAST_MET, sums.exposure() / np.maximum(met, 1e-9), known)
    rate = -portable.log(np.clip(present, 1e-6, 1 - 1e-6)) / known
    share = (passed + prior * portable.exp(-rate * exposure)) / np.maximum(met + prior, 1e-9)
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
