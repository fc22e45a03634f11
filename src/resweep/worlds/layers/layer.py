"""`Layer`: what every kind of geometry in a world can do. A kind is one class in one file of this folder.

A layer is rows of primitives. A kind says which columns and settings it has; saving, loading, streaming, relabelling
and joining follow from that, and so do the methods below. A kind overrides those that it can answer better.
`resweep.worlds.layers` lists the kinds by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.layers.seen import COLUMN
from resweep.worlds.layers.square_tiles import Division, divide_boxes
from resweep.worlds.native import Discs, Native, Triangles

if TYPE_CHECKING:
    from resweep.label_mapping import LabelMapping
    from resweep.worlds.layers.mesh import Mesh
    from resweep.worlds.store.layer_files import TileRows

PERMEABILITY = "permeability"  # the column of the share of rays that pass
LOST = "lost"  # the column of the share of beams that come back empty from what they hit
_TRACED = (COLUMN, PERMEABILITY)  # columns of ``extra`` that the tracer reads
_LARGEST_ID = 1 << 16  # ids below it are counted in a table

AnyLayer = TypeVar("AnyLayer", bound="Layer")


@dataclass(frozen=True)
class ColumnType:
    """What a column holds on disk: its type, and the shape of one row."""

    dtype: str = "float32"
    row: tuple[int, ...] = ()


FLOAT, ID = ColumnType(), ColumnType("int32")
POINT, NORMAL = ColumnType(row=(3,)), ColumnType(row=(3,))
ATTRIBUTES: Mapping[str, ColumnType] = MappingProxyType({"label": ID, "reflectance": FLOAT, "instance": ID})
NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Traits:
    """What the native scene must know of a layer before it sees any of it.

    ``gathers``: a ray reads several of its primitives. ``permeable``: its discs may let rays pass, which is drawn.
    """

    gathers: bool = False
    permeable: bool = False


class Layer(ABC):
    """Rows of primitives of one kind, with a label, a reflectance and an instance id each.

    Coordinates are float32 metres from the world's origin. ``extra`` holds further columns (n,) by name, of kinds that
    keep any. ``number`` (n,) uint32 is that of each primitive in the whole world, None if all of it is here.
    """

    kind: ClassVar[str]
    """The name of the kind, in files and in messages."""
    native: ClassVar[type[Native]]
    """What it lowers itself to."""
    count_field: ClassVar[str]
    """The field of world.json with the number of rows."""
    shape: ClassVar[Mapping[str, ColumnType]]
    """The columns that always have an array on disk; the first one is counted."""
    attributes: ClassVar[Mapping[str, ColumnType]] = ATTRIBUTES
    """The columns (n,) that may repeat one value."""
    points: ClassVar[Mapping[str, ColumnType]] = NONE
    """Columns on disk with a row for each point of a tile instead of each primitive."""
    settings: ClassVar[Mapping[str, type]] = NONE
    """Single values of a layer, by the names of the constructor's arguments."""
    older_settings: ClassVar[Mapping[str, Any]] = NONE
    """Values of settings that older worlds do not list."""
    shared: ClassVar[tuple[str, ...]] = ()
    """Further arguments of the constructor, which all rows have in common."""
    keeps_extra: ClassVar[bool] = False
    """Whether it takes ``extra`` columns."""
    copies: ClassVar[bool] = False
    """Whether its rows are copies of one mesh."""
    numbered: ClassVar[bool] = False
    """Whether random numbers depend on the number of a primitive in the world."""
    has_planes: ClassVar[bool] = False
    """Whether sweeps are registered to it (`list_planes`)."""
    solid: ClassVar[bool] = True
    """Whether one can stand on it or run into it."""
    scene_bytes: ClassVar[int]
    """Bytes of a row in the native scene beside its arrays, as measured."""
    kept_bytes: ClassVar[int]
    """Bytes of a row while its tile is kept for tracing, hierarchy included; more than measured, as reading takes
    some for a while."""

    name: str
    label: Array
    instance: Array
    reflectance: Array
    extra: Mapping[str, Array] = NONE
    number: Array | None = None
    transforms: Array | None = None  # (k, 3, 4) float32 of copies

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.label)

    @property
    @abstractmethod
    def centres(self) -> Array:
        """The middle of each row (n, 3) float32, which decides the tile that it belongs to."""

    @abstractmethod
    def lower(self) -> Native:
        """The layer as the tracer takes it."""

    @abstractmethod
    def moved(self, transform: Array) -> Self:
        """A copy moved by a (4, 4) or (3, 4) motion."""

    @property
    def half_size(self) -> Array:
        """Half the size (n, 3) float32 of a box that holds each row, metres."""
        raise NotImplementedError(f"{type(self).__name__} has boxes")

    @property
    def boxes(self) -> Array:
        """Lowest and highest corner (n, 2, 3) of a box around each row, metres from the world's origin."""
        return np.stack([self.centres - self.half_size, self.centres + self.half_size], axis=1)

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) that no row exceeds, metres from the world's origin."""
        boxes = self.boxes
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)], np.float64)

    @property
    def normals(self) -> Array | None:
        """The unit normal (n, 3) of each row; None if rows are no surfaces, or faces that are seen from both sides."""
        return None

    @property
    def mesh(self) -> Mesh | None:
        """The triangles that it is made of, or that it has copies of; None if it is made of something else."""
        return None

    @property
    def parts(self) -> tuple[Layer, ...]:
        """The layer, and what it has copies of: whatever has labels and instance ids."""
        return (self,)

    @property
    def n_triangles(self) -> int:
        """Number of triangles, counted in every copy."""
        return 0

    @property
    def n_primitives(self) -> int:
        """Number of primitives, counted in every copy."""
        return len(self)

    @property
    def n_points(self) -> int:
        """Number of points that its primitives share, of kinds with `points`."""
        return 0

    @property
    def holds_beams(self) -> bool:
        """Whether the width of beams is part of the primitives, so that a beam crosses them with its axis alone."""
        return False

    @property
    def can_move(self) -> bool:
        """Whether the tracer can move it during a sweep, as a part of an actor."""
        return issubclass(self.native, Triangles | Discs)

    @classmethod
    def traits(cls, settings: Mapping[str, Any], extra: Iterable[str]) -> Traits:
        """What the native scene must know of a layer with these settings and names of extra columns."""
        return Traits()

    def list_settings(self) -> dict[str, Any]:
        """The values of its settings, as world.json keeps them."""
        return {name: getattr(self, name) for name in self.settings}

    def with_(self, **changed: Any) -> Self:
        """A checked copy with columns or settings changed, such as ``with_(element_m=0.02)``."""
        names = [*self.shared, *self.shape, *self.attributes, *self.settings, "name"]
        given = {name: getattr(self, name) for name in (*names, *(("extra",) if self.keeps_extra else ()))}
        other = type(self)(**{**given, **changed})
        other.number = self.number if len(other) == len(self) else None
        return other

    def select(self, rows: Array) -> Self:
        """The layer with some of its rows: their indices (k,), or a mask (n,)."""
        columns: dict[str, Any] = {name: pick(getattr(self, name), rows) for name in (*self.shape, *self.attributes)}
        if self.keeps_extra:
            columns["extra"] = {name: pick(values, rows) for name, values in self.extra.items()}
        other = self.with_(**columns)
        other.number = None if self.number is None else self.number[rows]
        return other

    def take_part(self, rows: Array) -> Self:
        """Some rows (k,) as the tracer needs them: of ``extra`` only what it reads."""
        if not self.keeps_extra or not set(self.extra) - set(_TRACED):
            return self.select(rows)
        bare = copy(self)
        bare.extra = {name: values for name, values in self.extra.items() if name in _TRACED}
        return bare.select(rows)

    @classmethod
    def join(cls, layers: Sequence[Self]) -> Self:
        """Layers that are alike as one, their rows in this order."""
        first = layers[0]
        if cls.shared:
            raise ResweepError(f"layer '{first.name}': layers of kind '{cls.kind}' cannot be joined")
        names = [name for name in (*cls.shape, *cls.attributes) if getattr(first, name) is not None]
        columns: dict[str, Any] = {name: np.concatenate([getattr(layer, name) for layer in layers]) for name in names}
        if cls.keeps_extra:
            columns["extra"] = {name: np.concatenate([layer.extra[name] for layer in layers]) for name in first.extra}
        return first.with_(**columns)

    def divide(self, tile_size_m: float) -> Division:
        """The layer divided into tiles of this size, metres."""
        return divide_boxes(self.centres, self.boxes, tile_size_m)

    def list_columns(self, division: Division) -> dict[str, Array]:
        """The columns of `shape` and `points` as they are written, tile by tile."""
        return {name: getattr(self, name)[division.order] for name in self.shape}

    @classmethod
    def read(cls, rows: TileRows) -> Self:
        """A layer of the rows of some tiles on disk."""
        columns = {name: rows.column(name) for name in (*cls.shape, *rows.attributes)}
        if cls.keeps_extra:
            columns["extra"] = {name: rows.column(f"extra-{name}") for name in rows.extra}
        arguments: dict[str, Any] = {**columns, **rows.settings, "name": rows.name}
        return cls(**arguments)

    def count_labels(self) -> Counter[int]:
        """Number of primitives with each label, counted in every copy."""
        return count_values(self.label)

    def relabelled(self, mapping: LabelMapping, meshes: dict[int, Mesh]) -> Self:
        """The layer with its labels mapped; all else is shared with it.

        ``meshes`` are those that other layers have copies of, relabelled, by the identity of the first one.
        """
        copied = copy(self)
        copied.label = map_column(self.label, mapping)
        return copied

    def list_planes(self) -> tuple[Array, Array] | None:
        """Places on its surfaces and their unit normals (n, 3) float64, which sweeps are registered to; None: none."""
        normals = self.normals
        return None if normals is None else (self.centres.astype(np.float64), normals.astype(np.float64))

    def list_outline(self) -> tuple[Array, Array, Array]:
        """Points (n, 3) on its surface, outward normals (zero: seen from both sides) and the radius around each."""
        centres = self.centres.astype(np.float64)
        normals = np.zeros_like(centres) if self.normals is None else self.normals.astype(np.float64)
        return centres, normals, self.half_size.max(axis=1).astype(np.float64)

    def list_half_axes(self, rows: Array) -> Array:
        """Half axes (k, 2, 3) float32 metres of the disc that a viewer draws for each of some rows (k,).

        They are the two longer ones of its box. What is a `mesh` is drawn as that.
        """
        low, high = self.boxes[rows].swapaxes(0, 1)
        longer = np.argsort(low - high, axis=1, kind="stable")[:, :2]
        half = np.take_along_axis(high - low, longer, axis=1) / 2
        return np.asarray(np.eye(3)[longer] * half[:, :, None], np.float32)

    def sample(self, spacing_m: float) -> Iterator[tuple[Array, Array, Array]]:
        """Points (n, 3), reflectance and label (n,) that stand for it in a cloud, in blocks.

        One for each row, or one for each square of ``spacing_m`` of its faces.
        """
        yield self.centres, self.reflectance, self.label


