"""Errors of the library speak of arguments; options belong to the command line, which adds them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import resweep

ROOT = Path(resweep.__file__).parent
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "cli"
)
OPTION = re.compile(r"(?<![\w-])--[a-z]")
# Those of other programs are theirs: "pip install --force-reinstall".
FOREIGN = re.compile(r"pip install [^'\"]*")


def option_messages(source: str) -> list[int]:
    """The lines of errors and warnings that name an option of the command line."""
    tree = ast.parse(source)
    spoken = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        or (isinstance(node, ast.Return) and "Error(" in ast.unparse(node))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "warn"))
    ]
    return sorted(
        {
            text.lineno
            for node in spoken
            for text in ast.walk(node)
            if isinstance(text, ast.Constant)
            and isinstance(text.value, str)
            and OPTION.search(FOREIGN.sub("", text.value))
        }
    )


@pytest.mark.parametrize("module", MODULES)
def test_errors_name_no_options(module: str) -> None:
    lines = option_messages((ROOT / module).read_text())
    assert not lines, f"{module}: lines {lines} name options; speak of arguments"


def test_options_in_messages_are_found() -> None:
    assert option_messages("raise ResweepError('give --poses')") == [1]
    assert option_messages("def f(x):\n  return ResweepError(f'{x}: or --keep-going')") == [2]
    assert option_messages("warnings.warn('try --odometry')") == [1]
    assert not option_messages("raise ResweepError('reinstall: pip install --force-reinstall embreex')")
    assert not option_messages("raise ResweepError('give poses=')")
