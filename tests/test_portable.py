"""Numbers that are stored are made with arithmetic that has the same bytes on every processor."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import resweep
from resweep import portable
from resweep.errors import ResweepError

ROOT = Path(resweep.__file__).parent
# Rooms that store nothing: what they show may differ in the last digit. References are for tests.
FREE = re.compile(r"(viewer|cli|evaluation)/|sensors/pattern_plot\.py|portable\.py|.*reference(/|\.py)")
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

ELEMENTARY = {
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "float_power",
    "geomspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logspace",
    "power",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
}
BLAS = {"convolve", "correlate", "corrcoef", "cov", "dot", "inner", "matmul", "polyfit", "tensordot", "vdot"}


def processor_dependent(source: str) -> list[str]:
    """The lines that compute with what depends on the processor, each with what to write instead."""
    lines, found = source.splitlines(), []
    for node in ast.walk(ast.parse(source)):
        problem = _problem(node)
        if problem and "# sparse" not in lines[node.lineno - 1]:  # type: ignore[attr-defined]
            found.append(f"line {node.lineno}: {problem}")  # type: ignore[attr-defined]
    return found


def _problem(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "@ calls BLAS; use portable.matmul"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _is_exact_power(node):
        return "** of arrays depends on the processor; use portable.power, or float() where it is one number"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _call_problem(node, node.func)
    return ""


def _call_problem(node: ast.Call, function: ast.Attribute) -> str:
    name, owner = function.attr, ast.unparse(function.value)
    options = {keyword.arg for keyword in node.keywords}
    if owner == "np" and name in ELEMENTARY:
        return f"np.{name} depends on the processor; use portable.{name}, or math for one number"
    if (owner == "np" and name in BLAS) or name == "dot":
        return f"{name} calls BLAS; use portable.matmul (sums over sparse matrices: say so with '# sparse')"
    if owner == "np.linalg" and not (name == "norm" and "axis" in options):
        return f"np.linalg.{name} calls LAPACK or BLAS; use solve, eigh3, inv3, det3 or norm of portable"
    if owner.startswith("Rotation") and name in ("from_matrix", "mean", "align_vectors"):
        return f"Rotation.{name} calls LAPACK; use rotation_of of resweep.pose"
    if name == "apply" and not owner.endswith("facts"):
        return "apply of a Rotation calls BLAS; use portable.matmul with as_matrix()"
    if name in ("argsort", "argpartition") and "kind" not in options:
        return f'{name} orders ties as the processor likes; pass kind="stable"'
    return "optimize lets einsum call BLAS; leave it out" if name == "einsum" and "optimize" in options else ""


def _is_exact_power(node: ast.BinOp) -> bool:
    """Squares are products; powers of numbers (and of ``float(...)``) are the C library's."""
    if isinstance(node.right, ast.Constant) and node.right.value == 2:
        return True
    left = node.left
    is_float = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "float"
    return isinstance(left, ast.Constant) or is_float


@pytest.mark.parametrize("module", [module for module in MODULES if not FREE.match(module)])
def test_what_is_stored_does_not_depend_on_the_processor(module: str) -> None:
    if module == "pose.py":  # rotation_of itself
        source = (ROOT / module).read_text().replace("Rotation.from_matrix(portable.", "(portable.")
    else:
        source = (ROOT / module).read_text()
    found = processor_dependent(source)
    assert not found, f"{module}: {'; '.join(found)}"


@pytest.mark.parametrize(
    "source",
    [
        "x = a @ b",
        "x = np.sin(a)",
        "x = a ** 3",
        "x = a ** b",
        "x = np.dot(a, b)",
        "x = a.dot(b)",
        "x = np.linalg.solve(a, b)",
        "x = np.linalg.norm(a)",
        "x = Rotation.from_matrix(a).as_quat()",
        "x = turn.inv().apply(a)",
        "x = np.argsort(a)",
        "x = a.argsort()",
        "x = np.einsum('ij,jk', a, b, optimize=True)",
    ],
)
def test_every_kind_is_seen(source: str) -> None:
    assert processor_dependent(source)


@pytest.mark.parametrize(
    "source",
    ["x = a ** 2", "x = 10**9", "x = np.linalg.norm(a, axis=1)", "x = np.argsort(a, kind='stable')", "x = np.sqrt(a)"],
)
def test_what_is_exact_is_allowed(source: str) -> None:
    assert not processor_dependent(source)


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
