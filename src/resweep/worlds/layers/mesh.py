"""Triangle meshes and instances of them: CAD models, terrain, vegetation, actors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.native import InstanceArray, Triangles

# A diffuse surface reflects at most 1; measured at a grazing angle, or on a sign, the value can be higher.
BRIGHTEST = 10.0


@dataclass(frozen=True)
class Material:
    """How a surface reflects beyond its diffuse reflectance.

    ``specular``: strength of a mirror-like lobe ``cos(2 theta) ** specular_exponent`` (theta is the
    incidence angle, so the lobe points back at the sensor only near normal incidence).
    ``retro``: strength of a retro-reflective part, which returns light at any incidence up to
    grazing. Both add to the diffuse term of B, eq. 1, and may exceed 1 (a road sign does).
    """

    name: str = "diffuse"
    specular: float = 0.0
    specular_exponent: float = 50.0
    retro: float = 0.0

    def __post_init__(self) -> None:
        values = (self.specular, self.specular_exponent, self.retro)
        if not all(np.isfinite(value) and value >= 0 for value in values):
            raise ResweepError(f"material '{self.name}': specular, specular_exponent and retro must be 0 or more")


def per_row(values: Any, count: int, dtype: Any, what: str) -> Array:
    """A column (count,) from one value or one per row; a ``dtype`` of None keeps that of the values."""
    array = np.asarray(values, dtype=dtype)
    if array.ndim == 0:
        return np.broadcast_to(array, (count,))  # one value serves all rows
    if array.shape != (count,):
        raise ResweepError(f"{what}: expected one value or {count}, got shape {array.shape}")
    return np.ascontiguousarray(array, dtype=dtype)


def unit_normals(corners: Array) -> Array:
    """Normals (f, 3) of triangles (f, 3, 3), on the side from which their corners run anticlockwise."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(np.divide(normal, length, out=np.tile([0.0, 0.0, 1.0], (len(normal), 1)), where=length > 0))


class Mesh:
    """Triangles with label, reflectance, material and instance id per face.

    ``vertices`` (n, 3) float32 metres from the world's origin, ``faces`` (m, 3) uint32. ``label``,
    ``reflectance`` (0 to 1, up to 10 where measured), ``material`` (index into ``materials``) and ``instance``
    take one value or one per face.
    """

    kind = "mesh"

    def __init__(
        self,
        vertices: Array,
        faces: Array,
        label: Any = 0,
        reflectance: Any = 0.5,
        material: Any = 0,
        instance: Any = 0,
        materials: Sequence[Material] = (Material(),),
        name: str = "",
    ) -> None:
        what = f"mesh '{name}'" if name else "mesh"
        self.name = name
        self.vertices = np.ascontiguousarray(vertices, dtype=np.float32)
        triangles = np.asarray(faces)
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3:
            raise ResweepError(f"{what}: vertices must have shape (n, 3), got {self.vertices.shape}")
        if triangles.ndim != 2 or triangles.shape[1] != 3 or len(triangles) == 0:
            raise ResweepError(f"{what}: has no faces; a mesh needs triangles of shape (m, 3), got {triangles.shape}")
        if not np.isfinite(self.vertices).all():
            row = int(np.flatnonzero(~np.isfinite(self.vertices).all(axis=1))[0])
            raise ResweepError(f"{what}: vertex {row} is NaN or infinite; repair the mesh")
        if triangles.min() < 0 or triangles.max() >= len(self.vertices):
            worst = int(triangles.min() if triangles.min() < 0 else triangles.max())
            raise ResweepError(f"{what}: a face points at vertex {worst} of {len(self.vertices)}; repair the mesh")
        self.faces = np.ascontiguousarray(triangles, dtype=np.uint32)
        count = len(self.faces)
        self.label = per_row(label, count, np.int32, f"{what}: label")
        self.reflectance = per_row(reflectance, count, np.float32, f"{what}: reflectance")
        if not ((self.reflectance >= 0) & (self.reflectance <= BRIGHTEST)).all():
            raise ResweepError(
                f"{what}: reflectance must lie between 0 and 1, not in per cent (where measured, up to {BRIGHTEST:g})"
            )
        self.materials = tuple(materials)
        chosen = np.asarray(material)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= min(len(self.materials), 256)):
            worst = int(chosen.min() if chosen.min() < 0 else chosen.max())
            raise ResweepError(f"{what}: no material {worst}; {len(self.materials)} are given (256 at most)")
        self.material = per_row(material, count, np.uint8, f"{what}: material")
        self.instance = per_row(instance, count, np.int32, f"{what}: instance")

    @property
    def n_triangles(self) -> int:
        """Number of triangles."""
        return len(self.faces)

    @property
    def n_primitives(self) -> int:
        """Number of triangles."""
        return self.n_triangles

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3), metres from the world's origin."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)], dtype=np.float64)

    def moved(self, transform: Array) -> Mesh:
        """A copy moved by a (4, 4) or (3, 4) transform, scale included."""
        matrix = np.asarray(transform, dtype=np.float64)
        return self._with_vertices(portable.matmul(self.vertices.astype(np.float64), matrix[:3, :3].T) + matrix[:3, 3])

    def _with_vertices(self, vertices: Array) -> Mesh:
        return Mesh(
            vertices,
            self.faces,
            self.label,
            self.reflectance,
            self.material,
            self.instance,
            self.materials,
            self.name,
        )

    def lower(self) -> Triangles:
        """This mesh as the tracer takes it."""
        table = [(m.specular, m.specular_exponent, m.retro) for m in self.materials]
        return Triangles(
            self.vertices,
            self.faces,
            self.label,
            self.instance,
            self.reflectance,
            self.material,
            np.array(table, dtype=np.float32),
        )


