"""Outputs that appear whole or not at all: written beside their final path, then moved there in one step.

A folder takes the place of an old one by an exchange of the two names. Where the file system cannot exchange, the old
folder is renamed away first; a process killed between the two steps leaves the new one, whole, in a hidden folder, and
whoever opens or writes the output next puts it in place (`recover_local`).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from resweep.errors import ResweepError
from resweep.files import disk
from resweep.files.locks import Check, hold_lock, run_check
from resweep.files.publication import NEW, OLD, discard_partial, name_partial, note_publication, resolve_publication
from resweep.files.write_file import explain_errors, locate

_PATIENCE_S = 2.0  # for a living process between its two renames


@contextmanager
def lock_local(path: Path, check: Check | None = None) -> Iterator[None]:
    """Hold the lock of an output, so that no other process writes it; an error at once if another does.

    What a killed process left unfinished is repaired: see `recover_local`. A hold within a hold is allowed. ``check``
    is called before anything takes the place of the output; if it raises, the old output stays.
    """
    target = locate(path)
    with hold_lock(target, path, check) as new:
        if new:
            _repair(target, path)
        yield


def recover_local(path: Path) -> None:
    """Put an output in place that a killed process had finished but not yet put there; else do nothing.

    To be called before ``path`` is opened. Nothing is done while something is at ``path``.
    """
    target = locate(path)
    until = time.monotonic() + _PATIENCE_S
    while not os.path.lexists(target) and _find_interrupted(target):
        try:
            with lock_local(path):
                return
        except ResweepError:  # its process lives, and is about to put it in place
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary path of the same name; on success it, and files beside it, move into place.

    On any error the temporary files are removed and an old file at ``path`` stays as it was. Of several files each is
    replaced whole, the named one last.
    """
    if path.is_dir():
        raise ResweepError(f"{path}: is a folder; give the name of a file")
    with explain_errors(path), lock_local(path), _temporary_folder(path.absolute()) as folder:
        yield folder / path.name
        run_check(locate(path))
        disk.sync_tree(folder)
        # The named file comes last: once it is new, what belongs to it is new as well.
        for new in sorted(folder.iterdir(), key=lambda item: item.name == path.name):
            os.replace(new, path.with_name(new.name))
        disk.sync(path.absolute().parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that on success takes the place of ``path``, old contents included.

    A link is followed: the folder that it leads to is replaced. Whether an old folder may be replaced is for the
    caller to have checked. On any error, and if interrupted, the temporary folder is removed and the old one stays.
    """
    target = locate(path)
    with explain_errors(path), lock_local(path), _temporary_folder(target) as folder:
        new = folder / NEW
        new.mkdir()
        yield new
        run_check(target)
        disk.sync_tree(new)
        note_publication(target, new)
        _put_in_place(folder, target)


def replace_folder(new: Path, path: Path) -> None:
    """Put the folder ``new``, on the same disk, in the place of ``path``, old contents included, in one step."""
    target = locate(path)
    with explain_errors(path), lock_local(path):
        run_check(target)
        disk.sync_tree(new)
        with _temporary_folder(target) as folder:
            note_publication(target, new)
            moved, identity = folder / NEW, new.stat()
            os.rename(new, moved)
            try:
                _put_in_place(folder, target)
            except BaseException:
                if moved.is_dir() and os.path.samestat(moved.stat(), identity):  # else it is the old one by now
                    os.rename(moved, new)
                raise


def _put_in_place(folder: Path, target: Path) -> None:
    """Put ``folder / NEW`` in the place of ``target``, whose old contents are then in ``folder``."""
    new, old = folder / NEW, folder / OLD
    if not os.path.lexists(target):
        os.rename(new, target)
    elif not disk.exchange(new, target):
        try:
            os.rename(target, old)
            os.rename(new, target)
        except BaseException:
            if old.exists() and not target.exists():
                os.rename(old, target)
            raise
    disk.sync(target.parent)


def _list_parts(target: Path) -> list[Path]:
    """The hidden folders beside ``target`` in which it was or is being written."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.part")
    try:
        found = [Path(item.path) for item in os.scandir(target.parent) if name.fullmatch(item.name)]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return sorted(item for item in found if item.is_dir() and not item.is_symlink())


def _find_interrupted(target: Path) -> Path | None:
    """The hidden folder of a process that was killed between its two renames, which no other state looks like."""
    return next((part for part in _list_parts(target) if (part / NEW).is_dir() and (part / OLD).is_dir()), None)


def _repair(target: Path, named: Path) -> None:
    """What killed processes left of ``target``, of which the lock is held: finish the last step, remove the rest."""
    if not os.path.lexists(target) and (part := _find_interrupted(target)) is not None:
        os.rename(part / NEW, target)
        warnings.warn(f"{named}: a process was killed while it replaced it; the new data is now in place", stacklevel=6)
    parts = _list_parts(target)
    if resolve_publication(target, parts):
        discard_partial(name_partial(target))
    for part in parts:  # only who holds the lock makes such folders, so their processes are dead
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _temporary_folder(target: Path) -> Iterator[Path]:
    """A hidden folder beside ``target``, on the same disk so that renaming out of it is atomic."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
