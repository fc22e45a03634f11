"""Meshes and their copies: what they hold, refuse and hand to the tracer."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.worlds import Instances, Material, Mesh

TRIANGLE = ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
SQUARE = ([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])


def identity(count: int = 1) -> np.ndarray:
    return np.repeat(np.eye(4)[None, :3], count, axis=0)


def test_one_value_serves_all_faces_without_memory() -> None:
    mesh = Mesh(*SQUARE, label=5, reflectance=0.25)
    assert mesh.label.tolist() == [5, 5]
    assert mesh.label.strides == (0,)
    assert mesh.reflectance.tolist() == [0.25, 0.25]


def test_values_per_face_reach_the_tracer() -> None:
    materials = (Material(), Material("sign", retro=3.0), Material("glass", specular=0.5, specular_exponent=9.0))
    mesh = Mesh(*SQUARE, label=[1, 2], reflectance=[0.1, 0.9], material=[2, 1], instance=[7, 8], materials=materials)
    native = mesh.lower()
    assert native.label.tolist() == [1, 2]
    assert native.instance.tolist() == [7, 8]
    np.testing.assert_allclose(native.reflectance, [0.1, 0.9])
    np.testing.assert_allclose(native.materials[native.material], [[0.5, 9.0, 0.0], [0.0, 50.0, 3.0]])
    assert (native.vertices.dtype, native.faces.dtype) == (np.float32, np.uint32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vertices": [[0, 0], [1, 1]]}, r"vertices must have shape \(n, 3\), got \(2, 2\)"),
        ({"faces": np.zeros((0, 3), int)}, "has no faces"),
        ({"faces": [[0, 1]]}, r"triangles of shape \(m, 3\), got \(1, 2\)"),
        ({"faces": [[0, 1, 3]]}, "a face points at vertex 3 of 3"),
        ({"faces": [[-1, 1, 2]]}, "a face points at vertex -1 of 3"),
        ({"vertices": [[0, 0, 0], [np.nan, 0, 0], [0, 1, 0]]}, "vertex 1 is NaN or infinite"),
        ({"label": [1, 2]}, r"label: expected one value or 1, got shape \(2,\)"),
        ({"reflectance": 50}, "reflectance must lie between 0 and 1, not in per cent"),
        ({"reflectance": np.nan}, "reflectance must lie between 0 and 1"),
        ({"material": 1}, "no material 1; 1 are given"),
        ({"material": 256}, "no material 256; 1 are given"),
        ({"material": -1}, "no material -1; 1 are given"),
    ],
)
def test_a_bad_mesh_is_refused_by_name(arguments: dict, message: str) -> None:
    good = {"vertices": TRIANGLE[0], "faces": TRIANGLE[1]}
    with pytest.raises(ResweepError, match=f"^mesh 'door': .*{message}"):
        Mesh(**{**good, **arguments}, name="door")


@pytest.mark.parametrize("field", ["specular", "specular_exponent", "retro"])
def test_a_material_is_never_negative(field: str) -> None:
    with pytest.raises(ResweepError, match="material 'tin'"):
        Material("tin", **{field: -0.1})


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        (np.zeros((2, 2, 4)), r"shape \(k, 3, 4\), got \(2, 2, 4\)"),
        (np.zeros((0, 3, 4)), r"shape \(k, 3, 4\)"),
        (np.zeros((2, 3, 4)), "transform 0 is degenerate"),
        (np.full((1, 3, 4), np.inf), "transform 0 holds NaN or infinity"),
    ],
)
def test_bad_copies_are_refused_by_name(transforms: np.ndarray, message: str) -> None:
    with pytest.raises(ResweepError, match=f"instances 'door': .*{message}"):
        Instances(Mesh(*TRIANGLE, name="door"), transforms)


def test_tiny_and_huge_copies_are_not_degenerate() -> None:
    for scale in (1e-4, 1e4):
        copies = Instances(Mesh(*TRIANGLE), identity() * scale)
        assert copies.bounds[1].max() == pytest.approx(scale * Mesh(*TRIANGLE).bounds[1].max())


def test_triangles_are_counted_in_every_copy() -> None:
    assert Instances(Mesh(*SQUARE), identity(5)).n_triangles == 10


def test_bounds_of_copies_contain_every_moved_vertex_and_touch_a_turned_box() -> None:
    rng = np.random.default_rng(1)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (-1, 3)])
    mesh = Mesh(corners, [[0, 1, 2], [5, 6, 7]])
    transforms = np.concatenate([rng.normal(size=(20, 3, 3)), rng.uniform(-50, 50, (20, 3, 1))], axis=2)
    copies = Instances(mesh, transforms)
    placed = np.einsum("kij,nj->kni", transforms[:, :, :3], corners) + transforms[:, None, :, 3]
    expected = np.stack([placed.min(axis=1), placed.max(axis=1)], axis=1)
    np.testing.assert_allclose(copies.boxes, expected, atol=1e-4)
    np.testing.assert_allclose(copies.bounds, [expected[:, 0].min(axis=0), expected[:, 1].max(axis=0)], atol=1e-4)


def test_moving_copies_moves_what_they_stand_for() -> None:
    rng = np.random.default_rng(2)
    motion = np.eye(4)
    motion[:3] = rng.normal(size=(3, 4))
    transforms = rng.normal(size=(4, 3, 4))
    mesh = Mesh(*SQUARE, label=3)
    moved = Instances(mesh, transforms, instance=[1, 2, 3, 4]).moved(motion)
    for copy in range(4):
        baked = mesh.moved(transforms[copy]).moved(motion)
        np.testing.assert_allclose(mesh.moved(moved.transforms[copy]).vertices, baked.vertices, atol=1e-5)
    assert moved.instance.tolist() == [1, 2, 3, 4]


def test_moving_a_mesh_keeps_its_attributes() -> None:
    mesh = Mesh(*SQUARE, label=[1, 2], reflectance=[0.1, 0.2], instance=4, name="roof")
    lift = np.eye(4)
    lift[:3, 3] = 1, 2, 3
    moved = mesh.moved(lift)
    np.testing.assert_array_equal(moved.vertices, mesh.vertices + np.array([1, 2, 3]))
    np.testing.assert_array_equal(moved.bounds, mesh.bounds + np.array([1, 2, 3]))
    assert (moved.label.tolist(), moved.instance.tolist(), moved.name) == ([1, 2], [4, 4], "roof")
