"""Assets: objects in their own frame, cut out of drives or imported from CAD files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from resweep.bounds import MAX_OBJECT_M, check_within
from resweep.categories import OBJECT_LABELS, find_category
from resweep.errors import ResweepError
from resweep.label_mapping import map_labels
from resweep.labels import UNKNOWN_LABELS, LabelSet, load_labels
from resweep.pose import Array, from_xyz_rpy
from resweep.scenario.coverage import estimate_coverage
from resweep.worlds import Layer, World
from resweep.worlds.layers.mesh_files import STATED_UP, find_upward_axis, load_mesh

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_MAX_LENGTH_M, _MIN_LENGTH_M = 100.0, 0.02
_USUAL_M = 4.0  # the order of magnitude of objects in traffic, by which a wrong unit is guessed
_UNITS = {"millimetres": 0.001, "centimetres": 0.01, "inches": 0.0254, "kilometres": 1000.0}
_FORWARD = {"x": 0.0, "y": -np.pi / 2, "-x": np.pi, "-y": np.pi / 2}
_LONG = ("car", "van", "truck", "bus", "tram", "trailer")  # never taller than long


@dataclass(frozen=True, eq=False)
class Asset:
    """An object that a scenario can place.

    Its frame has x forward, y left, z up, and its origin on the ground in the middle of its footprint.
    ``layers`` are those of a `World` in that frame; ``size_m`` is length, width and height of its box, metres;
    ``category`` a class such as "car" and ``label`` its id on returns, in the vocabulary ``labels``. ``source`` is the
    log it was cut from and its track there, or a mesh file and -1; ``n_points`` the returns it was made of, 0 for a
    mesh. ``mirrored``: its far side is the mirror image of the near one. ``stored_coverage`` is its `coverage` as a
    bank keeps it; without, it is computed from the layers.
    """

    name: str
    label: int
    category: str
    size_m: tuple[float, float, float]
    layers: tuple[Layer, ...]
    source: tuple[str, int] = ("", -1)
    n_points: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    labels: LabelSet = UNKNOWN_LABELS
    mirrored: bool = False
    stored_coverage: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        size = tuple(float(value) for value in self.size_m)
        if len(size) != 3 or not all(np.isfinite(value) and value > 0 for value in size):
            raise ResweepError(f"asset '{self.name}': size_m must be three lengths above zero, got {self.size_m}")
        check_within(f"asset '{self.name}': size_m", size, 0.0, MAX_OBJECT_M, "no object is longer")
        if not self.layers:
            raise ResweepError(f"asset '{self.name}': has no layer; an object needs a surface")
        if not all(layer.solid for layer in self.layers):
            raise ResweepError(f"asset '{self.name}': has permeable volumes; an object is made of splats or meshes")
        object.__setattr__(self, "size_m", size)
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "label", int(self.label))

    @property
    def world(self) -> World:
        """The object as a world of its own, at the origin; ``asset.world.moved(pose)`` places it."""
        meta = {"asset": self.name, "category": self.category, "source": list(self.source)}
        return World(self.layers, meta=meta, labels=self.labels)

    def label_in(self, labels: LabelSet) -> int:
        """Its label in the vocabulary of a world; where that is unknown, its own.

        A label of a known vocabulary is mapped (`resweep.map_labels`), one of unknown meaning goes by the category.
        """
        if not labels.known or labels.same_as(self.labels):
            return self.label
        if self.labels.known and self.labels.is_labelled(np.array([self.label])).all():
            mapping = map_labels(self.labels, labels)
            if self.label in mapping.ids and self.label not in mapping.lost:
                return mapping.ids[self.label]
        return find_category(self.category).label(labels)

    @cached_property
    def coverage(self) -> tuple[float, ...]:
        """Share of its outline that is known, from the front and on counter-clockwise (`resweep.scenario.coverage`)."""
        return estimate_coverage(self.layers, self.size_m) if self.stored_coverage is None else self.stored_coverage

    @classmethod
    def from_mesh(
        cls,
        mesh: Any,
        *,
        category: str,
        name: str | None = None,
        label: int | Mapping[str, int] | None = None,
        labels: LabelSet | str | Path | None = None,
        scale: float = 1.0,
        up: str | None = None,
        forward: str | None = None,
        reflectance: float | Mapping[str, float] | None = None,
    ) -> Asset:
        """An asset from a file (OBJ, PLY, STL, GLB/glTF) or a trimesh object.

        ``scale`` is metres per unit of the file; ``up`` its upward axis, "y" or "z"; ``forward`` the axis that
        the object's front points along once z is up: "x", "-x", "y" or "-y". Unless given, they are those of the
        glTF specification, "y" and "-y", for glTF and GLB files, and "z" and "x" for all others. It
        is set down on the ground in the middle of its footprint. ``label``, ``labels``
        and ``reflectance`` as in `World.from_mesh`; without a ``label`` it is that of the category, of SemanticKITTI
        if no ``labels`` are given.
        """
        kind = find_category(category)
        stated = isinstance(mesh, str | Path) and Path(mesh).suffix.lower() in STATED_UP
        up, forward = find_upward_axis(mesh, up), forward or ("-y" if stated else "x")
        if forward not in _FORWARD:
            raise ResweepError(f"asset: forward must be one of {', '.join(_FORWARD)}, got {forward!r}")
        given = str(mesh) if isinstance(mesh, str | Path) else type(mesh).__name__
        vocabulary = load_labels((OBJECT_LABELS if label is None else UNKNOWN_LABELS) if labels is None else labels)
        chosen = kind.label(vocabulary) if label is None else label
        layers, origin = load_mesh(mesh, label=chosen, reflectance=reflectance, scale=scale, up=up)
        world = World(layers, origin).moved(from_xyz_rpy(yaw=_FORWARD[forward]))
        low, high = world.bounds
        _check_size(high - low, scale, up, kind.name, f"mesh '{given}'")
        shift = from_xyz_rpy(*(world.origin - [*(low + high)[:2] / 2, low[2]]))
        single = chosen if isinstance(chosen, int) else kind.label(vocabulary)
        return cls(
            name=name or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(given).stem).strip("-.") or kind.name,
            label=single,
            category=kind.name,
            size_m=tuple((high - low).tolist()),
            layers=tuple(layer.moved(shift) for layer in world.layers),
            source=(given, -1),
            labels=vocabulary,
        )

    def __repr__(self) -> str:
        length, width, height = self.size_m
        origin = f"{self.n_points:,} points" if self.n_points else "a mesh"
        return f"Asset('{self.name}', {self.category}, {length:.2f} x {width:.2f} x {height:.2f} m, {origin})"


def check_name(name: str) -> None:
    """Raise if a name cannot be a file's."""
    if not _NAME.match(name):
        raise ResweepError(f"asset name '{name}': use letters, digits, '.', '_' and '-' only, as in 'car-0012'")


def _check_size(size: Array, scale: float, up: str, category: str, where: str) -> None:
    """Raise if an object cannot be so large, so small or so tall, with the likely reason."""
    longest = float(size.max())
    if not _MIN_LENGTH_M <= longest <= _MAX_LENGTH_M:
        unit, factor = min(_UNITS.items(), key=lambda item: abs(math.log(max(longest, 1e-9) * item[1] / _USUAL_M)))
        raise ResweepError(
            f"{where}: is {longest:,.4g} m long, which no object of traffic is; its unit is probably {unit}, "
            f"give scale={scale * factor:g}"
        )
    if category in _LONG and size[2] > max(size[0], size[1]):
        other = "y" if up == "z" else "z"
        raise ResweepError(
            f"{where}: this {category} is {size[2]:.2f} m tall and {max(size[0], size[1]):.2f} m long; "
            f"its upward axis is probably not {up}, give up='{other}'"
        )
    if category in _LONG and size[1] > size[0]:
        raise ResweepError(
            f"{where}: this {category} is {size[1]:.2f} m wide and {size[0]:.2f} m long; "
            "its front probably points along y, give forward='-y' or 'y'"
        )
