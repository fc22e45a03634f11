"""Imports point one way, from the command line down to the nouns."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import resweep

ROOT = Path(resweep.__file__).parent

# From the top down; parts of one row do not know each other.
ORDER = [
    {"__main__"},
    {"cli"},
    {"viewer"},
    {"drive", "dataset", "cluster"},
    {"learn"},
    {"perception"},
    {"evaluation", "objects"},
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
    {"sensor_scatter"},
    {"normal"},
    {"sweep", "labels", "intensity_scale"},
    {"boxes", "inference"},
    {"pose"},
    {"remote"},
    {"work", "memory"},
    {"schema", "saved_record"},
    {"config"},
    {"portable", "embree_library", "files", "progress", "optional"},
    {"terminal", "quantities"},
    {"bounds"},
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


def read_trees() -> dict[str, ast.Module]:
    """The syntax trees of all modules, by their path."""
    return {module: ast.parse((ROOT / module).read_text(encoding="utf-8")) for module in MODULES}


def name_of(module: str) -> str:
    """The dotted name of a module or a package, from its path."""
    return "resweep." + module.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def find_edges(trees: dict[str, ast.Module]) -> dict[str, dict[str, str]]:
    """What imports what, by where they part: subpackages and loose modules of one package, with a line that does it.

    An ``__init__`` that gives its own content another name does not count.
    """
    names = {name_of(module): module for module in trees if module != "__init__.py"}
    edges: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, module in names.items():
        for node in run_time_nodes(trees[module]):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("resweep."):
                continue
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                target = target if target in names else str(node.module)
                here, there = name.split("."), target.split(".")
                shared = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), None)
                if target not in names or shared is None:
                    continue
                one, other = ".".join(here[: shared + 1]), ".".join(there[: shared + 1])
                edges.setdefault(one, {})[other] = f"{module}:{node.lineno} {target}"
    return edges


def find_cycle(edges: dict[str, dict[str, str]]) -> list[str]:
    """The imports of one cycle, or none."""
    done: set[str] = set()

    def follow(name: str, path: list[str]) -> list[str]:
        if name in path:
            round_trip = [*path[path.index(name) :], name]
            return [edges[a][b] for a, b in itertools.pairwise(round_trip)]
        if name in done:
            return []
        for other in edges.get(name, {}):
            if found := follow(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := follow(name, []))), [])


def test_imports_point_down() -> None:
    missing = sorted({part_of(module) for module in MODULES if module != "__init__.py"} - set(LEVEL))
    assert missing == [], "give these parts a place in the order"
    wrong = [upward_imports(module, (ROOT / module).read_text(encoding="utf-8")) for module in MODULES[1:]]
    assert MODULES[0] == "__init__.py"
    assert list(itertools.chain(*wrong)) == []


def test_no_imports_go_round_in_any_package() -> None:
    assert find_cycle(find_edges(read_trees())) == []


def test_imports_that_go_round_would_be_found() -> None:
    trees = {
        "io/one.py": "from resweep.io.room.two import a",
        "io/room/__init__.py": "from resweep.io.room.two import a",
        "io/room/two.py": "from resweep.io import one",
    }
    parsed = {module: ast.parse(source) for module, source in trees.items()}
    assert find_cycle(find_edges(parsed)) == ["io/one.py:1 resweep.io.room.two", "io/room/two.py:1 resweep.io.one"]
    parsed["io/room/two.py"] = ast.parse("if TYPE_CHECKING:\n    from resweep.io import one")
    assert find_cycle(find_edges(parsed)) == []


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
