"""``meta`` is provenance for people: no code decides by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def conditions(tree: ast.AST) -> Iterator[ast.expr]:
    """All expressions of which the value decides what happens."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.Compare):
            yield node
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Match):
            yield node.subject
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand


def find_meta_branches(tree: ast.Module) -> list[int]:
    """The lines that decide by the ``meta`` of something, or by a name that was given its value."""
    taken = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _reads_meta(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return sorted(
        {
            node.lineno
            for condition in conditions(tree)
            for node in ast.walk(condition)
            if (isinstance(node, ast.Attribute) and _is_meta(node)) or (isinstance(node, ast.Name) and node.id in taken)
        }
    )


def _is_meta(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "meta"


def _reads_meta(node: ast.expr) -> bool:
    """Whether an expression is one value out of a ``meta``: ``x.meta["name"]`` or ``x.meta.get("name")``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        return _is_meta(node.func.value)
    return isinstance(node, ast.Subscript) and _is_meta(node.value)
