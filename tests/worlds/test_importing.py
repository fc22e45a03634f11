"""Meshes from files: where they end up, what they are called, and what is wrong with the broken ones."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from resweep.errors import ResweepError
from resweep.worlds import World
from resweep.worlds.layers.colour_reflectance import find_face_reflectance, linearise_srgb
from resweep.worlds.layers.mesh_files import load_mesh

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
TWO_OBJECTS = (
    "mtllib paints.mtl\no Car\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n"
    "o Tree\nv 0 0 1\nv 1 0 1\nv 0 1 1\nusemtl blue\nf 4 5 6\nusemtl red\nf 4 6 5\n"
)
PAINTS = "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n"


@pytest.fixture
def write(tmp_path):
    def to(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return to


@pytest.fixture
def two_objects(write):
    write("paints.mtl", PAINTS)
    return write("two.obj", TWO_OBJECTS)


def turned(angle, offset, scale=1.0):
    matrix = trimesh.transformations.rotation_matrix(angle, [0, 0, 1])
    matrix[:3, :3] *= scale
    matrix[:3, 3] = offset
    return matrix


def world_points(layer, origin):
    """All corners of a layer in world coordinates, float64."""
    if layer.kind == "mesh":
        return layer.vertices.astype(np.float64) + origin
    linear, shift = layer.transforms[:, :, :3].astype(np.float64), layer.transforms[:, None, :, 3]
    return (layer.mesh.vertices.astype(np.float64) @ linear.transpose(0, 2, 1) + shift).reshape(-1, 3) + origin


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "glb"])
def test_every_format_gives_the_same_box(tmp_path, suffix):
    box = trimesh.creation.box((1, 2, 3), transform=turned(0.3, [4, 5, 6]))
    path = tmp_path / f"box.{suffix}"
    box.export(path)
    layers, origin = load_mesh(path, label=10, reflectance=0.3, up="z")  # whatever the format says
    assert origin.tolist() == [0, 0, 0]
    (mesh,) = layers
    assert mesh.n_triangles == 12
    np.testing.assert_allclose(mesh.bounds, box.bounds, atol=1e-5)
    assert set(mesh.label) == {10}
    np.testing.assert_allclose(mesh.reflectance, 0.3, atol=1e-7)


@pytest.mark.parametrize(("suffix", "up"), [("glb", "y"), ("gltf", "y"), ("obj", "z"), ("ply", "z"), ("stl", "z")])
def test_the_upward_axis_is_that_of_the_format(tmp_path, suffix, up):
    mast = trimesh.creation.box((1, 9, 2), transform=turned(0.0, [0, 4.5, 0]))  # stands along y
    if suffix == "gltf":
        for name, data in trimesh.Scene(mast).export(file_type="gltf").items():
            (tmp_path / ("mast.gltf" if name == "model.gltf" else name)).write_bytes(data)
    else:
        mast.export(tmp_path / f"mast.{suffix}")
    upright, lying = [[-0.5, -1, 0], [0.5, 1, 9]], [[-0.5, 0, -1], [0.5, 9, 1]]
    for given in (None, "y", "z"):
        ((mesh,), _) = load_mesh(tmp_path / f"mast.{suffix}", up=given)
        np.testing.assert_allclose(mesh.bounds, upright if (given or up) == "y" else lying, atol=1e-5)


def test_a_scene_of_repeated_geometry_becomes_instances(tmp_path):
    scene = trimesh.Scene()
    wheel, body = trimesh.creation.cylinder(0.3, 0.2), trimesh.creation.box((4, 2, 1))
    scene.add_geometry(body, node_name="body", geom_name="hull", transform=turned(0.5, [1, 2, 3]))
    places = [turned(0.1 * i, [i, -i, 0.5], 1 + 0.1 * i) for i in range(4)]
    scene.add_geometry(wheel, node_name="wheel0", geom_name="wheel", transform=places[0])
    for i in range(1, 4):
        scene.graph.update(frame_from="world", frame_to=f"wheel{i}", geometry="wheel", matrix=places[i])
    path = tmp_path / "car.glb"
    scene.export(path)
    for source in (scene, path):
        world = World.from_mesh(source, label={"wheel": 5, "body": 7, "wheel2": 9}, up="z")
        kinds = {layer.name: layer for layer in world.layers}
        assert kinds["body"].kind == "mesh"
        wheels = kinds["wheel"]
        assert wheels.kind == "instances"
        assert len(wheels.transforms) == 4
        assert sorted(wheels.label) == [5, 5, 5, 9]
        assert set(kinds["body"].label) == {7}
        assert world.n_triangles == len(body.faces) + 4 * len(wheel.faces)
        expected = np.concatenate([trimesh.transform_points(wheel.vertices, place) for place in places])
        actual = world_points(wheels, world.origin)
        order = [np.lexsort(np.round(points, 3).T) for points in (expected, actual)]
        np.testing.assert_allclose(actual[order[1]], expected[order[0]], atol=2e-3)
        np.testing.assert_allclose(
            world_points(kinds["body"], world.origin).max(axis=0), scene.dump()[0].bounds[1], atol=1e-5
        )


def test_labels_go_by_object_and_by_material(two_objects):
    by_object, _ = load_mesh(two_objects, label={"Car": 10, "Tree": 70})
    assert sorted(int(value) for layer in by_object for value in layer.label) == [10, 70, 70]
    by_material, _ = load_mesh(two_objects, label={"red": 1, "blue": 2}, reflectance={"red": 0.9})
    pairs = [pair for layer in by_material for pair in zip(layer.label, layer.reflectance, strict=True)]
    assert sorted((int(a), round(float(b), 3)) for a, b in pairs) == [(1, 0.9), (1, 0.9), (2, 0.072)]
    unnamed, _ = load_mesh(two_objects, label={"Car": 10})
    assert sorted(int(value) for layer in unnamed for value in layer.label) == [0, 0, 10]


def test_the_vocabulary_of_an_import_is_what_the_user_says(two_objects):
    assert World.from_mesh(two_objects).labels.name == "none"
    assert World.from_mesh(two_objects, label=10).labels.name == "unknown"
    assert World.from_mesh(two_objects, label=10, labels="semantickitti").labels.class_name(10) == "car"
    with pytest.raises(ResweepError, match="did you mean 'semantickitti'"):
        World.from_mesh(two_objects, labels="kitti-semantic")


def test_an_unknown_name_is_refused_with_the_nearest(two_objects):
    with pytest.raises(ResweepError, match=r"label names 'Caar'.*did you mean 'Car'"):
        load_mesh(two_objects, label={"Caar": 10})
    with pytest.raises(ResweepError, match=r"reflectance names 'xyzzy'.*known: .*red"):
        load_mesh(two_objects, reflectance={"xyzzy": 0.1})


def test_utm_coordinates_lose_nothing(write):
    corner = np.array(
        [[500000.123, 4600000.456, 312.789], [500001.123, 4600000.456, 312.789], [500000.123, 4600002, 312]]
    )
    path = write("utm.obj", "".join("v {:.3f} {:.3f} {:.3f}\n".format(*row) for row in corner) + "f 1 2 3\n")
    world = World.from_mesh(path)
    assert (world.origin == np.round(world.origin)).all()
    np.testing.assert_allclose(world_points(world.layers[0], world.origin), corner, atol=1e-6)
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.Trimesh(corner, [[0, 1, 2]], process=False), geom_name="g", node_name="a")
    scene.graph.update(frame_from="world", frame_to="b", geometry="g", matrix=turned(0, [10, 0, 0]))
    world = World.from_mesh(scene)
    expected = np.concatenate([corner, corner + np.array([10, 0, 0])])
    np.testing.assert_allclose(world_points(world.layers[0], world.origin), expected, atol=1e-5)


def test_scale_then_up_then_transform(write):
    path = write("axes.obj", "v 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 2 3\n")
    layers, _ = load_mesh(path, scale=2.0, up="y", transform=turned(np.pi / 2, [10, 0, 0]))
    # x stays, y becomes z, z becomes -y; then a quarter turn takes x to y and y to -x.
    np.testing.assert_allclose(layers[0].vertices, [[10, 2, 0], [10, 0, 4], [16, 0, 0]], atol=1e-5)


def test_a_mirror_keeps_the_outside_outside():
    box = trimesh.creation.box((1, 2, 3))
    layers, _ = load_mesh(box, transform=np.diag([-1.0, 1, 1, 1]))
    a, b, c = np.moveaxis(layers[0].vertices[layers[0].faces].astype(np.float64), 1, 0)
    assert (a * np.cross(b, c)).sum() / 6 == pytest.approx(6.0)


def test_reflectance_is_the_luminance_of_the_colour():
    box = trimesh.creation.box()
    assert find_face_reflectance(box, 0.42) == 0.42
    box.visual.face_colors = np.tile([0, 255, 0, 255], (12, 1))
    np.testing.assert_allclose(find_face_reflectance(box, 0.5), 0.7152, atol=1e-6)
    box = trimesh.creation.box()
    box.visual.vertex_colors = np.tile([188, 188, 188, 255], (8, 1))
    np.testing.assert_allclose(find_face_reflectance(box, 0.5), linearise_srgb(np.array(188 / 255)), atol=1e-6)
    assert linearise_srgb(np.array(188 / 255)) == pytest.approx(0.5, abs=0.005)  # mid grey in sRGB
    glass = trimesh.visual.material.PBRMaterial(baseColorFactor=[0.5, 0.5, 0.5, 1.0])
    box.visual = trimesh.visual.TextureVisuals(material=glass)
    assert find_face_reflectance(box, 0.1) == pytest.approx(0.5, abs=0.005)


def test_a_texture_is_read_at_each_face():
    from PIL import Image

    image = Image.fromarray(np.array([[[255, 255, 255], [0, 0, 0]]], dtype=np.uint8))
    uv = np.array([[0.2, 0.5]] * 3 + [[0.8, 0.5]] * 3)
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]] * 2, dtype=float)
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    mesh = trimesh.Trimesh(vertices, [[0, 1, 2], [3, 4, 5]], visual=visual, process=False)
    np.testing.assert_allclose(find_face_reflectance(mesh, 0.5), [1, 0], atol=1e-6)


BROKEN = {
    "nan.obj": ("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "vertex 0 is NaN"),
    "index.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 7\n", "points at a vertex"),
    "empty.obj": ("", "has no faces"),
    "points.obj": ("v 0 0 0\nv 1 0 0\n", "has no faces"),
    "junk.glb": ("this is not a glb file", "cannot be read"),
    "junk.ply": ("this is not a ply file", "cannot be read"),
    "index.ply": (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n",
        "points at vertex 9 of 3",
    ),
    "mesh.xyz": ("0 0 0\n", "'.xyz' is not a mesh format"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named_with_their_fault(name, write):
    text, message = BROKEN[name]
    path = write(name, text)
    with pytest.raises(ResweepError, match=message) as caught:
        load_mesh(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_arguments_are_refused(write, tmp_path):
    path = write("triangle.obj", TRIANGLE)
    with pytest.raises(ResweepError, match="no such file"):
        load_mesh(tmp_path / "absent.obj")
    with pytest.raises(ResweepError, match="degenerate"):
        load_mesh(path, transform=np.diag([1.0, 1, 0, 1]))
    with pytest.raises(ResweepError, match="4x4"):
        load_mesh(path, transform=np.eye(3))
    with pytest.raises(ResweepError, match="scale"):
        load_mesh(path, scale=0.0)
    with pytest.raises(ResweepError, match="'y' or 'z'"):
        load_mesh(path, up="x")
    with pytest.raises(ResweepError, match="label must be a number"):
        load_mesh(path, label="car")
    with pytest.raises(ResweepError, match="between 0 and 1"):
        load_mesh(path, reflectance=40)
    with pytest.raises(ResweepError, match="expected a path"):
        load_mesh(42)


def test_a_node_that_flattens_its_mesh_is_named():
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.creation.box(), node_name="sheet", transform=np.diag([1.0, 1, 0, 1]))
    with pytest.raises(ResweepError, match=r"node 'sheet'.*degenerate"):
        load_mesh(scene)


@pytest.mark.parametrize(
    ("path", "triangles", "size"),
    [
        ("cesium_milk_truck/CesiumMilkTruck.glb", 3624, (2.8, 4.9, 2.6)),
        ("pin_slam_car/kitti_car.ply", 43411, None),
        ("suma_passat/KIT_passat.obj", 52009, None),
        ("mavs_mit/vegetation/grass/grass_clump_2.obj", 6235, None),
        ("helios_tree/tree.obj", 6672, None),
    ],
)
def test_real_meshes(sample_data, path, triangles, size):
    source = sample_data / "meshes" / path
    if not source.is_file():
        pytest.skip(f"needs {path} of the sample recordings")
    world = World.from_mesh(source)
    assert world.n_triangles == triangles
    if size:
        points = np.concatenate([world_points(layer, world.origin) for layer in world.layers])
        np.testing.assert_allclose(np.ptp(points, axis=0), size, atol=0.1)
        assert points[:, 2].min() == pytest.approx(0, abs=0.05)  # on its wheels
    again = World.from_mesh(source)
    assert [layer.name for layer in world.layers] == [layer.name for layer in again.layers]
