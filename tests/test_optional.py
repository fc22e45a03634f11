"""What the package imports is installed with it, or is missed with the command that installs it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import resweep
from resweep.errors import ResweepError
from resweep.optional import EXTRAS, require

PACKAGE = Path(resweep.__file__).parent
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
TREES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    return table


def named(requirements: list[str]) -> set[str]:
    """Names of required packages, and of the extras they are asked for: laspy[lazrs] brings lazrs."""
    names = [name for text in requirements for name in re.findall(r"[\w.-]+", re.split(r"[<>=!~;]", text)[0])]
    return {normal(name) for name in names}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imports(tree: ast.AST) -> Iterator[str]:
    """Top-level names of all modules that a file imports with a statement, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def required(tree: ast.AST) -> Iterator[str]:
    """Modules that a file asks for with ``require``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
            yield ast.literal_eval(node.args[0])


def test_what_is_imported_outright_is_a_core_dependency(project: dict[str, Any]) -> None:
    core, holders = named(project["dependencies"]), metadata.packages_distributions()
    foreign = {(file, name) for file, tree in TREES.items() for name in imports(tree)}
    foreign = {(file, name) for file, name in foreign if name not in {*sys.stdlib_module_names, "resweep"}}
    assert len({name for _, name in foreign}) >= 5
    wrong = [(file, name) for file, name in foreign if not core & {normal(one) for one in holders.get(name, [])}]
    assert sorted(wrong) == [], "import these with resweep.optional.require, or make them dependencies"


def test_every_extra_package_is_known_and_used() -> None:
    used = {module.partition(".")[0] for tree in TREES.values() for module in required(tree)}
    assert used == set(EXTRAS)


def test_the_extras_are_those_of_the_project(project: dict[str, Any]) -> None:
    extras = {name: named(packages) for name, packages in project["optional-dependencies"].items()}
    users = {extra: {package for package, its in EXTRAS.values() if its == extra} for _, extra in EXTRAS.values()}
    assert users == {name: extras[name] for name in users}
    assert extras["all"] == {"resweep", *users} - {"learn"}  # PyTorch is large


@pytest.mark.parametrize(("module", "package", "extra"), [(name, *entry) for name, entry in EXTRAS.items()])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ResweepError) as raised:
        require(f"{module}.part", "this")
    message = str(raised.value)
    assert message.startswith(f"this needs the package '{package}' (")
    assert message.endswith(f"; install it with: pip install 'resweep[{extra}]'")
