"""A world: layers of geometry around one origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resweep import portable
from resweep.bounds import check_positions
from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.label_mapping import map_labels
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelSet, load_labels
from resweep.map_filter import MapFilter
from resweep.pose import Array, check_rigid
from resweep.worlds.layers.layer import Layer, list_values
from resweep.worlds.layers.mesh_files import load_mesh
from resweep.worlds.layers.relabel import count_labels, has_any_label, relabel_layers
from resweep.worlds.layers.square_tiles import TILE_SIZE_M
from resweep.worlds.native import Native
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.save import save_world


class World:
    """Layers of geometry; their coordinates are float32 metres from a float64 ``origin``.

    The origin keeps what float32 cannot: a world at UTM coordinates measures as one at zero.
    ``labels`` is the vocabulary of the label ids of its primitives: a `LabelSet`, or its name. ``calibration`` is that
    of the lasers that recorded it, None if it is unknown. ``meta`` is provenance and is saved with it. ``tile_size_m``
    is the side of the square tiles that it is saved and traced in. ``observed`` is the space that recorded beams
    crossed, None if it is unknown. ``map_filter`` says which recorded returns its map left out, None if it was not
    built from any.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        origin: ArrayLike = (0.0, 0.0, 0.0),
        meta: Mapping[str, Any] | None = None,
        labels: LabelSet | str | Path = UNKNOWN_LABELS,
        *,
        calibration: Calibration | None = None,
        tile_size_m: float = TILE_SIZE_M,
        observed: ObservedSpace | None = None,
        map_filter: MapFilter | None = None,
    ) -> None:
        self.tile_size_m = float(tile_size_m)
        self.layers: tuple[Layer, ...] = tuple(layers)
        if not self.layers:
            raise ResweepError("world: no layer given; a world holds at least one")
        self.origin = np.array(origin, dtype=np.float64)
        if self.origin.shape != (3,) or not np.isfinite(self.origin).all():
            raise ResweepError(f"world: origin must be three finite numbers, got {origin!r}")
        check_positions("world: origin", self.origin[None])
        self.labels = load_labels(labels)
        self.calibration = calibration
        self.observed = observed
        self.map_filter = map_filter
        self.meta: dict[str, Any] = dict(meta or {})

    @classmethod
    def from_mesh(
        cls,
        mesh: Any,
        label: int | Mapping[str, int] | None = None,
        reflectance: float | Mapping[str, float] | None = None,
        labels: LabelSet | str | Path | None = None,
        *,
        scale: float = 1.0,
        up: str | None = None,
        transform: ArrayLike | None = None,
        default_reflectance: float = 0.5,
    ) -> World:
        """A world of one mesh: a path (OBJ, PLY, STL, GLB/glTF) or a trimesh object.

        ``label`` and ``reflectance`` (0 to 1) take one value, or a dict by mesh or material name; ``labels`` is the
        vocabulary of the label ids (default: unknown, or none without a ``label``). ``scale`` is metres per unit,
        ``up`` the upward axis of the file, "y" or "z" (default: "y" for glTF and GLB by their specification, "z" for
        all others, which do not say), ``transform`` (4, 4) is applied last. ``default_reflectance`` is that of faces
        without colour. Details in `resweep.worlds.layers.mesh_files.load_mesh`.

        Example: ``rs.World.from_mesh("hall.obj", label={"brick": 50}, labels="semantickitti")``
        """
        layers, origin = load_mesh(
            mesh,
            label=label,
            reflectance=reflectance,
            scale=scale,
            up=up,
            transform=transform,
            default_reflectance=default_reflectance,
        )
        source = str(mesh) if isinstance(mesh, str | Path) else type(mesh).__name__
        if labels is None:
            labels = NO_LABELS if label is None else UNKNOWN_LABELS
        return cls(layers, origin, {"source": source}, labels)

    def __add__(self, other: World) -> World:
        """Both worlds as one, around the first one's origin, with its vocabulary and its calibration.

        Labels of another vocabulary are mapped to that of the first world; a world without labels takes the other's.
        """
        if not isinstance(other, World):
            return NotImplemented
        labels = _find_common_labels(self, other)
        layers = other.relabelled(labels).layers if other.has_labels else other.layers
        shift = np.eye(4)
        shift[:3, 3] = other.origin - self.origin
        if shift[:3, 3].any():
            layers = tuple(layer.moved(shift) for layer in layers)
        meta = {**other.meta, **self.meta}
        spaces = [self.observed, None if other.observed is None else other.observed.moved(shift)]
        world = self._like([_drop_numbers(layer) for layer in (*self.layers, *layers)], self.origin, meta, labels)
        world.observed = ObservedSpace.union(space for space in spaces if space is not None)
        return world

    @property
    def has_labels(self) -> bool:
        """Whether any primitive has a label other than 0."""
        return has_any_label(self.layers)

    @property
    def label_counts(self) -> dict[int, int]:
        """Number of primitives with each label id, counted in every instance."""
        return count_labels(self.layers)

    def relabelled(self, labels: LabelSet | str | Path) -> World:
        """The same world with its labels mapped to another vocabulary (`resweep.map_labels`)."""
        target = load_labels(labels)
        if target.same_as(self.labels):
            return self._like(self.layers, self.origin, self.meta, target)
        layers = relabel_layers(self.layers, map_labels(self.labels, target))
        return self._like(layers, self.origin, self.meta, target)

    def moved(self, T_new_world: ArrayLike) -> World:
        """The same world after a rigid motion of the whole of it."""
        pose = check_rigid(T_new_world, "world motion")
        turn = np.eye(4)
        turn[:3, :3] = pose[:3, :3]
        origin = portable.matmul(pose[:3, :3], self.origin) + pose[:3, 3]
        world = self._like([layer.moved(turn) for layer in self.layers], origin, self.meta, self.labels)
        if self.observed is not None:
            world.observed = self.observed.moved(turn)
        return world

    def _like(self, layers: Sequence[Layer], origin: Array, meta: Mapping[str, Any], labels: LabelSet) -> World:
        """A world with this one's calibration, tiles, observed space and filter of its map."""
        same: dict[str, Any] = {"calibration": self.calibration, "tile_size_m": self.tile_size_m}
        return World(layers, origin, meta, labels, **same, observed=self.observed, map_filter=self.map_filter)

    @property
    def largest_instance(self) -> int:
        """The largest instance id in use."""
        return max(int(list_values(part.instance).max()) for layer in self.layers for part in layer.parts)

    def find_instance(self, wanted: Array) -> tuple[int, str] | None:
        """The first of the instance ids ``wanted`` (k,) that is in use, and the name of the layer that uses it."""
        for layer in self.layers:
            for part in layer.parts:
                used = np.intersect1d(wanted, list_values(np.asarray(part.instance)))
                if len(used):
                    return int(used[0]), layer.name
        return None

    @property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) float64 in world coordinates."""
        boxes = np.array([layer.bounds for layer in self.layers])
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]) + self.origin

    @property
    def n_triangles(self) -> int:
        """Number of triangles, counted in every instance."""
        return sum(layer.n_triangles for layer in self.layers)

    @property
    def n_primitives(self) -> int:
        """Number of primitives of all kinds, counted in every instance."""
        return sum(layer.n_primitives for layer in self.layers)

    def lower(self) -> list[Native]:
        """The layers as the tracer takes them."""
        return [layer.lower() for layer in self.layers]

    def save(self, path: str | Path, overwrite: bool = True) -> Path:
        """Write the world to the folder ``path``, such as ``place.world``, whole or not at all; returns the path.

        ``path`` may be a URL of an object store, such as ``s3://maps/place.world``.
        An old world there is replaced if ``overwrite``; anything else there is left alone and an error, and so is the
        name of a file of another kind, such as ``place.ply``. `resweep.load_world` reads it back.
        """
        return save_world(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        size = self.bounds[1] - self.bounds[0]
        kinds = ", ".join(f"{layer.kind} '{layer.name}'" for layer in self.layers[:6])
        more = f" and {len(self.layers) - 6} more" if len(self.layers) > 6 else ""
        return (
            f"World({kinds}{more}; {self.n_primitives:,} primitives; {size[0]:.1f} x {size[1]:.1f} x {size[2]:.1f} m)"
        )


def _drop_numbers(layer: Layer) -> Layer:
    """The layer without the numbers that its primitives have in a world that it is no longer a part of."""
    if layer.number is None:
        return layer
    other = copy(layer)
    other.number = None
    return other


def _find_common_labels(one: World, other: World) -> LabelSet:
    """The vocabulary of two worlds put together; raises if the labels of one of them cannot be understood."""
    if one.labels.same_as(other.labels) or not other.has_labels:
        return one.labels if one.labels.known or one.has_labels else other.labels
    if not one.has_labels:
        return other.labels
    for which, world in (("first", one), ("second", other)):
        if not world.labels.known:
            known = (other if world is one else one).labels.name
            raise ResweepError(
                f"worlds cannot be added: the labels of the {which} are of unknown meaning, those of the other are "
                f"{known}'s; name the vocabulary, as in World(..., labels='{known}')"
            )
    return one.labels
