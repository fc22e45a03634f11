"""What a killed process left of a publication: whether the unfinished work beside an output was finished after all.

Before an output takes its place, its partial folder notes which folder is about to (by its inode, which no rename
changes). Who holds the lock next knows from that whether it did.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from resweep.files.pieces import remove
from resweep.files.write_file import write_file

PARTIAL = ".partial"  # after the name of an output: the folder that keeps its finished parts
RECORD = "checkpoints.json"  # in it: what the parts belong to
BLANK = b"{}\n"  # the record of parts that belong to nothing any more
NEW, OLD = "new", "old"  # within the hidden folder of an output that is being written
_NOTE = "publication.json"
_MAX_NOTE_BYTES = 1 << 16


def name_partial(target: Path) -> Path:
    """The partial folder of an output."""
    return target.with_name(f"{target.name}{PARTIAL}")


def note_publication(target: Path, new: Path) -> None:
    """Note in the partial folder of ``target``, if it has one, that the folder ``new`` is about to take its place."""
    partial = name_partial(target)
    if not (partial / RECORD).is_file():
        return
    source = new.name if new.parent == partial else None
    note = partial / _NOTE
    write_file(note, json.dumps({"inode": new.stat().st_ino, "from": source}).encode())


def resolve_publication(target: Path, parts: Sequence[Path]) -> bool:
    """Whether the partial folder of ``target`` is finished: its work has taken its place, or it was being removed.

    If not, a folder that had been taken out of it for that goes back from one of ``parts``, the hidden folders.
    """
    partial = name_partial(target)
    note = partial / _NOTE
    if _is_discarded(partial):
        return True
    if not note.is_file() or note.stat().st_size > _MAX_NOTE_BYTES:
        if os.path.lexists(note):
            remove(note)  # no note of ours
        return False
    with suppress(ValueError, KeyError, TypeError, RecursionError):  # a note that was cut off: nothing had moved yet
        noted = json.loads(note.read_text(encoding="utf-8"))
        if target.is_dir() and target.stat().st_ino == noted["inode"]:
            return True
        for new in (part / NEW for part in parts):
            if new.is_dir() and new.stat().st_ino == noted["inode"] and noted["from"] is not None:
                new.rename(partial / Path(str(noted["from"])).name)
    note.unlink()
    return False


def discard_partial(folder: Path) -> None:
    """Remove a partial folder; one that a killed process leaves half removed is of no key, and so never used."""
    if (folder / RECORD).is_file():
        write_file(folder / RECORD, BLANK)
    for item in folder.iterdir():
        if item.name != RECORD or item.is_dir():
            remove(item)
    (folder / RECORD).unlink(missing_ok=True)
    folder.rmdir()


def _is_discarded(partial: Path) -> bool:
    """Whether a process was killed while it removed a partial folder: its record is blank, or it is empty."""
    if not partial.is_dir() or partial.is_symlink():
        return False
    record = partial / RECORD
    if not os.path.lexists(record):
        return not any(partial.iterdir())
    return record.is_file() and record.stat().st_size == len(BLANK) and record.read_bytes() == BLANK
