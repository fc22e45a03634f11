"""What of a world a vehicle can stand on or strike.

Permeable volumes always yield, and so does vegetation as low as the vehicle pushes through. Trunks, and vegetation of
vocabularies that have one class for whole trees, do not.
"""

from __future__ import annotations

import numpy as np

from resweep import _core
from resweep.drive.vehicles import Vehicle
from resweep.errors import ResweepError
from resweep.labels import LabelSet, list_broader_categories
from resweep.pose import Array
from resweep.scenario.ground import Ground, find_ground
from resweep.worlds import Layer, Mesh, StreamedWorld, World

_HARD = ("tree", "trunk")
_ABOVE_ROOF_M = 1.0  # what hangs higher than this above the roof is never struck


def make_solid(world: World, vehicle: Vehicle) -> Ground:
    """The surfaces of a world that carry or stop the vehicle, as rays hit them."""
    if isinstance(world, StreamedWorld):
        raise ResweepError("loop: a world that is read tile by tile cannot be driven in; load it with load_world")
    soft = find_soft_labels(world.labels)
    if vehicle.pushes_through_m == 0.0 or not soft:
        return find_ground(world)
    whole: Ground | None = None
    layers: list[Layer] = []
    for layer in world.layers:
        if layer.mesh is not None and layer.transforms is not None:
            kept: Layer | None = _cut_copies(layer, layer.mesh, layer.transforms, soft, vehicle)
        elif layer.solid and np.isin(layer.label, soft).any():
            whole = find_ground(world) if whole is None else whole
            kept = _cut_layer(layer, soft, vehicle, whole)
        else:
            kept = layer
        if kept is not None:
            layers.append(kept)
    if not layers:
        raise ResweepError("loop: the world has only vegetation that yields; a vehicle needs ground to stand on")
    return Ground(World(layers, world.origin, labels=world.labels))


def make_native_solid(ground: Ground) -> _core.Solid:
    """The surfaces as the native functions of a vehicle's body take them."""
    labels = ground.labels
    unlabelled = labels.unlabelled if labels.known else (0,)
    return _core.Solid(ground.scene, tuple(ground.origin.tolist()), list(ground.ground_ids), list(unlabelled))


def find_soft_labels(labels: LabelSet) -> tuple[int, ...]:
    """The ids of vegetation that yields: not trunks, nor whole trees."""
    found = []
    for label in labels.classes:
        chain = list_broader_categories(labels.category(label))
        if "vegetation" in chain and not any(name in chain for name in _HARD):
            found.append(label)
    return tuple(found)


def _cut_copies(layer: Layer, mesh: Mesh, transforms: Array, soft: tuple[int, ...], vehicle: Vehicle) -> Layer | None:
    """Copies of a mesh without its low leaves, and without leaves above the roof; heights count from its own foot."""
    yields = np.isin(mesh.label, soft)
    if not yields.any() or (layer.label >= 0).any():
        return layer
    scale = np.sqrt((transforms[:, :, 2].astype(np.float64) ** 2).sum(axis=1))
    z = mesh.vertices[:, 2][mesh.faces].astype(np.float64)
    low = z.max(axis=1) * float(scale.max()) <= vehicle.pushes_through_m
    high = z.min(axis=1) * float(scale.min()) > vehicle.height_m + _ABOVE_ROOF_M
    keep = ~(yields & (low | high))
    return layer.with_(mesh=mesh.select(keep)) if keep.any() else None


def _cut_layer(layer: Layer, soft: tuple[int, ...], vehicle: Vehicle, ground: Ground) -> Layer | None:
    yields = np.isin(layer.label, soft)
    rows = np.flatnonzero(yields)
    centre = layer.centres[rows].astype(np.float64) + ground.origin
    below = ground.heights(np.column_stack([centre[:, :2], np.full(len(centre), np.nan)]))
    low = centre[:, 2] - below <= vehicle.pushes_through_m
    keep = np.ones(len(yields), bool)
    keep[rows[low]] = False
    return layer.select(keep) if keep.any() else None
