"""Reports as files: pages and JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from resweep.errors import ResweepError
from resweep.files import atomic_file


def save_as(path: str | Path, what: str, page: Callable[[], str], json: Callable[[], str]) -> Path:
    """Write ``what`` by the suffix of ``path``: the text of ``page`` as .html, that of ``json`` as .json."""
    path = Path(path)
    makers = {".html": page, ".json": json}
    make = makers.get(path.suffix.lower())
    if make is None:
        raise ResweepError(f"{path}: a {what} is saved as .html or .json, not '{path.suffix}'; choose one of them")
    text = make()
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
