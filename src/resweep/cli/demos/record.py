"""The file by which a folder is known as that of a demo."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import OutputError

RECORD = "demo.json"


def check_replaceable(output: Path) -> None:
    """Raise if ``output`` is a folder with anything in it that no demo wrote."""
    if output.is_dir() and any(output.iterdir()) and not (output / RECORD).is_file():
        raise OutputError(f"{output}: was not written by the demo, so it is not replaced; choose another name")
