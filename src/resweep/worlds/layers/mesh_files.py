"""Meshes from files: OBJ, PLY, STL and GLB/glTF, with their node transforms and names.

glTF and GLB files have y up (glTF 2.0, 3.4) and are turned to z up. OBJ, PLY and STL files do not say which axis is up:
z is assumed, as it is of trimesh objects. ``up`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resweep import portable
from resweep.errors import InputError, ResweepError, nearest_names
from resweep.files.untrusted import check_regular
from resweep.pose import Array
from resweep.quantities import MAX_COORDINATE_M
from resweep.worlds.layers.colour_reflectance import find_face_reflectance
from resweep.worlds.layers.gltf_check import check_gltf
from resweep.worlds.layers.instances import Instances
from resweep.worlds.layers.mesh import Mesh

SUFFIXES = (".obj", ".ply", ".stl", ".glb", ".gltf")
_MAX_FACTOR = 1e12  # of a transform: from nanometres to kilometres
FAR_M = 1000.0  # beyond this, float32 offsets from zero lose the tenth of a millimetre

# Of files whose format states the upward axis; any other is taken to be "z".
STATED_UP = {".glb": "y", ".gltf": "y"}
Z_UP_FROM_Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


@dataclass(frozen=True)
class _Part:
    """One geometry of a file, with the nodes that place it: their names and transforms (4, 4)."""

    name: str
    material: str
    geometry: Any
    nodes: tuple[str, ...]
    transforms: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The names it can be selected by, most specific first: nodes, geometry, object of an OBJ, material."""
        return (*self.nodes, self.name, self.name.removesuffix(f"_{self.material}"), self.material)

    @property
    def title(self) -> str:
        """A stable name: trimesh invents node names for a glTF mesh of several primitives."""
        made_up = self.geometry.metadata.get("from_gltf_primitive", False)
        return self.name if made_up or len(self.nodes) > 1 else self.nodes[0]


def load_mesh(
    mesh: Any,
    *,
    label: int | Mapping[str, int] | None = None,
    reflectance: float | Mapping[str, float] | None = None,
    scale: float = 1.0,
    up: str | None = None,
    transform: ArrayLike | None = None,
    default_reflectance: float = 0.5,
) -> tuple[list[Mesh | Instances], Array]:
    """Read a mesh file, or take a trimesh object, as layers and the float64 origin (3,) of their coordinates.

    ``mesh`` is a path (OBJ, PLY, STL, GLB, glTF), a ``trimesh.Trimesh`` or a ``trimesh.Scene``. A
    geometry that is placed once becomes a `Mesh`; one that is placed often becomes `Instances`.

    ``label`` is one id for all faces, or a dict by name: of a node, a geometry, an object of an OBJ
    file or a material, in that order of precedence; what it does not name gets 0. ``reflectance`` (0 to 1) works alike;
    what it does not name takes the luminance of its base colour, or ``default_reflectance`` if it
    has none (see `resweep.worlds.layers.colour_reflectance`).

    The file's coordinates are first multiplied by ``scale`` (metres per unit), then turned to z up if
    ``up`` is ``"y"``, then taken by ``transform`` (4, 4). Unless given, ``up`` is ``"y"`` for glTF and GLB files, as
    their specification has it, and ``"z"`` for all others, which do not say.
    The origin is zero, or the centre rounded to metres where coordinates exceed 1000 m.
    """
    where = f"mesh '{mesh}'" if isinstance(mesh, str | Path) else "mesh"
    by_name = isinstance(label, Mapping) or isinstance(reflectance, Mapping)
    parts = _list_parts(_open_any_scene(mesh, where, by_name), where)
    placed = _make_placement(scale, find_upward_axis(mesh, up), transform, where)
    _check_choice(label, parts, where, "label", Integral)
    _check_choice(reflectance, parts, where, "reflectance", Real)
    origin = _choose_origin(parts, placed, where)
    shift = np.eye(4)
    shift[:3, 3] = -origin
    layers: list[Mesh | Instances] = []
    for part in parts:
        attributes = {
            "label": _choose_value(label, part, 0),
            "reflectance": _choose_value(reflectance, part, None),
        }
        if attributes["reflectance"] is None:
            attributes["reflectance"] = find_face_reflectance(part.geometry, default_reflectance)
        layers.append(_make_layer(part, portable.matmul(shift, placed, part.transforms), attributes))
    return layers, origin


