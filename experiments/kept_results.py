"""Results of long experiments, kept one by one in a file, so that a second run goes on after them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from resweep.files import atomic_file

Figures = dict[str, Any]  # what JSON holds


class KeptResults:
    """Rows of ``figures`` by key, in the JSON file ``path`` as soon as each is computed; in memory alone without one.

    A key says all that a result depends on but the program itself.
    """

    def __init__(self, path: Path | None, figures: Sequence[str]) -> None:
        self._path = path
        self._rows = _read(path, figures)

    def find(self, key: str, compute: Callable[[], Figures]) -> Figures:
        """The figures of ``key``, computed if they are not kept yet."""
        if key not in self._rows:
            self._rows[key] = compute()
            self._write()
        return self._rows[key]

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def _write(self) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self._path) as temporary:
            temporary.write_text(json.dumps(self._rows), encoding="utf-8")


def _read(path: Path | None, figures: Sequence[str]) -> dict[str, Figures]:
    if path is None or not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"--cache {path}: not JSON ({error}); remove it or name another file") from error
    if not isinstance(kept, dict) or not all(
        isinstance(row, dict) and set(row) == set(figures) for row in kept.values()
    ):
        raise SystemExit(f"--cache {path}: holds something else than results of this experiment; name another file")
    return dict(kept)
