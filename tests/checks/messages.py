"""Errors of the library speak of arguments; options belong to the command line, which adds them."""

from __future__ import annotations

import ast
import re

OPTION = re.compile(r"(?<![\w-])--[a-z]")
# Those of other programs are theirs: "pip install --force-reinstall".
FOREIGN = re.compile(r"pip install [^'\"]*")


def find_options(tree: ast.Module) -> list[int]:
    """The lines of errors and warnings that name an option of the command line."""
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
