"""The primitives of a world as the browser takes them: discs, points, ellipsoids and triangles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.viewer import palette
from resweep.viewer.scene.discs import Sprites
from resweep.viewer.scene.levels import BUDGET, choose_level, draw_priorities
from resweep.viewer.scene.return_colours import KIND_COLOURS, _to_bytes, colour_instances, colour_table
from resweep.worlds import Layer, Mesh, Volumes, World
from resweep.worlds.layers.layer import PERMEABILITY, kinds_in
from resweep.worlds.layers.seen import COLUMN, unpack_seen
from resweep.worlds.native import NUMBERS

MAX_FACES = 1_000_000  # triangles of meshes that are sent to the browser
MAX_COPIES = 20_000
MAX_ELLIPSOIDS = 4_000
_MIN_SHADE = 0.55  # of the colour of a disc that faces away from the light
_LIGHT = np.array([0.35, -0.45, 0.82])


@dataclass(frozen=True, eq=False)
class BrowserMesh:
    """A mesh for the browser: ``vertices`` (n, 3), ``faces`` (m, 3), ``rgb`` (n, 3) uint8; copies, if there are any.

    ``wxyz`` (k, 4), ``position`` (k, 3) and ``scale`` (k, 3) place the copies.
    """

    name: str
    vertices: Array
    faces: Array
    rgb: Array
    wxyz: Array | None = None
    position: Array | None = None
    scale: Array | None = None


class ShownWorld:
    """A world as it is shown around ``centre`` (3,), which float32 coordinates are measured from."""

    def __init__(self, world: World, centre: Array, budget: int = BUDGET) -> None:
        self.world, self.budget = world, budget
        self.shift = np.asarray(world.origin - centre, np.float64)

    @cached_property
    def volumes(self) -> list[Volumes]:
        """The layers of permeable volumes, which can be shown as ellipsoids."""
        return kinds_in(self.world.layers, Volumes)

    @cached_property
    def _layers(self) -> list[Layer]:
        """The layers that are shown as discs: all but `meshes`."""
        return [layer for layer in self.world.layers if layer.mesh is None]

    @cached_property
    def _centres(self) -> Array:
        parts = [layer.centres for layer in self._layers]
        joined = np.concatenate(parts) if parts else np.zeros((0, 3), np.float32)
        return np.asarray(joined + self.shift, np.float32)

    @cached_property
    def _priorities(self) -> Array:
        return draw_priorities(len(self._centres))

    @property
    def n_primitives(self) -> int:
        """How many primitives there are that are shown as discs."""
        return len(self._centres)

    def list_colourings(self) -> list[str]:
        """What the primitives can be coloured by."""
        found = ["label"] if self.world.has_labels else []
        found += ["reflectance", "height", "kind"]
        layers = self._layers
        if any(np.asarray(layer.instance).any() for layer in layers):
            found.append("instance")
        if any(COLUMN in layer.extra for layer in layers):
            found.append("times seen")
        if any(PERMEABILITY in layer.attributes for layer in layers):
            found.append("permeability")
        if any("red" in layer.extra for layer in layers):
            found.append("colour")
        return found

    def choose(self, eye: Array, by: str) -> Sprites:
        """The primitives to show from ``eye`` (3,), in shown coordinates, coloured ``by`` one of `list_colourings`.

        What is no disc is shown as one: `Layer.list_half_axes`.
        """
        rows, wider = choose_level(self._centres, self._priorities, eye, self.budget)
        half = np.empty((len(rows), 2, 3), np.float32)
        rgb = np.empty((len(rows), 3), np.uint8)
        first = 0
        for layer in self._layers:
            low, high = np.searchsorted(rows, (first, first + len(layer)))
            chosen, part = rows[low:high] - first, slice(int(low), int(high))
            rgb[part] = colour_layer(layer, chosen, by, self.world.labels, self.shift)
            half[part] = layer.list_half_axes(chosen) * wider[part][:, None, None]
            first += len(layer)
        return Sprites(self._centres[rows], half, rgb, self.n_primitives)

    def ellipsoids(self, eye: Array, max_count: int = MAX_ELLIPSOIDS) -> tuple[Array, Array, Array, Array]:
        """Centres (k, 3), rotations wxyz (k, 4), half axes (k, 3) and colours of the volumes nearest to ``eye``."""
        count = sum(len(layer) for layer in self.volumes)
        if count == 0:
            return np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3), np.uint8)
        centre = np.asarray(np.concatenate([layer.centres for layer in self.volumes]) + self.shift, np.float32)
        nearest = np.argsort(np.linalg.norm(centre - eye, axis=1), kind="stable")[:max_count]
        matrices = np.concatenate([layer.matrices for layer in self.volumes])[nearest]
        tau = np.concatenate([np.full(len(layer), layer.tau) for layer in self.volumes])[nearest]
        passing = np.concatenate([layer.permeability for layer in self.volumes])[nearest]
        values, vectors = np.linalg.eigh(matrices)
        vectors[np.linalg.det(vectors) < 0, :, 0] *= -1.0
        wxyz = Rotation.from_matrix(vectors).as_quat()[:, [3, 0, 1, 2]]
        return centre[nearest], wxyz, tau[:, None] * np.sqrt(values), _colour_by_share(passing)

    def meshes(self) -> tuple[list[BrowserMesh], int]:
        """Meshes and copies within the limits of a browser, and how many triangles are left out."""
        meshes: list[BrowserMesh] = []
        left, room = 0, MAX_FACES
        for layer in self.world.layers:
            mesh = layer.mesh
            if mesh is None:
                continue
            if mesh.n_triangles > room:
                left += layer.n_triangles
                continue
            room -= mesh.n_triangles
            shown = _shade_mesh(mesh, self.world.labels)
            if layer.transforms is not None:
                kept = layer.transforms[:MAX_COPIES]
                left += (len(layer.transforms) - len(kept)) * mesh.n_triangles
                wxyz, position, scale = split_transforms(kept)
                meshes.append(BrowserMesh(layer.name, *shown, wxyz, position + self.shift, scale))
            else:
                vertices, faces, rgb = shown
                meshes.append(BrowserMesh(layer.name, np.asarray(vertices + self.shift, np.float32), faces, rgb))
        return meshes, left


def colour_layer(layer: Layer, rows: Array, by: str, labels: LabelSet, shift: Array) -> Array:
    """Colours (k, 3) uint8 of some primitives of a layer; discs are shaded by their normals."""
    if by == "label":
        rgb = np.rint(255 * palette.label_colours(layer.label[rows], labels)).astype(np.uint8)
    elif by == "instance":
        rgb = colour_instances(layer.instance[rows])
    elif by == "kind":
        kind = KIND_COLOURS[NUMBERS[layer.native]]
        rgb = np.tile(np.array(_to_bytes(kind), np.uint8), (len(rows), 1))
    elif by == "height":
        low, high = layer.bounds[:, 2]
        rgb = _colour_by_share((layer.centres[rows, 2] - low) / max(high - low, 1e-6))
    elif by == "times seen" and COLUMN in layer.extra:
        rgb = _colour_by_share(np.log2(1.0 + unpack_seen(layer.extra[COLUMN][rows]).count) / 7.0)
    elif by == "permeability" and PERMEABILITY in layer.attributes:
        rgb = _colour_by_share(np.asarray(getattr(layer, PERMEABILITY))[rows])
    elif by == "colour" and "red" in layer.extra:
        rgb = np.stack([layer.extra[name][rows] for name in ("red", "green", "blue")], axis=1).astype(np.uint8)
    else:
        rgb = _colour_by_share(np.sqrt(np.clip(layer.reflectance[rows], 0.0, 1.0)), "magma")
    normals = layer.normals
    if normals is not None and by in ("label", "kind", "reflectance", "instance"):
        light = np.abs(normals[rows] @ (_LIGHT / np.linalg.norm(_LIGHT)))
        rgb = np.rint(rgb * (_MIN_SHADE + (1 - _MIN_SHADE) * light)[:, None]).astype(np.uint8)
    return np.asarray(rgb)


def split_transforms(transforms: Array) -> tuple[Array, Array, Array]:
    """Rotations wxyz (k, 4), positions (k, 3) and scales (k, 3) of transforms (k, 3, 4) without shear."""
    linear = transforms[:, :, :3].astype(np.float64)
    scale = np.linalg.norm(linear, axis=1)
    turn = linear / scale[:, None, :]
    mirrored = np.linalg.det(turn) < 0
    scale[mirrored, 0] *= -1.0
    turn[mirrored, :, 0] *= -1.0
    wxyz = Rotation.from_matrix(turn).as_quat()[:, [3, 0, 1, 2]]
    return wxyz, transforms[:, :, 3].astype(np.float64), scale


def _shade_mesh(mesh: Mesh, labels: LabelSet) -> tuple[Array, Array, Array]:
    """Vertices, faces and colours of a mesh: each vertex takes the label of a face that uses it."""
    label = np.zeros(len(mesh.vertices), np.int32)
    label[mesh.faces.ravel()] = np.repeat(np.asarray(mesh.label), 3)
    if label.any():
        rgb = np.rint(255 * palette.label_colours(label, labels)).astype(np.uint8)
    else:
        bright = np.zeros(len(mesh.vertices))
        bright[mesh.faces.ravel()] = np.repeat(np.asarray(mesh.reflectance), 3)
        rgb = np.repeat(np.rint(60 + 180 * np.clip(bright, 0, 1))[:, None], 3, axis=1).astype(np.uint8)
    return mesh.vertices, mesh.faces, rgb


def _colour_by_share(share: Array, name: str = "viridis") -> Array:
    return np.asarray(colour_table(name)[np.rint(255 * np.clip(share, 0.0, 1.0)).astype(np.int64)])
