"""Every kind of layer keeps one contract, and a kind that is written here is as good as any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.label_mapping import map_labels
from resweep.labels import load_labels
from resweep.pose import Array, from_xyz_rpy
from resweep.simulate import Simulator
from resweep.viewer.scene.primitives import ShownWorld
from resweep.worlds import Instances, Layer, Mesh, Splats, StreamedWorld, Volumes, World, load_world
from resweep.worlds.layers import KINDS
from resweep.worlds.layers.layer import FLOAT, ID, POINT, expand_column
from resweep.worlds.layers.mesh import Material
from resweep.worlds.layers.relabel import count_labels
from resweep.worlds.layers.seen import COLUMN
from resweep.worlds.native import Triangles
from resweep.worlds.store.assemble import assemble_world

LENGTH_M, TILE_M, COUNT = 120.0, 10.0, 300
SENSOR = rs.load_sensor("velodyne-vlp-16").with_(
    **{"range_max_m": 15.0, "pattern.azimuth_resolution_deg": 2.0, "pattern.firing_period_s": None}
)
UP = from_xyz_rpy(60.0, 0.0, 1.0)


class Posts(Layer):
    """A fifth kind: upright boards one metre wide, each with a height."""

    kind, count_field, native = "posts", "n_posts", Triangles
    shape = MappingProxyType({"foot": POINT, "height_m": FLOAT})
    attributes = MappingProxyType({"label": ID, "reflectance": FLOAT, "instance": ID})
    settings = MappingProxyType({"width_m": float})
    scene_bytes, kept_bytes = 130, 380

    def __init__(
        self,
        foot: Any,
        height_m: Any,
        label: Any = 0,
        reflectance: Any = 0.5,
        instance: Any = 0,
        width_m: float = 1.0,
        name: str = "posts",
    ) -> None:
        self.name, self.width_m = name, width_m
        self.foot = np.ascontiguousarray(foot, np.float32)
        self.height_m = np.ascontiguousarray(height_m, np.float32)
        for column, dtype in (("label", np.int32), ("reflectance", np.float32), ("instance", np.int32)):
            value = {"label": label, "reflectance": reflectance, "instance": instance}[column]
            setattr(self, column, expand_column(value, len(self.foot), dtype, f"posts: {column}"))

    @property
    def centres(self) -> Array:
        return np.asarray(self.foot + self.height_m[:, None] * np.float32([0, 0, 0.5]))

    @property
    def half_size(self) -> Array:
        wide = np.full(len(self), self.width_m / 2, np.float32)
        return np.stack([np.zeros_like(wide), wide, self.height_m / 2], axis=1)

    def moved(self, transform: Array) -> Self:
        matrix = np.asarray(transform)
        return self.with_(foot=self.foot @ matrix[:3, :3].T + matrix[:3, 3])

    def lower(self) -> Triangles:
        side = np.array([[0, -0.5, 0], [0, 0.5, 0], [0, 0.5, 1], [0, -0.5, 1]])
        scale = np.stack([self.height_m * 0, np.full(len(self), self.width_m), self.height_m], axis=1)
        corners = self.foot[:, None] + side * scale[:, None]
        faces = (np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(len(self))[:, None, None]).reshape(-1, 3)
        label, instance, reflectance = (np.repeat(c, 2) for c in (self.label, self.instance, self.reflectance))
        return Triangles(
            corners.reshape(-1, 3).astype(np.float32),
            faces.astype(np.uint32),
            label,
            instance,
            reflectance,
            np.zeros(len(faces), np.uint8),
            np.array([[0, 50, 0]], np.float32),
        )


def places(rng: np.random.Generator, count: int = COUNT) -> Array:
    return np.c_[rng.uniform(0, LENGTH_M, count), rng.uniform(-10, 10, count), rng.uniform(-0.5, 1.5, count)]


def attributes(rng: np.random.Generator, count: int = COUNT) -> dict[str, Array]:
    return {
        "label": rng.choice([40, 50, 70], count),
        "reflectance": rng.uniform(0.1, 0.9, count),
        "instance": rng.integers(0, 9, count),
    }


def make_mesh(rng: np.random.Generator) -> Mesh:
    at = np.sort(places(rng), axis=0)
    corners = (at[:, None] + rng.normal(0, 0.8, (COUNT, 3, 3))).reshape(-1, 3)
    faces = np.arange(3 * COUNT).reshape(-1, 3)
    faces[1::2, 0] = faces[::2, 2]  # some vertices have two faces, also across tiles
    used, faces = np.unique(faces, return_inverse=True)
    corners, faces = corners[used], faces.reshape(-1, 3)
    materials = (Material(), Material("paint", 0.2, 20.0, 0.1))
    return Mesh(corners, faces, **attributes(rng), material=rng.integers(0, 2, COUNT), materials=materials, name="m")


def make_instances(rng: np.random.Generator) -> Instances:
    mesh = Mesh(rng.normal(0, 1, (12, 3)), np.arange(12).reshape(4, 3), label=[40, 50, 70, 40], instance=77)
    transforms = np.zeros((COUNT, 3, 4))
    transforms[:, :, :3] = np.eye(3) * rng.uniform(0.5, 2.0, (COUNT, 1, 1))
    transforms[:, :, 3] = places(rng)
    return Instances(mesh, transforms, np.arange(1, COUNT + 1), rng.choice([-1, 50], COUNT), "copies")


def make_splats(rng: np.random.Generator) -> Splats:
    normal = rng.normal(size=(COUNT, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    extra = {COLUMN: rng.integers(0, 2**31, COUNT).astype(np.uint32), "intensity": rng.uniform(0, 1, COUNT)}
    radius, share = rng.uniform(0.2, 0.8, COUNT), rng.choice([0.0, 0.5], COUNT)
    return Splats(places(rng), normal, radius, **attributes(rng), extra=extra, permeability=share, gap_m=0.2)


def make_volumes(rng: np.random.Generator) -> Volumes:
    covariance = np.array([0.09, 0.005, 0.0, 0.08, 0.0, 0.1]) * rng.uniform(0.5, 2, (COUNT, 1))
    passing, exposure = rng.uniform(0.1, 0.9, COUNT), rng.uniform(0.1, 0.3, COUNT)
    return Volumes(places(rng), covariance, passing, exposure, **attributes(rng), element_m=0.1)


def make_posts(rng: np.random.Generator) -> Posts:
    return Posts(places(rng), rng.uniform(0.5, 2.0, COUNT), **attributes(rng), width_m=1.5)


MAKERS: dict[str, Callable[[np.random.Generator], Layer]] = {
    "mesh": make_mesh,
    "instances": make_instances,
    "splats": make_splats,
    "volumes": make_volumes,
    "posts": make_posts,
}


@pytest.fixture(params=sorted(MAKERS))
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Layer:
    monkeypatch.setitem(KINDS, Posts.kind, Posts)
    return MAKERS[request.param](np.random.default_rng(5))


def world_of(*layers: Layer) -> World:
    return World(layers, (500_000.0, 5_000_000.0, 100.0), labels="semantickitti", tile_size_m=TILE_M)


def assert_same_layer(one: Layer, other: Layer) -> None:
    assert (type(one), one.name, one.list_settings()) == (type(other), other.name, other.list_settings())
    for name in (*one.shape, *one.attributes):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert list(one.extra) == list(other.extra)
    for name in one.extra:
        np.testing.assert_array_equal(one.extra[name], other.extra[name], err_msg=name)
    if one.mesh is not None and other.mesh is not None:
        np.testing.assert_array_equal(one.mesh.corners, other.mesh.corners)


def test_every_kind_keeps_the_contract() -> None:
    assert set(MAKERS) - {"posts"} == set(KINDS), "give a further kind a maker here"


def test_rows_lie_within_their_boxes_and_these_within_the_bounds(layer: Layer) -> None:
    assert len(layer) == COUNT == len(layer.centres) == len(layer.boxes)
    low, high = layer.boxes[:, 0], layer.boxes[:, 1]
    assert ((low <= layer.centres + 1e-4) & (layer.centres <= high + 1e-4)).all()
    assert (layer.bounds[0] >= low.min(axis=0) - 1e-4).all()
    assert (layer.bounds[1] <= high.max(axis=0) + 1e-4).all()


def test_it_lowers_itself_to_what_it_says(layer: Layer) -> None:
    assert type(layer.lower()) is layer.native
    assert layer.n_primitives == sum(layer.count_labels().values())


def test_a_motion_moves_all_of_it(layer: Layer) -> None:
    shift = np.array([3.0, -2.0, 1.0])
    moved = layer.moved(np.c_[np.eye(3), shift])
    np.testing.assert_allclose(moved.centres, layer.centres + shift, atol=1e-4)
    np.testing.assert_allclose(moved.bounds, layer.bounds + shift, atol=1e-4)
    assert_same_layer(moved.moved(np.c_[np.eye(3), -shift]).with_(**_shape_of(layer)), layer)


def _shape_of(layer: Layer) -> dict[str, Any]:
    return {name: getattr(layer, name) for name in (*layer.shape, *layer.shared)}


def test_selected_rows_are_those_rows(layer: Layer) -> None:
    rows = np.array([7, 2, 250])
    some = layer.select(rows)
    assert len(some) == 3
    np.testing.assert_array_equal(some.centres, layer.centres[rows])
    np.testing.assert_array_equal(some.label, layer.label[rows])
    assert all(len(values) == 3 for values in some.extra.values())
    np.testing.assert_array_equal(layer.take_part(rows).boxes, layer.boxes[rows])
    mask = np.zeros(COUNT, bool)
    mask[[2, 7, 250]] = True
    assert_same_layer(layer.select(mask), layer.select(np.array([2, 7, 250])))


def test_settings_can_be_changed(layer: Layer) -> None:
    other = layer.with_(name="other", label=3)
    assert (other.name, set(other.label.tolist())) == ("other", {3})
    assert_same_layer(other.with_(name=layer.name, label=layer.label), layer)


def test_halves_are_joined_to_the_whole_or_refused(layer: Layer) -> None:
    halves = [layer.select(np.arange(0, 100)), layer.select(np.arange(100, COUNT))]
    if layer.shared:
        with pytest.raises(ResweepError, match=f"'{layer.kind}' cannot be joined"):
            type(layer).join(halves)
    else:
        assert_same_layer(type(layer).join(halves), layer)


def test_tiles_hold_each_row_once(layer: Layer) -> None:
    division = layer.divide(TILE_M)
    assert sorted(division.order.tolist()) == list(range(COUNT))
    for tile in range(len(division.table.n_rows)):
        rows = division.rows(tile)
        place = np.floor(layer.centres[rows, :2] / TILE_M)
        assert (place == division.table.place[tile]).all()
        part = layer.take_part(rows)
        assert (part.bounds[0] >= division.table.bounds[tile, 0] - 1e-5).all()
        assert (part.bounds[1] <= division.table.bounds[tile, 1] + 1e-5).all()


def test_a_saved_layer_comes_back(layer: Layer, tmp_path: Path) -> None:
    path = world_of(layer).save(tmp_path / "a.world")
    (again,) = load_world(path).layers
    assert_same_layer(again, layer)
    assert again.number is None


def test_a_part_that_is_read_has_rows_of_the_whole(layer: Layer, tmp_path: Path) -> None:
    path = world_of(layer).save(tmp_path / "a.world")
    (part,) = load_world(path, bounds=np.add([[31, -10], [39, 10]], [5e5, 5e6])).layers
    assert 0 < len(part) < COUNT / 2
    whole = {row.tobytes(): at for at, row in enumerate(np.asarray(layer.centres, np.float32))}
    rows = np.array([whole[row.tobytes()] for row in np.asarray(part.centres, np.float32)])
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(part.label, layer.label[rows])
    assert (part.number is None) != layer.numbered
    if part.number is not None:
        np.testing.assert_array_equal(part.number, rows)


def test_sweeps_are_the_same_from_tiles_on_disk(layer: Layer, tmp_path: Path) -> None:
    world = world_of(layer)
    path = world.save(tmp_path / "a.world")
    pose = UP.copy()
    pose[:3, 3] += world.origin
    streamed = StreamedWorld(path)
    assert streamed.is_divided
    one, other = (Simulator(given, SENSOR, seed=3).sweep(pose) for given in (world, streamed))
    assert len(one) > 20
    for column in ("beam", "range", "intensity", "label", "instance"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes(), column
    assert set(one.label.tolist()) <= set(count_labels([layer]))


def test_numbers_follow_those_of_the_layer_before(tmp_path: Path) -> None:
    """A layer of one tile behind another one draws the same random numbers from disk as in memory."""
    rng = np.random.default_rng(8)
    wide = make_volumes(rng)
    few = make_volumes(rng).select(np.arange(40))
    few = few.with_(mean=few.mean * np.float32([0.0, 0.1, 1.0]) + np.float32([64.0, 5.0, 0.0]), name="few")
    world = world_of(wide, few)
    path = world.save(tmp_path / "a.world")
    pose = UP.copy()
    pose[:3, 3] += world.origin
    one, other = (Simulator(given, SENSOR, seed=3).sweep(pose) for given in (world, StreamedWorld(path)))
    np.testing.assert_array_equal(one.range, other.range)


def test_labels_are_mapped_in_all_parts(layer: Layer) -> None:
    source, target = load_labels("semantickitti"), load_labels("argoverse2")
    mapping = map_labels(source, target)
    made = world_of(layer).relabelled(target)
    wanted = {}
    for label, count in layer.count_labels().items():
        mapped = int(mapping.map(np.array([label]))[0])
        wanted[mapped] = wanted.get(mapped, 0) + count
    assert made.label_counts == wanted
    assert layer.label is not made.layers[0].label
    assert_same_layer(made.layers[0].with_(label=layer.label), layer)


def test_points_stand_for_it_in_clouds(layer: Layer) -> None:
    points, reflectance, label = (np.concatenate(parts) for parts in zip(*layer.sample(0.5), strict=True))
    assert len(points) == len(reflectance) == len(label) >= COUNT
    assert (points >= layer.bounds[0] - 1e-3).all()
    assert (points <= layer.bounds[1] + 1e-3).all()
    assert set(label.tolist()) <= set(layer.count_labels())
    outline, normals, radius = layer.list_outline()
    assert len(outline) == len(normals) == len(radius)


def test_every_row_is_shown_in_the_browser(layer: Layer) -> None:
    """As a disc within its box, if it is not shown as triangles."""
    world = world_of(layer)
    shown = ShownWorld(world, world.origin)
    if layer.mesh is not None:
        assert [mesh.name for mesh in shown.meshes()[0]] == [layer.name]
        return
    for by in shown.list_colourings():
        discs = shown.choose(np.zeros(3), by)
        assert len(discs.rgb) == COUNT
        np.testing.assert_array_equal(discs.centre, layer.centres)
        half, size = discs.half, layer.boxes[:, 1] - layer.boxes[:, 0]
        assert (np.abs(half).max(axis=1) <= size / 2 + 1e-3).all()
        assert (discs.radius > 0).all()


def test_parts_are_assembled_to_what_the_whole_is_saved_as(layer: Layer, tmp_path: Path) -> None:
    halves = [layer.select(np.arange(0, 100)), layer.select(np.arange(100, COUNT))]
    paths = [world_of(half).save(tmp_path / f"{i}.world") for i, half in enumerate(halves)]
    given: dict[str, Any] = {"origin": world_of(layer).origin, "tile_size_m": TILE_M, "meta": {}, "calibration": None}
    given["labels"] = load_labels("semantickitti")
    if layer.copies:
        with pytest.raises(ResweepError, match="'instances' cannot be put together"):
            assemble_world(paths, tmp_path / "all.world", **given)
        return
    (again,) = load_world(assemble_world(paths, tmp_path / "all.world", **given)).layers
    np.testing.assert_array_equal(again.centres, layer.centres)
    np.testing.assert_array_equal(again.label, layer.label)
