"""How likely a beam comes back empty from where it hits a world, as its splats have learned it (`build.refine.losses`).

The splats of a world keep the share; what was hit is found again by the place of the return, in voxels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from resweep.pose import Array
from resweep.simulate.beam_channels import VOLUMES
from resweep.sweep import Sweep
from resweep.worlds import Layer, Splats
from resweep.worlds.layers.layer import LOST, kinds_in

_VOXEL_M = 0.2  # chosen on held-out sweeps of SemanticKITTI 00 and 03
_BESIDE_M = 0.05  # chosen by hand: off a splat, that returns from it lie
_COLUMN = 8  # chosen by hand: voxels along a side of the columns that are looked at first
_AXIS_BITS = 20


class LossMap:
    """The chance that a beam is lost, by voxel; around the origin of a world."""

    def __init__(self, centre: Array, share: Array) -> None:
        voxel = np.floor(centre / np.float32(_VOXEL_M)).astype(np.int64)
        self._low = voxel.min(axis=0)
        keys, where = np.unique(_pack(voxel - self._low), return_inverse=True)
        mean = np.bincount(where, share) / np.bincount(where)
        self._keys, self._share = keys[mean > 0], mean[mean > 0]
        columns = (voxel[:, :2] - self._low[:2]) // _COLUMN
        self._columns = np.zeros(columns.max(axis=0) + 1, bool)
        self._columns[tuple(columns[share > 0].T)] = True

    @classmethod
    def of(cls, layers: Iterable[Layer]) -> LossMap | None:
        """That of the splats among ``layers``; None if no beam is lost on any."""
        known = [layer for layer in kinds_in(layers, Splats) if LOST in layer.extra and layer.extra[LOST].any()]
        if not known:
            return None
        centre = np.concatenate([layer.centre for layer in known])
        normal = np.concatenate([layer.normal for layer in known])
        # A surface may lie between two voxels, and ranges scatter about it.
        beside = [centre + np.float32(off) * normal for off in (-_BESIDE_M, 0.0, _BESIDE_M)]
        return cls(np.concatenate(beside), np.tile(np.concatenate([layer.extra[LOST] for layer in known]), len(beside)))

    def find(self, points: Array) -> Array:
        """The chance (n,) that the return from each of ``points`` (n, 3), around the world's origin, is lost."""
        found: Array = np.zeros(len(points))
        voxel = np.floor(points * np.float32(1.0 / _VOXEL_M)).astype(np.int32) - self._low.astype(np.int32)
        x, y = voxel[:, 0] // _COLUMN, voxel[:, 1] // _COLUMN
        rows = np.flatnonzero((x >= 0) & (y >= 0) & (x < self._columns.shape[0]) & (y < self._columns.shape[1]))
        rows = rows[self._columns[x[rows], y[rows]] & (voxel[rows, 2] >= 0)]
        if len(rows) == 0:
            return found
        key = _pack(voxel[rows].astype(np.int64))
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        found[rows] = np.where(self._keys[at] == key, self._share[at], 0.0)
        return found

    def find_returns(self, placed: Sweep, origin: Array) -> Array:
        """The chance (n,) that each return of a sweep is lost, which lies in a world around ``origin`` (3,)."""
        lost = self.find(np.asarray(placed.world_points() - origin, np.float32))
        kind = placed.extra.get("primitive")
        return lost if kind is None else np.where(kind != VOLUMES, lost, 0.0)

    def find_predictions(self, found: Mapping[str, Array], origin: Array, direction: Array) -> Array:
        """The chance (b,) that what was ``found`` for beams is lost: their ``range``, infinite for none, and ``kind``.

        ``origin`` and ``direction`` (b, 3) are around that of the world.
        """
        lost: Array = np.zeros(len(found["range"]))
        rows = np.flatnonzero(np.isfinite(found["range"]) & (found["kind"] != VOLUMES))
        reach = found["range"][rows, None]
        lost[rows] = self.find(np.asarray(origin[rows] + direction[rows] * reach, np.float32))
        return lost


def _pack(voxel: Array) -> Array:
    return np.asarray((voxel[:, 0] << (2 * _AXIS_BITS)) | (voxel[:, 1] << _AXIS_BITS) | voxel[:, 2])
