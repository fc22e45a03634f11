"""Splats: oriented discs that cover the surfaces of a recorded place (papers C and D)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from resweep import portable
from resweep.bounds import check_reflectance, check_shapes
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.layers.layer import FLOAT, NORMAL, PERMEABILITY, POINT, Layer, Traits, expand_column
from resweep.worlds.layers.seen import COLUMN
from resweep.worlds.native import Discs

MAX_DEPTH = 8  # discs that the tracer can gather along one ray


class Splats(Layer):
    """Discs with label, reflectance and what was seen of them.

    ``centre`` and ``normal`` (n, 3) float32, metres from the world's origin and unit; ``radius`` (n,)
    metres. ``label`` and ``instance`` (n,) int32 and ``reflectance`` (n,) float32 take one value or one per
    disc. ``permeability`` (n,) is the share of rays that a disc lets pass, 0 for an opaque one; without it all are
    opaque. Discs that overlap decide each by itself, and one that stops a ray is read alone. It is a column of
    ``extra``, which holds further columns (n,) by name, such as ``intensity`` (mean of the returns),
    ``range_m`` and ``cosine`` (range and incidence at which it was seen), ``count`` (returns in it)
    and ``seen`` (`resweep.worlds.layers.seen`).
    A ray reads the weighted mean of up to ``depth`` overlapping discs of one label, each within ``gap_m``
    of the one before (C, 6.3.4); with a depth of 1 it reads the nearest. The light that discs send back falls as the
    cosine of incidence to the power ``incidence_exponent``: 1 is the diffuse law.
    """

    kind, count_field, native = "splats", "n_splats", Discs
    shape = MappingProxyType({"centre": POINT, "normal": NORMAL, "radius": FLOAT})
    settings = MappingProxyType({"depth": int, "gap_m": float, "incidence_exponent": float})
    older_settings = MappingProxyType({"incidence_exponent": 1.0})
    keeps_extra = has_planes = True
    scene_bytes, kept_bytes = 165, 330

    extra: dict[str, Array]

    def __init__(
        self,
        centre: Array,
        normal: Array,
        radius: Array,
        label: Any = 0,
        reflectance: Any = 0.5,
        instance: Any = 0,
        extra: Mapping[str, Array] | None = None,
        name: str = "splats",
        depth: int = 5,
        gap_m: float = 0.10,
        permeability: Any = None,
        incidence_exponent: float = 1.0,
    ) -> None:
        what = f"splats '{name}'"
        if not 1 <= depth <= MAX_DEPTH or not gap_m > 0:
            raise ResweepError(f"{what}: depth must be 1 to {MAX_DEPTH} and gap_m above 0, got {depth} and {gap_m}")
        if not 0 <= incidence_exponent <= 2:
            raise ResweepError(f"{what}: incidence_exponent must be from 0 to 2, got {incidence_exponent}")
        self.name = name
        self.incidence_exponent = float(incidence_exponent)
        self.depth = int(depth)
        self.gap_m = float(gap_m)
        self.centre = np.ascontiguousarray(centre, dtype=np.float32)
        self.normal = np.ascontiguousarray(normal, dtype=np.float32)
        self.radius = np.ascontiguousarray(radius, dtype=np.float32)
        count = len(self.radius)
        if self.centre.shape != (count, 3) or self.normal.shape != (count, 3) or self.radius.ndim != 1:
            raise ResweepError(
                f"{what}: centre and normal must be (n, 3) and radius (n,), got "
                f"{self.centre.shape}, {self.normal.shape}, {self.radius.shape}"
            )
        if count == 0:
            raise ResweepError(f"{what}: there is none; build from sweeps with returns")
        for column in ("centre", "normal", "radius"):
            if not np.isfinite(getattr(self, column)).all():
                raise ResweepError(f"{what}: {column} holds NaN or infinity")
        check_shapes(what, self.centre, self.radius)
        if (self.radius <= 0).any():
            raise ResweepError(f"{what}: every radius must be above 0 m")
        if (np.abs(np.linalg.norm(self.normal, axis=1) - 1) > 1e-3).any():
            raise ResweepError(f"{what}: normals must be unit vectors")
        self.label = expand_column(label, count, np.int32, f"{what}: label")
        self.reflectance = expand_column(reflectance, count, np.float32, f"{what}: reflectance")
        check_reflectance(what, self.reflectance)
        self.instance = expand_column(instance, count, np.int32, f"{what}: instance")
        self.extra = {
            key: expand_column(values, count, None, f"{what}: {key}") for key, values in (extra or {}).items()
        }
        share = self.extra.get(PERMEABILITY) if permeability is None else permeability
        if share is not None:
            self.extra[PERMEABILITY] = expand_column(share, count, np.float32, f"{what}: permeability")
            if not ((self.extra[PERMEABILITY] >= 0) & (self.extra[PERMEABILITY] <= 1)).all():
                raise ResweepError(f"{what}: permeability must be from 0 to 1")

    @property
    def permeability(self) -> Array | None:
        """The share (n,) float32 of rays that each disc lets pass; None if all are opaque."""
        found = self.extra.get(PERMEABILITY)
        return None if found is None or not found.any() else np.ascontiguousarray(found, np.float32)

    @property
    def centres(self) -> Array:
        """The centre (n, 3) float32 of each disc."""
        return self.centre

    @property
    def normals(self) -> Array:
        """The unit normal (n, 3) float32 of each disc."""
        return self.normal

    @property
    def half_size(self) -> Array:
        """Half the size (n, 3) float32 of a box that holds each disc, metres."""
        return np.broadcast_to(self.radius[:, None], (len(self.radius), 3))

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3), metres from the world's origin."""
        reach = self.radius[:, None] * np.sqrt(np.maximum(0.0, 1.0 - self.normal.astype(np.float64) ** 2))
        return np.array([(self.centre - reach).min(axis=0), (self.centre + reach).max(axis=0)])

    @classmethod
    def traits(cls, settings: Mapping[str, Any], extra: Iterable[str]) -> Traits:
        """Whether a ray gathers several discs, and whether these may let it pass."""
        return Traits(gathers=settings["depth"] > 1, permeable=PERMEABILITY in extra)

    def list_half_axes(self, rows: Array) -> Array:
        """Half axes (k, 2, 3) float32 metres of some discs."""
        return np.asarray(find_disc_axes(self.normal[rows]) * self.radius[rows, None, None])

    def moved(self, transform: Array) -> Self:
        """A copy moved by a (4, 4) or (3, 4) motion; a scale, if any, must be the same along all axes."""
        matrix = np.asarray(transform, dtype=np.float64)
        scale = math.cbrt(abs(portable.det3(matrix[:3, :3])))
        return self.with_(
            centre=portable.matmul(self.centre.astype(np.float64), matrix[:3, :3].T) + matrix[:3, 3],
            normal=portable.matmul(self.normal.astype(np.float64), (matrix[:3, :3] / scale).T),
            radius=self.radius * scale,
        )

    def lower(self) -> Discs:
        """These splats as the tracer takes them."""
        columns = (self.centre, self.normal, self.radius, self.label, self.instance, self.reflectance)
        seen = self.extra.get(COLUMN)
        return Discs(
            *columns,
            self.depth,
            self.gap_m,
            None if seen is None else seen.astype(np.uint32, copy=False),
            self.permeability,
            self.incidence_exponent,
        )


def find_disc_axes(normal: Array) -> Array:
    """Two unit vectors (k, 2, 3) across each unit ``normal`` (k, 3), and across each other."""
    x, y, z = np.asarray(normal, np.float32).T
    sign = np.copysign(np.float32(1.0), z)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    second = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([first, second], axis=1)
