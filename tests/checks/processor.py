"""Numbers that are stored are made with arithmetic that has the same bytes on every processor."""

from __future__ import annotations

import ast

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


def find_processor_dependence(node: ast.AST) -> str:
    """What to write instead of a node that computes with what depends on the processor; empty if it does not."""
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
