"""Triangle meshes: CAD models, terrain, actors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from resweep import portable
from resweep.bounds import check_shapes
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.layers.layer import ATTRIBUTES, POINT, ColumnType, Layer, expand_column, pick
from resweep.worlds.layers.square_tiles import Division, TileTable, group_by_tile
from resweep.worlds.layers.triangles import sample_faces, sample_planes, sample_squares
from resweep.worlds.native import Triangles

if TYPE_CHECKING:
    from resweep.worlds.store.layer_files import TileRows

OUTLINE_POINTS = 20_000  # that a mesh's outline is known by
# A diffuse surface reflects at most 1; measured at a grazing angle, or on a sign, the value can be higher.
MAX_REFLECTANCE = 10.0


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


@dataclass(frozen=True)
class MeshDivision(Division):
    """A divided mesh, whose tiles have vertices of their own: which ones (k,), and the faces (m, 3) between them."""

    source: Array
    faces: Array


class Mesh(Layer):
    """Triangles with label, reflectance, material and instance id per face.

    ``vertices`` (n, 3) float32 metres from the world's origin, ``faces`` (m, 3) uint32. ``label``,
    ``reflectance`` (0 to 1, up to 10 where measured), ``material`` (index into ``materials``) and ``instance``
    take one value or one per face.
    """

    kind, count_field, native = "mesh", "n_faces", Triangles
    shape = MappingProxyType({"faces": ColumnType("uint32", (3,))})
    attributes = MappingProxyType(
        {name: ATTRIBUTES.get(name, ColumnType("uint8")) for name in ("label", "reflectance", "material", "instance")}
    )
    points = MappingProxyType({"source": ColumnType("uint32"), "vertices": POINT})
    shared = ("vertices", "materials")
    has_planes = True
    scene_bytes, kept_bytes = 65, 190

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
        check_shapes(what, self.vertices)
        if triangles.min() < 0 or triangles.max() >= len(self.vertices):
            worst = int(triangles.min() if triangles.min() < 0 else triangles.max())
            raise ResweepError(f"{what}: a face points at vertex {worst} of {len(self.vertices)}; repair the mesh")
        self.faces = np.ascontiguousarray(triangles, dtype=np.uint32)
        count = len(self.faces)
        self.label = expand_column(label, count, np.int32, f"{what}: label")
        self.reflectance = expand_column(reflectance, count, np.float32, f"{what}: reflectance")
        if not ((self.reflectance >= 0) & (self.reflectance <= MAX_REFLECTANCE)).all():
            raise ResweepError(
                f"{what}: reflectance must lie between 0 and 1, not in per cent (up to {MAX_REFLECTANCE:g} if measured)"
            )
        self.materials = tuple(materials)
        chosen = np.asarray(material)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= min(len(self.materials), 256)):
            worst = int(chosen.min() if chosen.min() < 0 else chosen.max())
            raise ResweepError(f"{what}: no material {worst}; {len(self.materials)} are given (256 at most)")
        self.material = expand_column(material, count, np.uint8, f"{what}: material")
        self.instance = expand_column(instance, count, np.int32, f"{what}: instance")

    @property
    def mesh(self) -> Mesh:
        """This mesh."""
        return self

    @property
    def n_triangles(self) -> int:
        """Number of triangles."""
        return len(self.faces)

    @property
    def n_points(self) -> int:
        """Number of vertices."""
        return len(self.vertices)

    @property
    def corners(self) -> Array:
        """The corners (m, 3, 3) float64 of each triangle."""
        return self.vertices.astype(np.float64)[self.faces]

    @property
    def centres(self) -> Array:
        """The middle (m, 3) float32 of each triangle."""
        return np.asarray(self.vertices[self.faces].mean(axis=1))

    @property
    def boxes(self) -> Array:
        """Lowest and highest corner (m, 2, 3) of each triangle."""
        corners = self.vertices[self.faces]
        return np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1)

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3), metres from the world's origin."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)], dtype=np.float64)

    def moved(self, transform: Array) -> Self:
        """A copy moved by a (4, 4) or (3, 4) transform, scale included."""
        matrix = np.asarray(transform, dtype=np.float64)
        moved = portable.matmul(self.vertices.astype(np.float64), matrix[:3, :3].T) + matrix[:3, 3]
        return self.with_(vertices=moved)

    def take_part(self, rows: Array) -> Self:
        """Some triangles, with the vertices that they need."""
        used, faces = np.unique(self.faces[rows], return_inverse=True)
        attributes = {name: pick(getattr(self, name), rows) for name in self.attributes}
        return self.with_(vertices=self.vertices[used], faces=faces.reshape(-1, 3), **attributes)

    def divide(self, tile_size_m: float) -> Division:
        """The triangles by the tile of their middle, each tile with vertices of its own, which are its points."""
        order, place, counts = group_by_tile(self.centres, tile_size_m)
        sources, faces = zip(*self._split_vertices(order, counts), strict=True)
        vertices = [self.vertices[used] for used in sources]
        boxes = np.array([[part.min(axis=0), part.max(axis=0)] for part in vertices], np.float64)
        table = TileTable(place, counts, np.array([len(used) for used in sources]), boxes)
        return MeshDivision(order, table, np.concatenate(sources), np.concatenate(faces))

    def _split_vertices(self, order: Array, n_rows: Array) -> Iterator[tuple[Array, Array]]:
        """The vertices (k,) of each tile, in order, and its faces (f, 3) between them."""
        slot = np.empty(len(self.vertices), np.uint32)
        for rows in np.split(order, np.cumsum(n_rows)[:-1]):
            corners = self.faces[rows].reshape(-1)
            slot[corners] = np.arange(len(corners), dtype=np.uint32)
            used = np.sort(corners[slot[corners] == np.arange(len(corners))])  # each vertex once
            slot[used] = np.arange(len(used), dtype=np.uint32)
            yield used, slot[corners].reshape(-1, 3)

    def list_settings(self) -> dict[str, Any]:
        """Its materials, as world.json keeps them."""
        return {"materials": [asdict(material) for material in self.materials]}

    def list_columns(self, division: Division) -> dict[str, Array]:
        """The faces of each tile between its own vertices, which follow with their rows in the mesh."""
        assert isinstance(division, MeshDivision)
        return {"faces": division.faces, "source": division.source, "vertices": self.vertices[division.source]}

    @classmethod
    def read(cls, rows: TileRows) -> Self:
        """The triangles of some tiles on disk; a vertex that several tiles have is one again."""
        source, vertices = (rows.points(name) for name in ("source", "vertices"))
        local, total = rows.stored("faces"), rows.need("n_vertices", int)
        _check_indices(rows, local, source, total)
        number = _renumber(source, total)
        joined = np.empty((int(number.max()) + 1, 3), np.float32)
        joined[number] = vertices
        first = np.repeat(np.cumsum(rows.n_points) - rows.n_points, rows.n_rows)
        faces = number[local + first[:, None]][rows.order]
        materials = [Material(**row) for row in rows.need("materials", list)]
        attributes = {name: rows.column(name) for name in cls.attributes}
        return cls(joined, faces, materials=materials, name=rows.name, **attributes)

    def list_planes(self) -> tuple[Array, Array]:
        """Places on the faces by their area, and the normals there (n, 3)."""
        return sample_planes(self.corners)

    def list_outline(self) -> tuple[Array, Array, Array]:
        """Points (n, 3) spread over the faces, which are seen from both sides."""
        points = sample_faces(self.corners, OUTLINE_POINTS)
        return points, np.zeros_like(points), np.zeros(len(points))

    def sample(self, spacing_m: float) -> Iterator[tuple[Array, Array, Array]]:
        """Points spread over the faces: one for each square of ``spacing_m``, at least one a face."""
        for points, face in sample_squares(self.corners, spacing_m):
            yield points, self.reflectance[face], self.label[face]

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


def _renumber(source: Array, total: int) -> Array:
    """Numbers (n,) uint32 from 0 without gaps, in the order of ``source`` (n,), whose values are below ``total``."""
    if total > 8 * len(source) + 1000:  # mostly gaps, or a wrong total: nothing is made in its size
        return np.unique(source, return_inverse=True)[1].astype(np.uint32)
    used = np.zeros(total, bool)
    used[source] = True
    return (np.cumsum(used, dtype=np.uint32) - np.uint32(1))[source]


def _check_indices(rows: TileRows, local: Array, source: Array, total: int) -> None:
    """Raise if a face points outside its tile's vertices."""
    counts = np.repeat(rows.n_points, rows.n_rows)
    true = local.dtype.kind in "iu" and source.dtype.kind in "iu"
    if not true or (local >= counts[:, None]).any() or (source >= total).any() or min(local.min(), source.min()) < 0:
        raise rows.damage_error("faces", "a face points at a vertex that is not there")
