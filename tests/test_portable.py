"""The functions of ``portable`` agree with NumPy's. That they are used is a rule of tests/checks."""

from __future__ import annotations

import numpy as np
import pytest

from resweep import portable
from resweep.errors import ResweepError

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "arctan", "exp"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_agree_with_numpy(name: str, dtype: type) -> None:
    values = RNG.uniform(-3, 3, (7, 5)).astype(dtype)
    found = getattr(portable, name)(values)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, getattr(np, name)(values), rtol=1e-12 if dtype is np.float64 else 2e-6)


def test_functions_of_a_few_values_agree_with_numpy() -> None:
    positive, other = RNG.uniform(0.1, 3, 50), RNG.uniform(-1, 1, 50)
    for name, values in {"log": positive, "log1p": positive, "arcsin": other}.items():
        np.testing.assert_allclose(getattr(portable, name)(values), getattr(np, name)(values), rtol=1e-12)
    np.testing.assert_allclose(portable.power(positive[:, None], other[:3]), positive[:, None] ** other[:3], rtol=1e-12)
    np.testing.assert_allclose(portable.arctan2(other, -positive), np.arctan2(other, -positive), rtol=1e-12)
    np.testing.assert_allclose(portable.phasor(other), np.exp(1j * other), rtol=1e-12)
    np.testing.assert_allclose(portable.angle(np.exp(1j * other)), other, rtol=1e-12)
    np.testing.assert_allclose(portable.sinc(np.array([0.0, 0.5])), np.sinc(np.array([0.0, 0.5]) / np.pi), rtol=1e-12)
    assert portable.sin(0.5) == np.sin(0.5)
    assert portable.norm([3.0, 4.0]) == 5.0


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((4, 3), (3, 5)), ((6, 4, 4), (4, 4)), ((4, 4), (6, 4, 4))],
)
def test_products_agree_with_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = RNG.normal(size=left), RNG.normal(size=right)
    np.testing.assert_allclose(portable.matmul(a, b), a @ b, rtol=1e-12, atol=1e-14)


def test_small_matrices_agree_with_numpy() -> None:
    matrices = RNG.normal(size=(20, 3, 3))
    covariance = matrices @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(portable.det3(matrices), np.linalg.det(matrices), rtol=1e-9)
    np.testing.assert_allclose(portable.inv3(matrices), np.linalg.inv(matrices), rtol=1e-9, atol=1e-9)
    values, vectors = portable.eigh3(covariance)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(covariance), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(covariance @ vectors, vectors * values[:, None], atol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 6, 40])
def test_equations_are_solved(n: int) -> None:
    rows = RNG.normal(size=(5, 2 * n, n))
    matrices, right = np.einsum("kri,krj->kij", rows, rows), RNG.normal(size=(5, n, 2))
    np.testing.assert_allclose(matrices @ portable.solve(matrices, right), right, atol=1e-9)
    np.testing.assert_allclose(matrices[0] @ portable.solve(matrices[0], right[0, :, 0]), right[0, :, 0], atol=1e-9)


def test_equations_without_solution_say_so() -> None:
    with pytest.raises(ResweepError, match="equations of 3 unknowns: the matrix is singular"):
        portable.solve(np.zeros((3, 3)), np.ones(3))


def test_the_nearest_rotation_is_that_of_the_svd() -> None:
    stretched = np.random.default_rng(5).normal(size=(50, 3, 3))
    stretched[np.linalg.det(stretched) < 0] *= -1
    u, _, v = np.linalg.svd(stretched)
    found = portable.nearest_rotation(stretched)
    np.testing.assert_allclose(found, u @ v, atol=1e-9)
    np.testing.assert_allclose(found @ found.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-14)
