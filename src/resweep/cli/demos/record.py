"""Which demo is made, and the file by which a folder is known as that of one."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import OutputError, ResweepError, nearest_names

RECORD = "demo.json"


def check_replaceable(output: Path) -> None:
    """Raise if ``output`` is a folder with anything in it that no demo wrote."""
    if output.is_dir() and any(output.iterdir()) and not (output / RECORD).is_file():
        raise OutputError(f"{output}: was not written by the demo, so it is not replaced; choose another name")


def check_place(text: str, of_street: bool) -> None:
    """Raise if no demo has that name, or if options are given that are ``of_street`` alone."""
    if text not in ("street", "meadow"):
        known = nearest_names(text, ("street", "meadow"))
        raise ResweepError(f"demo '{text}': no such demo; {known} Your own recording: --log PATH")
    if text == "meadow" and of_street:
        raise ResweepError("demo meadow: has its own sensors and no log; leave out --log, --sensor and --quick")
