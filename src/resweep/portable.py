"""Arithmetic that gives the same bytes on every processor.

Numbers that are stored (in worlds, sweeps and logs), or that decide what is stored, go through this module and through
plain sums and products of arrays. NumPy's own versions of these functions do not do: BLAS and LAPACK add up in an order
that depends on the processor and the number of threads, and sines, powers or logarithms of arrays come from other
libraries where there is AVX-512. `np.argsort` without ``kind="stable"`` orders ties differently too. A test refuses all
of them in the rooms that compute stored numbers.

Functions of angles and powers are those of the C library; so are Python's in `math`, which is the way for one number.
Arrays of float32 give float32, everything else float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resweep import _core
from resweep.errors import ResweepError

Array = NDArray[Any]

_POLAR_STEPS = 12


def matmul(*matrices: ArrayLike) -> Array:
    """The product of matrices (..., m, n), from left to right; vectors (n,) count as `np.matmul` takes them."""
    return reduce(_product, (np.asarray(matrix) for matrix in matrices))


def _product(a: Array, b: Array) -> Array:
    # `np.einsum` calls no BLAS unless it may reorder (optimize).
    if b.ndim == 1:
        return np.asarray(np.einsum("...j,j->...", a, b))
    return np.asarray(np.einsum("j,...jk->...k" if a.ndim == 1 else "...ij,...jk->...ik", a, b))


def sin(values: ArrayLike) -> Array:
    """Sines of angles in radians."""
    return _each(_core.sin, values)


def cos(values: ArrayLike) -> Array:
    """Cosines of angles in radians."""
    return _each(_core.cos, values)


def tan(values: ArrayLike) -> Array:
    """Tangents of angles in radians."""
    return _each(_core.tan, values)


def arcsin(values: ArrayLike) -> Array:
    """Angles in radians from their sines; NaN outside -1 to 1."""
    return _each(_core.arcsin, values)


def arctan(values: ArrayLike) -> Array:
    """Angles in radians from their tangents."""
    return _each(_core.arctan, values)


def arctan2(y: ArrayLike, x: ArrayLike) -> Array:
    """Angles in radians of the directions (x, y)."""
    return _each(_core.arctan2, y, x)


def exp(values: ArrayLike) -> Array:
    """e to the power of each value."""
    return _each(_core.exp, values)


def log(values: ArrayLike) -> Array:
    """Natural logarithms; minus infinity for 0, NaN below."""
    return _each(_core.log, values)


def log1p(values: ArrayLike) -> Array:
    """Natural logarithms of 1 + value."""
    return _each(_core.log1p, values)


def power(base: ArrayLike, exponent: ArrayLike) -> Array:
    """Each base to its exponent; NaN for a negative base and a fraction."""
    return _each(_core.power, base, exponent)


def sinc(values: ArrayLike) -> Array:
    """sin x / x of angles in radians, 1 at 0."""
    array = np.asarray(values)
    away = array != 0
    return np.asarray(np.where(away, sin(array) / np.where(away, array, 1), np.ones_like(array)))


def phasor(angle: ArrayLike) -> Array:
    """exp(i angle) of angles in radians, complex."""
    return np.asarray(cos(angle) + 1j * sin(angle))


def angle(values: ArrayLike) -> Array:
    """Angles in radians of complex numbers, as `np.angle`."""
    array = np.asarray(values)
    return arctan2(array.imag, array.real)


def _each(function: Callable[..., Array], *values: ArrayLike) -> Array:
    arrays = np.broadcast_arrays(*values)
    flat = (np.ascontiguousarray(array, np.float64).reshape(-1) for array in arrays)
    single = all(array.dtype == np.float32 for array in arrays)
    result = np.asarray(function(*flat)).reshape(arrays[0].shape)
    return result.astype(np.float32) if single else result


def norm(vectors: ArrayLike) -> Array:
    """Lengths (...) of vectors (..., n)."""
    array = np.asarray(vectors)
    return np.asarray(np.sqrt((array * array).sum(axis=-1)))


def det3(matrices: Array) -> Array:
    """Determinants (...) of matrices (..., 3, 3)."""
    a, b, c = (matrices[..., row, :] for row in range(3))
    return np.asarray((a * np.cross(b, c)).sum(axis=-1))


def inv3(matrices: Array) -> Array:
    """Inverses of matrices (..., 3, 3); infinite or NaN where there is none."""
    a, b, c = (matrices[..., row, :] for row in range(3))
    adjugate = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(adjugate / det3(matrices)[..., None, None])


def eigh3(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues (..., 3), ascending, and eigenvectors (..., 3, 3), a column each, as `np.linalg.eigh` gives them.

    ``matrices`` (..., 3, 3) are symmetric and have no eigenvalue below zero but by rounding; none is given.
    """
    rows = np.ascontiguousarray(matrices, np.float64).reshape(-1, 3, 3)
    values, vectors = _core.eigen3(rows)
    shape = np.shape(matrices)
    return values[:, ::-1].reshape(shape[:-1]), vectors[:, ::-1].transpose(0, 2, 1).reshape(shape)


def nearest_rotation(matrices: Array) -> Array:
    """The rotations (..., 3, 3) nearest to matrices of positive determinant: U of the polar decomposition U P.

    Newton's iteration (Higham 1986, "Computing the polar decomposition") doubles the digits with each step; its steps
    are enough for matrices that stretch by a hundred.
    """
    rotation = np.array(matrices, np.float64)
    for _ in range(_POLAR_STEPS):
        rotation = 0.5 * (rotation + np.swapaxes(inv3(rotation), -1, -2))
    return rotation


def solve(matrices: Array, right: Array) -> Array:
    """The x of A x = b for symmetric positive definite A (..., n, n) and b (n,) or (..., n, m).

    Only the upper triangle is read.
    """
    n = matrices.shape[-1]
    sides = right[:, None] if right.ndim == 1 else right
    left = np.ascontiguousarray(matrices, np.float64).reshape(-1, n, n)
    try:
        found = _core.solve(left, np.ascontiguousarray(sides, np.float64).reshape(len(left), n, -1))
    except ValueError as error:
        raise ResweepError(f"equations of {n} unknowns: {error}") from error
    return np.asarray(found).reshape(right.shape)