class Instances:
    """Copies of one mesh: ``transforms`` (k, 3, 4) float32 take it to the world's offsets.

    ``instance`` (k,): an id per copy (0 keeps those of the mesh); ``label`` (k,): a label per copy
    (-1 keeps those of the mesh). Memory does not grow with the triangles of the copies.
    """

    kind = "instances"

    def __init__(self, mesh: Mesh, transforms: Array, instance: Any = 0, label: Any = -1, name: str = "") -> None:
        what = f"instances '{name or mesh.name}'"
        matrices = np.asarray(transforms, dtype=np.float32)
        if matrices.ndim == 2:
            matrices = matrices[None]
        if matrices.ndim != 3 or matrices.shape[1] not in (3, 4) or matrices.shape[2] != 4 or len(matrices) == 0:
            raise ResweepError(f"{what}: transforms must have shape (k, 3, 4), got {matrices.shape}")
        matrices = np.ascontiguousarray(matrices[:, :3])
        finite = np.isfinite(matrices).all(axis=(1, 2))
        if not finite.all():
            raise ResweepError(f"{what}: transform {int(np.flatnonzero(~finite)[0])} holds NaN or infinity")
        linear = matrices[:, :, :3].astype(np.float64)
        scale = np.abs(linear).max(axis=(1, 2))
        flat = np.abs(portable.det3(linear)) <= 1e-9 * scale * scale**2
        if flat.any():
            raise ResweepError(
                f"{what}: transform {int(np.flatnonzero(flat)[0])} is degenerate (it flattens the mesh); "
                "its 3x3 part must be invertible"
            )
        self.name = name or mesh.name
        self.mesh = mesh
        self.transforms = matrices
        self.instance = per_row(instance, len(matrices), np.int32, f"{what}: instance")
        self.label = per_row(label, len(matrices), np.int32, f"{what}: label")

    @property
    def n_triangles(self) -> int:
        """Number of triangles, counted in every copy."""
        return self.mesh.n_triangles * len(self.transforms)

    @property
    def n_primitives(self) -> int:
        """Number of triangles, counted in every copy."""
        return self.n_triangles

    @property
    def boxes(self) -> Array:
        """Lowest and highest corner of a box around each copy (k, 2, 3), metres from the world's origin."""
        low, high = self.mesh.bounds
        middle, half = (low + high) / 2, (high - low) / 2
        linear = self.transforms[:, :, :3].astype(np.float64)
        centre = portable.matmul(linear, middle) + self.transforms[:, :, 3]
        reach = portable.matmul(np.abs(linear), half)
        return np.stack([centre - reach, centre + reach], axis=1)

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) that no copy exceeds, metres from the world's origin."""
        boxes = self.boxes
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def moved(self, transform: Array) -> Instances:
        """A copy moved by a (4, 4) or (3, 4) transform."""
        matrix = np.asarray(transform, dtype=np.float64)
        moved = np.einsum("ij,njk->nik", matrix[:3, :3], self.transforms.astype(np.float64))
        moved[:, :, 3] += matrix[:3, 3]
        return Instances(self.mesh, moved, self.instance, self.label, self.name)

    def lower(self) -> InstanceArray:
        """These instances as the tracer takes them."""
        return InstanceArray(self.mesh.lower(), self.transforms, self.instance, self.label)