def find_upward_axis(mesh: Any, up: str | None = None) -> str:
    """The upward axis of a mesh file or object: ``up`` if given, else what its format states, else ``"z"``."""
    if up is not None:
        return up
    return STATED_UP.get(Path(mesh).suffix.lower(), "z") if isinstance(mesh, str | Path) else "z"


def open_scene(path: Path) -> Any:
    """The trimesh scene in a mesh file."""
    return _open_any_scene(path, str(path), False)


def _open_any_scene(mesh: Any, where: str, split_objects: bool) -> Any:
    """The trimesh scene in a file, or around an object.

    An OBJ's objects are kept apart only on demand: a large file may hold thousands of them.
    """
    import trimesh  # takes a while to load, and only imports need it

    if isinstance(mesh, trimesh.Scene):
        return mesh
    if isinstance(mesh, trimesh.Trimesh):
        return trimesh.Scene({"mesh": mesh})
    if not isinstance(mesh, str | Path):
        raise ResweepError(f"mesh: expected a path, a trimesh.Trimesh or a trimesh.Scene, got {type(mesh).__name__}")
    path = Path(mesh)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{where}: '{path.suffix}' is not a mesh format; use one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise InputError(f"{where}: no such file; check the path")
    is_obj = path.suffix.lower() == ".obj"
    try:
        check_regular(path)
        if path.suffix.lower() in (".glb", ".gltf"):
            check_gltf(path)
        return trimesh.load(path, force="scene", process=False, **({"split_objects": split_objects} if is_obj else {}))
    except Exception as error:  # the readers raise whatever their format's parser does
        reason = " ".join(str(error).split()) or type(error).__name__
        if is_obj and isinstance(error, IndexError):
            reason = f"a face points at a vertex that is not there: {reason}"
        raise InputError(f"{where}: cannot be read ({reason}); repair it or export it again") from error


def _list_nodes(scene: Any, where: str) -> dict[str, list[str]]:
    """The nodes of each geometry."""
    nodes: dict[str, list[str]] = {}
    try:
        for node in scene.graph.nodes_geometry:
            nodes.setdefault(scene.graph[node][1], []).append(node)
    except (ValueError, KeyError, RecursionError) as error:
        raise InputError(f"{where}: its nodes are no tree ({error}); repair it or export it again") from error
    return nodes


def _list_parts(scene: Any, where: str) -> list[_Part]:
    """The scene's geometries with faces, in the order of their first node, checked."""
    nodes = _list_nodes(scene, where)
    parts = []
    for name, names in nodes.items():
        geometry = scene.geometry[name]
        if len(getattr(geometry, "faces", ())) == 0:
            continue  # point clouds and lines beside the surfaces
        _check_geometry(geometry, f"{where}: '{name}'")
        transforms = np.array([scene.graph[node][0] for node in names], dtype=np.float64)
        for node, matrix in zip(names, transforms, strict=True):
            _check_invertible(matrix, f"{where}: node '{node}'")
        material = getattr(getattr(geometry.visual, "material", None), "name", None) or ""
        parts.append(_Part(name, str(material), geometry, tuple(names), transforms))
    if not parts:
        raise ResweepError(f"{where}: has no faces; a world needs a surface, not a cloud of points or lines")
    return parts