def kinds_in(layers: Iterable[Layer], kind: type[AnyLayer]) -> list[AnyLayer]:
    """Those of the layers that are of one kind: for a builder that works on what it has made."""
    return [layer for layer in layers if isinstance(layer, kind)]


def expand_column(values: Any, count: int, dtype: Any, what: str) -> Array:
    """A column (count,) from one value or one per row; a ``dtype`` of None keeps that of the values."""
    array = np.asarray(values, dtype=dtype)
    if array.ndim == 0:
        return np.broadcast_to(array, (count,))  # one value serves all rows
    if array.shape != (count,):
        raise ResweepError(f"{what}: expected one value or {count}, got shape {array.shape}")
    return np.ascontiguousarray(array, dtype=dtype)


def pick(column: Any, rows: Array) -> Any:
    """Some rows of a column; its one value if all rows share one."""
    if column is None:
        return None
    return column[0] if column.strides[0] == 0 and len(column) else column[rows]


def list_values(column: Array) -> Array:
    """The column, or its first value if all rows share one."""
    return column[:1] if column.strides == (0,) else column


def map_column(label: Array, mapping: LabelMapping) -> Array:
    """A column of labels in another vocabulary."""
    return np.broadcast_to(mapping.map(list_values(label)), label.shape)


def count_values(column: Array) -> Counter[int]:
    """How many rows of a column of ids have each value."""
    if column.strides == (0,) and len(column):
        return Counter({int(column[0]): len(column)})
    if len(column) and column.min() >= 0 and column.max() < _LARGEST_ID:
        numbers = np.bincount(column)
        ids = np.flatnonzero(numbers)
        return Counter(dict(zip(ids.tolist(), numbers[ids].tolist(), strict=True)))
    ids, numbers = np.unique(column, return_counts=True)
    return Counter(dict(zip(ids.tolist(), numbers.tolist(), strict=True)))
