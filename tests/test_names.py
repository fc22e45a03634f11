"""A name says which thing is meant: no two classes share one, nor two modules of different meaning."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import resweep

ROOT = Path(resweep.__file__).parent
CORE = Path(__file__).parents[1] / "cpp"
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (?:alignas\([^)]*\) )?(\w+)\b[^;\n]*\{", re.MULTILINE)
# Rooms whose files are named after what they call, show or configure elsewhere.
NAMED_AFTER_OTHERS = ("cli/verbs/", "cli/options/", "cli/demos/", "build/settings/")
# Names that mean the same thing in every room: settings, a described machine, kinds of layers and formats of files.
ONE_MEANING = {"config", "spec", "catalog", "mesh", "splats", "volumes", "hybrid", "semantickitti", "nuscenes", "las"}


def list_modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")


def find_repeats(names: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names that stand in more than one place, from pairs of a name and its place."""
    found = defaultdict(list)
    for name, place in names:
        found[name].append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def list_classes(source: str) -> list[str]:
    """The classes of a file, also private and nested ones; `_Drive` is taken for a `Drive` by those who read it."""
    return [node.name.lstrip("_") for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def test_no_two_classes_have_one_name() -> None:
    files = sorted(ROOT.rglob("*.py"))
    sources = [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in files]
    assert find_repeats((name, place) for place, source in sources for name in list_classes(source)) == {}


def test_no_two_types_of_the_core_have_one_name() -> None:
    """Those of a namespace: what is nested in a class or a function is read with it."""
    files = [path for path in sorted(CORE.rglob("*")) if path.suffix in (".hpp", ".cpp")]
    assert len(files) > 50
    names = [(name, path.name) for path in files for name in TYPE.findall(path.read_text(encoding="utf-8"))]
    assert ("Scene", "scene.hpp") in names
    assert find_repeats(names) == {}


def test_repeated_names_would_be_found() -> None:
    sources = {"one.py": "class Drive:\n    class Part: ...", "two.py": "class _Drive: ...", "three.py": "x = 1"}
    assert find_repeats((name, place) for place, text in sources.items() for name in list_classes(text)) == {
        "Drive": ["one.py", "two.py"]
    }
    assert TYPE.findall("enum class Kind : int {\nstruct Row final {\nclass Later;\n    struct Inner {") == [
        "Kind",
        "Row",
    ]


def test_no_two_modules_of_one_name_mean_different_things() -> None:
    places = [path.relative_to(ROOT).as_posix() for path in list_modules()]
    own = [place for place in places if not place.startswith(NAMED_AFTER_OTHERS)]
    names = [(Path(place).stem, place) for place in own]
    assert find_repeats(named for named in names if named[0] not in ONE_MEANING) == {}