def _check_geometry(geometry: Any, where: str) -> None:
    vertices, faces = np.asarray(geometry.vertices), np.asarray(geometry.faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
        wide = vertices.shape[-1] if vertices.ndim else 0
        raise InputError(f"{where}: vertices of {wide} coordinates, or faces that are no triangles; export it again")
    if faces.min() < 0 or faces.max() >= len(vertices):
        bad = faces.min() if faces.min() < 0 else faces.max()
        raise InputError(f"{where}: a face points at vertex {bad} of {len(vertices)}; repair the mesh")
    finite = np.isfinite(vertices).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise InputError(f"{where}: vertex {row} is NaN or infinite; repair the mesh")


def _check_invertible(matrix: Array, where: str) -> None:
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise ResweepError(f"{where}: transform must be a finite 4x4 matrix, got shape {matrix.shape}")
    if np.abs(matrix).max() > _MAX_FACTOR:
        raise ResweepError(f"{where}: transform has a number beyond {_MAX_FACTOR:g}; repair it or export it again")
    linear = matrix[:3, :3]
    if abs(portable.det3(linear)) <= 1e-9 * float(np.abs(linear).max()) ** 3:
        raise ResweepError(f"{where}: transform is degenerate (it flattens the mesh); its 3x3 part must be invertible")


def _make_placement(scale: float, up: str, transform: ArrayLike | None, where: str) -> Array:
    """The matrix (4, 4) from the file's coordinates to the world's."""
    if not (np.isfinite(scale) and scale > 0):
        raise ResweepError(f"{where}: scale must be a number above zero (metres per unit), got {scale}")
    if up not in ("y", "z"):
        raise ResweepError(f"{where}: up must be 'y' or 'z', got {up!r}")
    matrix = np.diag([scale, scale, scale, 1.0])
    if up == "y":
        matrix = portable.matmul(Z_UP_FROM_Y_UP, matrix)
    if transform is None:
        return matrix
    try:
        given = np.asarray(transform, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ResweepError(f"{where}: transform must be a 4x4 matrix of numbers ({error})") from error
    _check_invertible(given, where)
    return np.asarray(portable.matmul(given, matrix))


def _check_choice(chosen: Any, parts: Iterable[_Part], where: str, field: str, kind: type) -> None:
    """Raise if labels or reflectances are not numbers, or name what the file does not hold."""
    values = list(chosen.values()) if isinstance(chosen, Mapping) else [] if chosen is None else [chosen]
    for value in values:
        if not isinstance(value, kind) or not np.isfinite(float(value)):  # type: ignore[arg-type]
            raise ResweepError(f"{where}: {field} must be a number, or a dict of numbers by name, got {value!r}")
    if not isinstance(chosen, Mapping):
        return
    known = {name for part in parts for name in part.names if name}
    for name in chosen:
        if name not in known:
            raise ResweepError(f"{where}: {field} names '{name}', which it does not hold; {nearest_names(name, known)}")


def _choose_value(chosen: Any, part: _Part, default: Any) -> Any:
    """One value for a part, or a list of one per node where the dict names single nodes."""
    if not isinstance(chosen, Mapping):
        return default if chosen is None else chosen
    fallback = next((chosen[name] for name in part.names[len(part.nodes) :] if name in chosen), default)
    values = [chosen.get(node, fallback) for node in part.nodes]
    return values[0] if all(value == values[0] for value in values) else values


def _choose_origin(parts: Iterable[_Part], placed: Array, where: str) -> Array:
    corners = []
    for part in parts:
        bounds = np.array([part.geometry.vertices.min(axis=0), part.geometry.vertices.max(axis=0)])
        box = np.array([[*corner, 1.0] for corner in product(*bounds.T)])
        corners.append((portable.matmul(placed, part.transforms, box.T))[:, :3].transpose(0, 2, 1).reshape(-1, 3))
    every = np.concatenate(corners)
    farthest = float(np.abs(every).max())
    if not farthest <= MAX_COORDINATE_M:
        reach = f"reaches {farthest:.3g} m from zero, and no coordinate is beyond {MAX_COORDINATE_M:.0e} m"
        raise InputError(f"{where}: {reach}; give scale (metres per unit), or repair it")
    if farthest <= FAR_M:
        return np.zeros(3)
    return np.asarray(np.round((every.min(axis=0) + every.max(axis=0)) / 2))


def _make_layer(part: _Part, transforms: Array, attributes: dict[str, Any]) -> Mesh | Instances:
    """A mesh, or instances if the part is placed more than once."""
    vertices = np.asarray(part.geometry.vertices, dtype=np.float64)
    faces = np.asarray(part.geometry.faces)
    if len(transforms) == 1:
        matrix = transforms[0]
        if portable.det3(matrix[:3, :3]) < 0:
            faces = faces[:, ::-1]  # a mirror image: keep the outside outside
        return Mesh(portable.matmul(vertices, matrix[:3, :3].T) + matrix[:3, 3], faces, name=part.title, **attributes)
    if isinstance(attributes["reflectance"], list):
        raise ResweepError(
            f"mesh: reflectance differs between the nodes {', '.join(part.nodes)}, which share the geometry "
            f"'{part.name}'; name the geometry instead"
        )
    label = attributes.pop("label")
    centre = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    transforms = transforms.copy()
    transforms[:, :3, 3] += portable.matmul(transforms[:, :3, :3], centre)
    mesh = Mesh(vertices - centre, faces, name=part.title, **attributes)
    return Instances(mesh, transforms[:, :3], label=label, name=part.title)
