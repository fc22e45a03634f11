"""Volumes: permeable Gaussians that a beam may pass, learned for vegetation (paper A)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from resweep import portable
from resweep.bounds import check_reflectance, check_shapes
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.layers.layer import ATTRIBUTES, FLOAT, POINT, ColumnType, Layer, expand_column
from resweep.worlds.layers.seen import COLUMN
from resweep.worlds.native import Gaussians

TAU = 2.0  # A, III-C: Mahalanobis distance within which a beam crosses a volume
WHOLE_BEAM_M = 10.0  # of element_m, from which on volumes are those of whole beams
_DIAGONAL = (0, 3, 5)
_SYMMETRIC = (0, 1, 2, 4, 5, 8)  # xx, xy, xz, yy, yz, zz of a 3x3 matrix
_MIN_STOPPING = 0.06  # of a volume that is drawn: one that light nearly always passes is still to be seen


class Volumes(Layer):
    """Gaussians with a permeability, a label and what was seen of them.

    ``mean`` (n, 3) float32 metres from the world's origin, ``covariance`` (n, 6) float32 m² as xx, xy, xz, yy,
    yz, zz. ``permeability`` (n,) float32 is ρ of A: the chance that a beam passes. A beam crosses a volume within
    the Mahalanobis distance ``tau``. If ``exposure_m`` (n,) is given, ρ is that of a beam with this exposure, and
    others pass with ρ^(w/exposure): w = σ_t · exp(-d²/2) · (1 + beam width / ``element_m``)², for a beam that
    passes at the Mahalanobis distance d. Rays of one pulse that cross a volume in the same cell of ``element_m``
    hit the same leaf: they draw the same. With an ``element_m`` of `WHOLE_BEAM_M` or more, volumes were learned from
    whole beams and hold their width: a beam crosses them with its axis. ``label``, ``instance``, ``reflectance`` and
    ``extra`` as in `Splats`.
    """

    kind, count_field, native = "volumes", "n_volumes", Gaussians
    shape = MappingProxyType({"mean": POINT, "covariance": ColumnType(row=(6,))})
    attributes = MappingProxyType({"permeability": FLOAT, "exposure_m": FLOAT, **ATTRIBUTES})
    settings = MappingProxyType({"tau": float, "element_m": float})
    keeps_extra = numbered = has_planes = True
    solid = False
    scene_bytes, kept_bytes = 130, 220

    extra: dict[str, Array]

    def __init__(
        self,
        mean: Array,
        covariance: Array,
        permeability: Any,
        exposure_m: Array | None = None,
        label: Any = 0,
        reflectance: Any = 0.5,
        instance: Any = 0,
        extra: Mapping[str, Array] | None = None,
        name: str = "volumes",
        tau: float = TAU,
        element_m: float = 0.05,
    ) -> None:
        what = f"volumes '{name}'"
        if not (tau > 0 and math.isfinite(tau)):
            raise ResweepError(f"{what}: tau is {tau}; give a Mahalanobis distance above 0, such as 2")
        if not element_m > 0:
            raise ResweepError(f"{what}: element_m is {element_m}; give the size of a leaf in metres, above 0")
        self.name = name
        self.tau = float(tau)
        self.element_m = float(element_m)
        self.mean = np.ascontiguousarray(mean, dtype=np.float32)
        self.covariance = np.ascontiguousarray(covariance, dtype=np.float32)
        count = len(self.mean)
        if count == 0:
            raise ResweepError(f"{what}: there is none; build from sweeps with returns")
        if self.mean.shape != (count, 3) or self.covariance.shape != (count, 6):
            raise ResweepError(
                f"{what}: mean must be (n, 3) and covariance (n, 6), got {self.mean.shape} and {self.covariance.shape}"
            )
        self.permeability = expand_column(permeability, count, np.float32, f"{what}: permeability")
        self.exposure_m = (
            None if exposure_m is None else expand_column(exposure_m, count, np.float32, f"{what}: exposure_m")
        )
        self._check(what)
        self.label = expand_column(label, count, np.int32, f"{what}: label")
        self.reflectance = expand_column(reflectance, count, np.float32, f"{what}: reflectance")
        check_reflectance(what, self.reflectance)
        self.instance = expand_column(instance, count, np.int32, f"{what}: instance")
        self.extra = {
            key: expand_column(values, count, None, f"{what}: {key}") for key, values in (extra or {}).items()
        }

    def _check(self, what: str) -> None:
        if not np.isfinite(self.mean).all() or not np.isfinite(self.covariance).all():
            raise ResweepError(f"{what}: mean or covariance holds NaN or infinity")
        check_shapes(what, self.mean, np.sqrt(np.abs(self.covariance[:, _DIAGONAL])))
        a, b, c, d, e, f = self.covariance.astype(np.float64).T
        det = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)
        if (a <= 0).any() or (a * d - b * b <= 0).any() or (det <= 0).any():
            raise ResweepError(f"{what}: every covariance must be positive definite; widen the thin ones")
        if not ((self.permeability >= 0) & (self.permeability <= 1)).all():
            raise ResweepError(f"{what}: permeability must be from 0 to 1")
        if self.exposure_m is not None and not (self.exposure_m > 0).all():
            raise ResweepError(f"{what}: exposure_m must be above 0 m")

    @property
    def centres(self) -> Array:
        """The mean (n, 3) float32 of each Gaussian."""
        return self.mean

    @property
    def matrices(self) -> Array:
        """The covariances as (n, 3, 3) float64."""
        return unpack_symmetric(self.covariance)

    @property
    def holds_beams(self) -> bool:
        """Whether the width of beams is part of these volumes, so that a beam crosses them with its axis alone."""
        return self.element_m >= WHOLE_BEAM_M

    @property
    def half_size(self) -> Array:
        """Half the size (n, 3) float32 of the box around each isosurface, metres."""
        return np.ascontiguousarray(self.tau * np.sqrt(self.covariance[:, _DIAGONAL]))

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3), metres from the world's origin."""
        half = self.half_size.astype(np.float64)
        return np.array([(self.mean - half).min(axis=0), (self.mean + half).max(axis=0)])

    def moved(self, transform: Array) -> Self:
        """A copy moved by a (4, 4) or (3, 4) motion."""
        matrix = np.asarray(transform, dtype=np.float64)
        turn = matrix[:3, :3]
        return self.with_(
            mean=portable.matmul(self.mean.astype(np.float64), turn.T) + matrix[:3, 3],
            covariance=pack_symmetric(portable.matmul(turn, self.matrices, turn.T)),
        )

    def list_half_axes(self, rows: Array) -> Array:
        """The two larger half axes (k, 2, 3) float32 metres of some volumes, as much of each as stops light."""
        values, vectors = portable.eigh3(unpack_symmetric(self.covariance[rows]))
        stopping = np.sqrt(np.clip(1.0 - self.permeability[rows], _MIN_STOPPING, 1.0))
        length = self.tau * np.sqrt(np.maximum(values[:, 1:], 0.0)) * stopping[:, None]
        return np.asarray(vectors[:, :, 1:].swapaxes(1, 2) * length[:, :, None], np.float32)

    def list_planes(self) -> tuple[Array, Array]:
        """The means, and the shortest axis of each volume (n, 3): across it, a volume counts as a surface."""
        return self.mean.astype(np.float64), portable.eigh3(self.matrices)[1][:, :, 0]

    def lower(self) -> Gaussians:
        """These volumes as the tracer takes them."""
        with np.errstate(divide="ignore"):
            log_pass = portable.log(self.permeability.astype(np.float64))
        log_pass = np.maximum(log_pass, -50.0)  # a chance of 1e-22 is none, and stays finite when it is scaled
        if self.exposure_m is not None:
            log_pass = log_pass / self.exposure_m
        seen = self.extra.get(COLUMN)
        return Gaussians(
            mean=self.mean,
            precision=pack_symmetric(portable.inv3(self.matrices)).astype(np.float32),
            half=self.half_size,
            log_pass=log_pass.astype(np.float32),
            label=self.label,
            instance=self.instance,
            reflectance=self.reflectance,
            tau=self.tau,
            extinction=self.exposure_m is not None,
            element_m=self.element_m,
            number=self.number,
            seen=None if seen is None else seen.astype(np.uint32, copy=False),
        )


def unpack_symmetric(packed_rows: Array) -> Array:
    """Matrices (n, 3, 3) float64 of rows (n, 6) xx, xy, xz, yy, yz, zz."""
    return np.asarray(packed_rows, dtype=np.float64)[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def pack_symmetric(matrices: Array) -> Array:
    """Rows (n, 6) xx, xy, xz, yy, yz, zz of symmetric matrices (n, 3, 3)."""
    return np.ascontiguousarray(np.asarray(matrices).reshape(-1, 9)[:, list(_SYMMETRIC)])
