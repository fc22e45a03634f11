"""``meta`` is provenance for people: no code decides by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import resweep

ROOT = Path(resweep.__file__).parent
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

# Being changed elsewhere; to be emptied.
TEMPORARY = {
    "evaluation/compare.py",
}


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


def meta_branches(source: str) -> list[int]:
    """The lines that decide by the ``meta`` of something, or by a name that was given its value."""
    tree = ast.parse(source)
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
            if _is_meta(node) or (isinstance(node, ast.Name) and node.id in taken)
        }
    )


def _is_meta(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "meta"


def _reads_meta(node: ast.expr) -> bool:
    """Whether an expression is one value out of a ``meta``: ``x.meta["name"]`` or ``x.meta.get("name")``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        return _is_meta(node.func.value)
    return isinstance(node, ast.Subscript) and _is_meta(node.value)


@pytest.mark.parametrize("module", MODULES)
def test_no_code_decides_by_meta(module: str) -> None:
    if module in TEMPORARY:
        pytest.skip("being changed")
    lines = meta_branches((ROOT / module).read_text())
    assert not lines, f"{module}: lines {lines} decide by meta; make it a typed field"


@pytest.mark.parametrize(
    "source",
    [
        "if log.meta.get('poses') == 'unknown': pass",
        "x = 1 if 'odd' in log.meta else 2",
        "x = [a for a in b if a in log.meta]",
        "x = log.meta.get('y') or 3",
        "kind = log.meta['kind']\nif kind: pass",
        "found = log.meta.get('kind')\nx = found == 3",
        "while not log.meta: pass",
        "assert log.meta['x']",
        "match log.meta['x']:\n  case 1: pass",
    ],
)
def test_every_way_to_decide_is_seen(source: str) -> None:
    assert meta_branches(source)


def test_carrying_provenance_on_is_no_decision() -> None:
    assert not meta_branches("x = {**log.meta, 'seed': 7}\ny = str(log.meta.get('path', log.name))\nif y: pass")
