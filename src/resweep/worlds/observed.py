"""Observed space: the voxels of a place that recorded beams crossed, which separates empty from unobserved space."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from resweep import _core, portable
from resweep.errors import ResweepError
from resweep.pose import Array

VOXEL_M = 0.5
SIDE = 8  # voxels along a block
_BLOCKS_AT_ONCE = 1 << 14


class ObservedSpace:
    """Voxels that recorded beams crossed, a bit each in blocks of 8 x 8 x 8.

    ``place`` (n, 3) int32 are the blocks, counted from the world's origin in steps of 8 ``voxel_m``, in order;
    ``bits`` (n, 8) uint64 are their voxels: word z, bit 8 y + x. ``reach_m`` is how far recorded beams without return
    count as having looked.
    """

    def __init__(self, voxel_m: float, place: Array, bits: Array, reach_m: float) -> None:
        self.voxel_m, self.reach_m = float(voxel_m), float(reach_m)
        self.place = np.ascontiguousarray(place, np.int32)
        self.bits = np.ascontiguousarray(bits, np.uint64)
        if not 0 < self.voxel_m < np.inf:
            raise ResweepError(f"observed space: voxel_m is {voxel_m}; give metres above 0, such as {VOXEL_M}")
        if not 0 <= self.reach_m < np.inf:
            raise ResweepError(f"observed space: reach_m is {reach_m}; give metres")
        if self.place.shape != (len(self.place), 3) or self.bits.shape != (len(self.place), SIDE):
            raise ResweepError(
                f"observed space: place must be (n, 3) and bits (n, {SIDE}), got {self.place.shape} and "
                f"{self.bits.shape}"
            )

    def __len__(self) -> int:
        """Number of blocks."""
        return len(self.place)

    def pack(self) -> dict[str, Array]:
        """The arguments that make the space, as arrays."""
        sizes = {"voxel_m": np.array(self.voxel_m), "reach_m": np.array(self.reach_m)}
        return {**sizes, "place": self.place, "bits": self.bits}

    @property
    def n_bytes(self) -> int:
        """Memory of the columns."""
        return self.place.nbytes + self.bits.nbytes

    @cached_property
    def native(self) -> _core.ObservedSpace:
        """The space as the tracer takes it."""
        space = _core.ObservedSpace(self.voxel_m)
        try:
            space.add(self.place, self.bits)
        except ValueError as error:
            raise ResweepError(f"observed space: {error}; save the world again") from error
        return space

    @classmethod
    def of(cls, native: Any, voxel_m: float, reach_m: float) -> ObservedSpace:
        """The space that a native one holds."""
        place, bits = native.blocks()
        return cls(voxel_m, place, bits, reach_m)

    @classmethod
    def union(cls, spaces: Iterable[ObservedSpace]) -> ObservedSpace | None:
        """The space that any of ``spaces`` observed; None if there is none. They have the same voxels."""
        native, voxel_m, reach_m = None, 0.0, 0.0
        for space in spaces:
            if native is None:
                native, voxel_m = _core.ObservedSpace(space.voxel_m), space.voxel_m
            if space.voxel_m != voxel_m:
                raise ResweepError(
                    f"observed space: voxels of {space.voxel_m:g} m and of {voxel_m:g} m cannot be joined"
                )
            native.add(space.place, space.bits)
            reach_m = max(reach_m, space.reach_m)
        return None if native is None else cls.of(native, voxel_m, reach_m)

    def moved(self, transform: Array) -> ObservedSpace:
        """The space after a rigid motion (4, 4), by whole voxels; a turned one is wider by up to a voxel."""
        turn, shift = np.asarray(transform)[:3, :3], np.asarray(transform)[:3, 3]
        whole = np.rint(shift / self.voxel_m)
        straight = np.array_equal(turn, np.eye(3)) and np.allclose(shift, whole * self.voxel_m, rtol=0, atol=1e-9)
        corner = np.array([0.5]) if straight else np.array([0.25, 0.75])
        inside = np.stack(np.meshgrid(corner, corner, corner), axis=-1).reshape(-1, 3)
        native = _core.ObservedSpace(self.voxel_m)
        for first in range(0, len(self), _BLOCKS_AT_ONCE):
            voxels = self._list_voxels(slice(first, first + _BLOCKS_AT_ONCE))
            points = (voxels[:, None] + inside).reshape(-1, 3) * self.voxel_m
            moved = portable.matmul(points, turn.T) + shift
            native.add(*_pack_voxels(np.floor(moved / self.voxel_m).astype(np.int64)))
        return ObservedSpace.of(native, self.voxel_m, self.reach_m)

    def _list_voxels(self, rows: slice) -> Array:
        """The observed voxels (m, 3) int64 of some blocks."""
        bits = np.unpackbits(self.bits[rows].astype("<u8").view(np.uint8), axis=1, bitorder="little")
        block, at = np.nonzero(bits)
        local = np.stack([at % SIDE, at // SIDE % SIDE, at // SIDE**2], axis=1)
        return SIDE * self.place[rows][block].astype(np.int64) + local


def _pack_voxels(voxels: Array) -> tuple[Array, Array]:
    """Blocks, some of them several times, that hold the voxels (m, 3)."""
    place, local = voxels // SIDE, voxels % SIDE
    bits = np.zeros((len(voxels), SIDE), np.uint64)
    bits[np.arange(len(voxels)), local[:, 2]] = np.uint64(1) << (SIDE * local[:, 1] + local[:, 0]).astype(np.uint64)
    blocks, number = np.unique(place, axis=0, return_inverse=True)
    joined = np.zeros((len(blocks), SIDE), np.uint64)
    np.bitwise_or.at(joined, number.reshape(-1), bits)
    return blocks.astype(np.int32), joined
