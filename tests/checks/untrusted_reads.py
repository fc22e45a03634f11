"""What users give is opened in one place, which takes regular files of bounded size; JSON is strict."""

from __future__ import annotations

import ast

READS = {"read_text", "read_bytes"}
LOADS = {
    "np.load",
    "np.fromfile",
    "np.memmap",
    "np.loadtxt",
    "np.genfromtxt",
    "ET.parse",
}
OPENS = {"open", "io.open", "io.FileIO", "gzip.open", "zipfile.ZipFile"}
WRITING = set("wax+")


def find_untrusted_reads(tree: ast.Module) -> list[int]:
    """The lines that open or read a file by its name."""
    return sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _reads(node))


def _reads(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in READS:
        return True
    if name in LOADS:
        # np.load takes bytes that were read already
        return not (call.args and ast.unparse(call.args[0]).startswith("io.BytesIO"))
    if name in OPENS:
        opened = ast.unparse(call.args[0]) if call.args else ""
        return not (_writes(call, 1) or opened == "stream")
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open" and "BoundedPath(" not in name:
        mode = call.args[0] if call.args else None
        is_mode = isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] == "r"
        named = {keyword.arg for keyword in call.keywords} & {"encoding", "errors", "newline"}
        return (is_mode or (mode is None and bool(named))) and not _writes(call, 0)
    return False


def _writes(call: ast.Call, place: int) -> bool:
    """Whether the mode of an ``open`` is one of writing; it is at this place of the arguments."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[place : place + 1]
    return any(isinstance(mode, ast.Constant) and WRITING & set(str(mode.value)) for mode in given)


def find_lax_json(tree: ast.Module) -> list[int]:
    """The lines that use Python's json module, which takes and writes NaN."""
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name == "json" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "json")
    )
