"""Copies of one mesh, each with a transform of its own: vegetation, street furniture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from resweep import portable
from resweep.bounds import check_shapes
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.layers.layer import ID, ColumnType, Layer, count_values, expand_column, map_column
from resweep.worlds.layers.mesh import OUTLINE_POINTS, Mesh
from resweep.worlds.layers.triangles import sample_faces
from resweep.worlds.native import InstanceArray

if TYPE_CHECKING:
    from resweep.label_mapping import LabelMapping
    from resweep.worlds.store.layer_files import TileRows

_KEEP_MESH_LABELS = -1  # the label of a copy that has those of its mesh


class Instances(Layer):
    """Copies of one mesh: ``transforms`` (k, 3, 4) float32 take it to the world's offsets.

    ``instance`` (k,): an id per copy (0 keeps those of the mesh); ``label`` (k,): a label per copy
    (-1 keeps those of the mesh). Memory does not grow with the triangles of the copies.
    """

    kind, count_field, native = "instances", "n_instances", InstanceArray
    shape = MappingProxyType({"transforms": ColumnType(row=(3, 4))})
    attributes = MappingProxyType({"instance": ID, "label": ID})
    shared = ("mesh",)
    copies = True
    scene_bytes, kept_bytes = 300, 700

    transforms: Array

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
        check_shapes(what, matrices)
        linear = matrices[:, :, :3].astype(np.float64)
        scale = np.abs(linear).max(axis=(1, 2))
        flat = np.abs(portable.det3(linear)) <= 1e-9 * scale * scale**2
        if flat.any():
            raise ResweepError(
                f"{what}: transform {int(np.flatnonzero(flat)[0])} is degenerate (it flattens the mesh); "
                "its 3x3 part must be invertible"
            )
        self.name = name or mesh.name
        self._mesh = mesh
        self.reflectance = mesh.reflectance
        self.transforms = matrices
        self.instance = expand_column(instance, len(matrices), np.int32, f"{what}: instance")
        self.label = expand_column(label, len(matrices), np.int32, f"{what}: label")

    @property
    def mesh(self) -> Mesh:
        """The mesh that these are copies of."""
        return self._mesh

    @property
    def parts(self) -> tuple[Layer, ...]:
        """The copies, and their mesh."""
        return (self, self._mesh)

    @property
    def n_triangles(self) -> int:
        """Number of triangles, counted in every copy."""
        return self._mesh.n_triangles * len(self.transforms)

    @property
    def n_primitives(self) -> int:
        """Number of triangles, counted in every copy."""
        return self.n_triangles

    @property
    def centres(self) -> Array:
        """The place of each copy (k, 3) float32."""
        return self.transforms[:, :, 3]

    @property
    def boxes(self) -> Array:
        """Lowest and highest corner of a box around each copy (k, 2, 3), metres from the world's origin."""
        low, high = self._mesh.bounds
        middle, half = (low + high) / 2, (high - low) / 2
        linear = self.transforms[:, :, :3].astype(np.float64)
        centre = portable.matmul(linear, middle) + self.transforms[:, :, 3]
        reach = portable.matmul(np.abs(linear), half)
        return np.stack([centre - reach, centre + reach], axis=1)

    def moved(self, transform: Array) -> Self:
        """A copy moved by a (4, 4) or (3, 4) transform."""
        matrix = np.asarray(transform, dtype=np.float64)
        moved = np.einsum("ij,njk->nik", matrix[:3, :3], self.transforms.astype(np.float64))
        moved[:, :, 3] += matrix[:3, 3]
        return self.with_(transforms=moved)

    @classmethod
    def read(cls, rows: TileRows) -> Self:
        """The copies in some tiles on disk, and their mesh."""
        columns = {name: rows.column(name) for name in (*cls.shape, *cls.attributes)}
        return cls(rows.mesh(), **columns, name=rows.name)

    def count_labels(self) -> Counter[int]:
        """Number of triangles with each label, counted in every copy."""
        counts = count_values(self.label)
        kept = counts.pop(_KEEP_MESH_LABELS, 0)
        found = Counter({label: number * self._mesh.n_triangles for label, number in counts.items()})
        found.update({label: number * kept for label, number in self._mesh.count_labels().items() if kept})
        return found

    def relabelled(self, mapping: LabelMapping, meshes: dict[int, Mesh]) -> Self:
        """The copies with their own labels and those of their mesh mapped."""
        copied = copy(self)
        copied.label = np.where(self.label == _KEEP_MESH_LABELS, self.label, map_column(self.label, mapping))
        if id(self._mesh) not in meshes:
            meshes[id(self._mesh)] = self._mesh.relabelled(mapping, meshes)
        copied._mesh = meshes[id(self._mesh)]
        return copied

    def list_planes(self) -> None:
        """None: copies are far too many to be sampled."""
        return None

    def list_outline(self) -> tuple[Array, Array, Array]:
        """Points (n, 3) spread over the faces of all copies, which are seen from both sides."""
        one = sample_faces(self._mesh.corners, max(100, OUTLINE_POINTS // len(self.transforms)))
        copies = self.transforms.astype(np.float64)
        points = (np.einsum("kij,nj->kni", copies[:, :, :3], one) + copies[:, None, :, 3]).reshape(-1, 3)
        return points, np.zeros_like(points), np.zeros(len(points))

    def sample(self, spacing_m: float) -> Iterator[tuple[Array, Array, Array]]:
        """The points of the mesh at every copy."""
        blocks = list(self._mesh.sample(spacing_m))
        for transform, label in zip(self.transforms.astype(np.float64), self.label, strict=True):
            for points, reflectance, own in blocks:
                moved = portable.matmul(points, transform[:, :3].T) + transform[:, 3]
                yield moved, reflectance, own if label < 0 else np.full(len(own), label, np.int32)

    def lower(self) -> InstanceArray:
        """These instances as the tracer takes them."""
        return InstanceArray(self._mesh.lower(), self.transforms, self.instance, self.label)
