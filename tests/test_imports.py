"""Imports point one way, from the command line down to the nouns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import resweep

ROOT = Path(resweep.__file__).parent

# From the top down; parts of one row do not know each other.
ORDER = [
    {"cli"},
    {"viewer"},
    {"perception", "drive", "dataset", "cluster"},
    {"evaluation", "objects", "learn"},
    {"build"},
    {"prepare"},
    {"map"},
    {"register"},
    {"calibrate"},
    {"simulate"},
    {"scenario"},
    {"io"},
    {"scenes"},
    {"worlds", "sensors"},
    {"registration", "segmentation"},
    {"neighbours", "voxels"},
    {"calibration", "log", "label_mapping", "categories", "map_filter"},
    {"sweep", "labels"},
    {"boxes"},
    {"pose"},
    {"remote"},
    {"work", "memory"},
    {"portable", "embree_library", "config", "files", "progress", "optional"},
    {"terminal"},
    {"_core", "errors"},
]
LEVEL = {part: level for level, row in enumerate(ORDER) for part in row}
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def part_of(module: str) -> str:
    """The part of the package that a file belongs to: a folder or a top-level module."""
    return module.split("/")[0].removesuffix(".py")


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees: a log names the type of its sensor, but needs it not."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.dump(tree.test):
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from run_time_nodes(child)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything a module takes from the package, in functions too."""
    for node in run_time_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            if node.module == "resweep":
                yield from ((node.lineno, f"resweep.{alias.name}") for alias in node.names)
            elif (node.module or "").startswith("resweep."):
                yield node.lineno, str(node.module)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.startswith("resweep."))
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("resweep", "rs")
        ):
            yield node.lineno, f"resweep.{node.attr}"


def target_part(name: str) -> str | None:
    """The part that a dotted name lies in; None for what the package itself holds."""
    part = name.split(".")[1]
    if part in LEVEL:
        return part
    module = resweep._PUBLIC.get(part)
    return module.split(".")[1] if module else None


def upward_imports(module: str, source: str) -> list[str]:
    """Imports of a file that do not point down, as ``file:line name``."""
    here = part_of(module)
    wrong = []
    for line, name in imported(ast.parse(source)):
        part = target_part(name)
        if part is not None and part != here and LEVEL[part] <= LEVEL[here]:
            wrong.append(f"{module}:{line} {name}")
    return wrong


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__.py"])
def test_imports_point_down(module: str) -> None:
    assert part_of(module) in LEVEL, f"{module}: give its part a place in the order"
    assert upward_imports(module, (ROOT / module).read_text(encoding="utf-8")) == []


def test_the_package_itself_imports_nothing_of_its_own_at_run_time() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    assert list(imported(tree)) == []


def test_wrong_imports_would_be_found() -> None:
    wrong = [
        ("worlds/store/index.py", "from resweep.io.registry import atomic_file"),
        ("worlds/store/index.py", "from resweep import sensors"),
        ("worlds/store/index.py", "def f():\n    import resweep.simulate"),
        ("sensors/spec.py", "import resweep\nresweep.Simulator"),
        ("pose.py", "from resweep.sweep import Sweep"),
        ("errors.py", "from resweep import _core"),
    ]
    for module, source in wrong:
        assert len(upward_imports(module, source)) == 1, source
    assert (
        upward_imports(
            "worlds/store/index.py", "from resweep import __version__\nfrom resweep.worlds.layers.mesh import Mesh"
        )
        == []
    )
