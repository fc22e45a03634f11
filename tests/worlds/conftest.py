"""Small worlds that hold every kind of layer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from resweep.worlds import Instances, Material, Mesh, World


def ground(n: int = 61, step: float = 5.0, seed: int = 3) -> Mesh:
    """Rough ground of 2(n-1)² triangles in shuffled order, with values that differ from face to face."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), axis=-1).reshape(-1, 2) * step
    vertices = np.c_[grid - (n - 1) * step / 2, rng.normal(scale=0.3, size=n * n)]
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.r_[np.c_[corner, corner + n, corner + 1], np.c_[corner + 1, corner + n, corner + n + 1]]
    faces = faces[rng.permutation(len(faces))]
    count = len(faces)
    materials = (Material(), Material("paint", specular=0.25, specular_exponent=20.0, retro=0.125))
    return Mesh(
        vertices,
        faces,
        label=rng.integers(0, 30, count),
        reflectance=rng.uniform(0.1, 0.9, count),
        material=rng.integers(0, 2, count),
        instance=7,
        materials=materials,
        name="ground",
    )


def pyramid() -> Mesh:
    vertices = np.array([[0, 0, 2.0], [1, 0, 0], [0, 1, 0], [-1, -1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    return Mesh(vertices, faces, label=4, reflectance=0.7, name="pyramid")


def placed(count: int = 40, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    transforms = np.zeros((count, 3, 4))
    transforms[:, :, :3] = np.eye(3) * rng.uniform(0.5, 3.0, (count, 1, 3)) + rng.normal(scale=0.1, size=(count, 3, 3))
    transforms[:, :2, 3] = rng.uniform(-140, 140, (count, 2))
    return transforms


def mixed() -> World:
    mesh, transforms = pyramid(), placed()
    layers: list[Mesh | Instances] = [
        ground(),
        Instances(mesh, transforms, instance=np.arange(1, 41), label=np.arange(40) % 3 - 1, name="stones"),
        Instances(mesh, placed(9, seed=6), name="rocks"),
    ]
    return World(layers, origin=(500_000.25, 5_000_000.5, 120.125), meta={"source": "test", "config": {"seed": 3}})


@pytest.fixture
def mixed_world() -> World:
    """Ground, and two layers of copies of one mesh, far from zero."""
    return mixed()


@pytest.fixture(scope="session")
def saved_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mixed().save(tmp_path_factory.mktemp("saved") / "a.world")


@pytest.fixture
def saved(saved_once: Path, tmp_path: Path) -> Path:
    """The same world on disk, to be damaged."""
    return Path(shutil.copytree(saved_once, tmp_path / "a.world"))
