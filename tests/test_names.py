"""A name says which thing is meant: no two classes share one, nor two modules of different meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import resweep

ROOT = Path(resweep.__file__).parent
# Rooms whose files are named after what they call, show or configure elsewhere.
NAMED_AFTER_OTHERS = ("cli/verbs/", "cli/options/", "cli/demos/", "build/settings/")
# Names that mean the same thing in every room: settings, a described machine, kinds of layers and formats of files.
ONE_MEANING = {"config", "spec", "catalog", "mesh", "splats", "volumes", "hybrid", "semantickitti", "nuscenes", "las"}


def list_modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in list_modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_two_modules_of_one_name_mean_different_things() -> None:
    found = defaultdict(list)
    for path in list_modules():
        place = path.relative_to(ROOT).as_posix()
        if path.stem not in ONE_MEANING and not place.startswith(NAMED_AFTER_OTHERS):
            found[path.stem].append(place)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
