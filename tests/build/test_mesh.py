"""Surface reconstructions of places of known truth, and what they tell a user who is mistaken."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import Map, MeshConfig
from resweep.build.mesh.implicit import REACH_SIGMAS, SignedDistance
from resweep.build.mesh.marching_cubes import polygonise
from resweep.build.mesh.mesh import estimate_normals, fit, reconstruct
from resweep.build.splats.splats import face_sensor
from resweep.errors import ResweepError
from resweep.neighbours import Neighbours
from resweep.simulate.surface_alignment import align
from resweep.worlds.layers.triangles import compute_unit_normals
from tests.places import POLE, ROAD, at, cloud_of, log_of, plane
from tests.reference import map_kernels as reference

CONFIGS = {
    "imls": MeshConfig(method="imls"),
    "rimls": MeshConfig(method="rimls", voxel_m=0.05, kernel_m=0.2),
    "rimls-meshlab": MeshConfig(method="rimls-meshlab", voxel_m=0.05, kernel_m=0.2),
    "poisson": MeshConfig(method="poisson", cell_m=0.07),
}
EVERY = pytest.mark.parametrize("method", CONFIGS)


def sphere(n: int = 6000, radius: float = 1.0, noise: float = 0.01, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Points at random on a noisy sphere, and its normals."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal * (radius + noise * rng.standard_normal((n, 1))), normal


def edges(faces: np.ndarray) -> np.ndarray:
    """How many faces each edge has."""
    sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.unique(sides, axis=0, return_counts=True)[1]


@EVERY
def test_a_noisy_sphere_is_found_whole_and_of_its_size(method):
    points, normals = sphere()
    vertices, faces = reconstruct(points + np.array([500_000.0, 5_000_000.0, 100.0]), normals, CONFIGS[method])
    centred = vertices - [500_000.0, 5_000_000.0, 100.0]
    radius = np.linalg.norm(centred, axis=1)
    # Averaging planes that touch a sphere over σ = 14 cm puts it about σ²/4R further out; noise is 1 cm.
    assert abs(radius.mean() - 1.0) < 0.012
    assert radius.std() < 0.008
    if method == "rimls-meshlab":  # its marching cubes leave small holes
        assert (edges(faces) == 2).mean() > 0.97
    else:
        assert (edges(faces) == 2).all()
        assert len(vertices) - len(edges(faces)) + len(faces) == 2  # of a sphere (Euler)
    assert ((compute_unit_normals(centred[faces]) * centred[faces].mean(axis=1)).sum(axis=1) > 0).all()


@EVERY
def test_a_noisy_plane_is_found_where_it_lies(method):
    points = plane(2.0, 0.05, noise=0.01)
    vertices, _ = reconstruct(points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), CONFIGS[method])
    inner = np.abs(vertices[:, :2]).max(axis=1) < 1.8
    assert inner.sum() > 1000
    assert abs(vertices[inner, 2].mean()) < 0.002
    assert np.abs(vertices[inner, 2]).max() < 0.02
    assert np.abs(vertices[:, :2]).max() < 2.0 + 0.35  # open borders spread, but no farther than the method says


def test_imls_is_that_of_the_formula():
    points, normals = sphere(800)
    config = MeshConfig(voxel_m=0.1)
    field = SignedDistance(points, normals, config, tile=16)
    reach = REACH_SIGMAS * config.sigma_voxels * config.voxel_m
    known = 0
    for place in field.places:
        tile = field(place)
        corners = (tile.start + np.argwhere(tile.known)) * config.voxel_m
        wanted = reference.imls(points, normals, corners, config.sigma_voxels * config.voxel_m, reach)
        np.testing.assert_allclose(tile.value[tile.known] * config.voxel_m, wanted, atol=1e-6)
        every = (tile.start + np.argwhere(np.ones_like(tile.known))) * config.voxel_m
        nearest = np.sqrt(((every[:, None] - points[None]) ** 2).sum(axis=2).min(axis=1))
        assert np.array_equal(tile.known.reshape(-1), nearest <= 3 * config.voxel_m)  # C, 6.1.1
        known += len(corners)
    assert known > 1000


def test_rimls_is_that_of_the_formula():
    points, normals = sphere(800, noise=0.03)
    config = MeshConfig(method="rimls", voxel_m=0.1, kernel_m=0.35)
    field = SignedDistance(points, normals, config, tile=16)
    tiles = [field(place) for place in field.places]
    for tile in tiles:
        corners = (tile.start + np.argwhere(tile.known)) * config.voxel_m
        wanted = reference.rimls(points, normals, corners, config.kernel_m, config.sigma_normal, config.refits)
        np.testing.assert_allclose(tile.value[tile.known] * config.voxel_m, wanted, atol=1e-6)
    assert sum(tile.known.sum() for tile in tiles) > 1000


def test_rimls_and_that_of_meshlab_are_one_surface():
    points, normals = sphere(20_000)
    bumpy = points * (1.0 + 0.1 * np.sin(4 * points[:, :1]) * np.cos(3 * points[:, 2:]))
    near = Neighbours(bumpy.astype(np.float32)).pca(20, 0.3)
    normals = face_sensor(near.normal, bumpy, 10 * bumpy)
    own, theirs = (
        reconstruct(bumpy, normals, CONFIGS[method].model_copy(update={"voxel_m": 0.04, "kernel_m": 0.16}))[0]
        for method in ("rimls", "rimls-meshlab")
    )
    for one, other in ((own, theirs), (theirs, own)):
        apart = np.sqrt(Neighbours(one.astype(np.float32)).pca(12, 0.2).eigenvalues[:, 2])
        assert np.median(apart) < 0.01  # both are smooth
        index = Neighbours(other.astype(np.float32)).knn(one.astype(np.float32), 8).index
        corners = other[index]
        centre = corners.mean(axis=1)
        normal = np.linalg.svd(corners - centre[:, None])[2][:, 2]
        off = np.abs(((one - centre) * normal).sum(axis=1))  # from the plane through the other's nearest vertices
        assert np.median(off) < 0.002
        assert np.quantile(off, 0.95) < 0.008


def test_a_place_too_large_for_meshlabs_grid_is_reported():
    points, normals = sphere(500)
    with pytest.raises(ResweepError, match=r"rimls-meshlab fills the whole box .* take larger voxels, or rimls"):
        reconstruct(points * 30, normals, CONFIGS["rimls-meshlab"])


@pytest.mark.parametrize("method", ["imls", "rimls"])
def test_tiles_meet_as_if_they_were_one(method):
    points, normals = sphere(3000, noise=0.03)
    config = CONFIGS[method].model_copy(update={"voxel_m": 0.08, "kernel_m": 0.3})

    def triangles(tile: int, threads: int) -> np.ndarray:
        vertices, faces = polygonise(SignedDistance(points, normals, config, tile), config.voxel_m, threads)
        assert len(np.unique(faces)) == len(vertices)
        corners = np.round(vertices[faces], 9)
        first = np.lexsort(corners.transpose(2, 0, 1)[::-1], axis=1)[:, :1]
        turned = np.take_along_axis(corners, ((first + np.arange(3)) % 3)[:, :, None], axis=1).reshape(-1, 9)
        return turned[np.lexsort(turned.T[::-1])]

    whole = triangles(64, 1)
    for tile, threads in ((7, 1), (16, 2)):
        parts = triangles(tile, threads)
        assert len(np.unique(parts, axis=0)) == len(parts)
        np.testing.assert_allclose(parts, whole, atol=1e-9)


def test_faces_take_label_and_reflectance_of_the_nearest_points():
    ground = plane(2.0, 0.05)
    pole = np.column_stack([0.05 * np.cos(t := np.linspace(0, 60, 1500)), 0.05 * np.sin(t), np.linspace(0.4, 2, 1500)])
    label = np.concatenate([np.full(len(ground), ROAD), np.full(len(pole), POLE)])
    cloud = cloud_of(np.concatenate([ground, pole]), label, np.array([-3.0, 0, 1.5]), np.where(label == POLE, 0.1, 0.4))
    (mesh,) = fit(Map(cloud), MeshConfig(voxel_m=0.04))
    centre = mesh.vertices[mesh.faces].mean(axis=1)
    high, low = centre[:, 2] > 0.5, (centre[:, 2] < 0.1) & (np.abs(centre[:, 0] + 1) < 0.3)
    assert (mesh.label[high] == POLE).all()
    assert (mesh.label[low] == ROAD).all()
    away = np.array([-3.0, 0, 1.5]) - centre[low]
    cosine = away[:, 2] / np.linalg.norm(away, axis=1)  # of the flat ground
    assert np.median(mesh.reflectance[low] * cosine) == pytest.approx(0.4, abs=0.03)


def test_normals_face_where_points_were_seen_from():
    cloud = cloud_of(plane(1.0, 0.05, noise=0.005), sensor=np.array([0.0, 0.0, -3.0]))
    rows, normals = estimate_normals(cloud, 20)
    assert len(rows) == len(cloud)
    assert (normals[:, 2] < -0.9).all()


def test_a_world_of_triangles_is_built_and_a_shifted_pose_found_in_it():
    rng = np.random.default_rng(5)
    ground = plane(6.0, 0.1, noise=0.003)
    u, v = rng.uniform(-6, 6, 8000), rng.uniform(0, 3, 8000)
    walls = [np.column_stack([u, np.full(8000, 6.0), v]), np.column_stack([np.full(8000, 6.0), u, v])]
    points = np.concatenate([ground, *walls])
    log = log_of([points, points], [at(0.0), at(0.5)], intensity=[np.full(len(points), 0.3)] * 2)
    config = MeshConfig(calibrate=None, map={"ego_radius_m": 0.0, "moving": "none"})
    world = rs.build(log, config, progress=False)
    assert world.layers[0].kind == "mesh"
    assert world.meta["build"]["kind"] == "MeshConfig"
    wrong = log[0].pose.copy()
    wrong[:3, 3] += 0.06, -0.05, 0.04
    found = align(world, replace(log[0], pose=wrong))
    assert np.abs(found[:3, 3] - log[0].pose[:3, 3]).max() < 0.01


@pytest.mark.parametrize(
    ("points", "normals", "complaint"),
    [
        (np.zeros((3, 3)), np.zeros((3, 3)), "3 points with a normal are too few"),
        (np.zeros((20, 2)), np.zeros((20, 3)), r"must be \(n, 3\)"),
        (np.zeros((20, 3)), np.zeros((20, 3)), "unit vectors"),
        (np.full((20, 3), np.nan), np.zeros((20, 3)), "NaN"),
    ],
)
@EVERY
def test_points_that_make_no_surface_are_reported(method, points, normals, complaint):
    with pytest.raises(ResweepError, match=complaint):
        reconstruct(points, normals, CONFIGS[method])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"voxel_m": 0.0}, "voxel_m: input should be greater than or equal to 0.001"),
        ({"voxel_m": -1}, "voxel_m"),
        ({"method": "poison"}, "'poison' is not one of"),
        ({"method": "rimls", "voxel_m": 0.01}, "kernel_m: 0.28 m is not 1 to 10 voxels of 0.01 m"),
        ({"sigma": 2.0}, "sigma: unknown key"),
    ],
)
def test_bad_settings_are_reported(options, complaint):
    with pytest.raises(ResweepError, match=complaint):
        MeshConfig(**options)


def test_voxels_too_small_for_the_place_are_reported():
    points, normals = sphere(100)
    with pytest.raises(ResweepError, match="take larger ones"):
        reconstruct(points * 10_000, normals, MeshConfig(voxel_m=0.01))


@EVERY
def test_a_missing_package_says_how_to_install_it(method, monkeypatch):
    for name in ("pymeshlab", "skimage"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ResweepError, match=r"pip install 'resweep\[surfaces\]'"):
        reconstruct(*sphere(200), CONFIGS[method])


def test_poisson_is_silent_without_a_display(tmp_path):
    """Run apart, since what native code prints or does to the process cannot be caught within it."""
    code = (
        "import numpy as np; from resweep.build import Map, MeshConfig;"
        "from resweep.build.mesh.mesh import reconstruct;"
        "n = np.random.default_rng(0).standard_normal((2000, 3)); n /= np.linalg.norm(n, axis=1)[:, None];"
        "print(len(reconstruct(n, n, MeshConfig(method='poisson', cell_m=0.1))[1]) > 100)"
    )
    package = str(Path(rs.__file__).parents[1])
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": package}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "True\n", "")
