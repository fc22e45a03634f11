"""Work that resumes: a folder ``NAME.partial`` beside the output keeps what is finished until the whole is.

Its ``checkpoints.json`` is the key: what decides the bytes of the result, as hashes of the version, the settings and
the inputs. What belongs to another key is never used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError
from resweep.files.atomic import lock_local, replace_folder
from resweep.files.publication import NEW, PARTIAL, RECORD, discard_partial, name_partial
from resweep.files.untrusted import ANY_SIZE, open_regular
from resweep.files.write_file import explain_errors, locate, write_file

_MAX_RECORD_BYTES = 1 << 20  # a record has three hashes
_WHAT = {"version": "another version of Resweep", "config": "other settings", "inputs": "other inputs"}

Key = Mapping[str, str]  # "version", "config" and "inputs"
PrintLine = Callable[[str], None]


def print_line(line: str) -> None:
    """Print a line on stderr."""
    print(line, file=sys.stderr, flush=True)


def find_partial(path: Path) -> Path:
    """The folder beside the output ``path`` that keeps its finished parts."""
    return name_partial(locate(path))


def open_partial(folder: Path, key: Key, what: str, report: PrintLine = print_line) -> bool:
    """Make ``folder`` ready for the work of ``key``; True if it was, so that it may hold finished parts.

    Parts of another key are removed, with a line that says why; ``what`` they are is named there. A folder of anything
    else is an error.
    """
    if folder.exists():
        old = _read_key(folder)
        if old == dict(key):
            return True
        if old:
            differs = [text for name, text in _WHAT.items() if old.get(name) != key[name]] or ["a damaged record"]
            report(f"{folder}: {what} with {' and '.join(differs)} are discarded; starting over")
        discard_partial(folder)
    write_file(folder / RECORD, (json.dumps(dict(key), indent=1) + "\n").encode())
    return False


@contextmanager
def resumable_folder(path: Path, key: Key, what: str, report: PrintLine = print_line) -> Iterator[Path]:
    """Give the partial folder of ``path``; on success its folder `NEW` takes the place of ``path``.

    On errors, and if interrupted, what is in the partial folder stays for the next call with the same ``key``, unless
    nothing was finished.
    """
    with explain_errors(path), lock_local(path):
        folder = find_partial(path)
        open_partial(folder, key, what, report)
        new = folder / NEW
        new.mkdir(exist_ok=True)
        _remove_leftovers(folder)
        try:
            yield folder
        except BaseException:
            if not any(item.is_file() and item.name != RECORD for item in folder.rglob("*")):
                discard_partial(folder)
            raise
        replace_folder(new, path)
        discard_partial(folder)


def discard_leftover(path: Path) -> None:
    """Remove the partial folder of a finished output: a process that is killed just after placing it leaves that."""
    folder = find_partial(path)
    if folder.is_dir():
        with explain_errors(path), lock_local(path):
            if folder.is_dir():  # locking removes one that was half removed
                discard_partial(folder)


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process had begun in a partial folder, of which no other process can be at work."""
    for item in [item for item in folder.rglob(".*") if _is_unfinished(item.name)]:
        if item.is_dir():
            shutil.rmtree(item)
        else:
            item.unlink(missing_ok=True)


class Inputs:
    """Files and folders that work reads, and how they were when it began."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = [Path(path) for path in paths]
        self._before = set(describe_files(self._paths))

    def check(self) -> None:
        """Raise if a file has another size or time of change than before: what was read would be a mixture.

        A file that is gone does no harm any more, since reading it has not failed.
        """
        for line in sorted(self._before.difference(describe_files(self._paths))):
            file = line.rsplit(" ", 2)[0]
            if Path(file).exists():
                raise ResweepError(
                    f"{file}: was changed while it was read, so nothing was put in place; run the same again once it "
                    "stays as it is"
                )


def hash_text(*parts: object) -> str:
    """The SHA-256 of some texts, as hexadecimal digits."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def describe_files(paths: Iterable[Path]) -> Iterator[str]:
    """A line for each file at or below ``paths``: its path, size and time of change."""
    for path in paths:
        for file in _list_files(path):
            state = file.stat()
            yield f"{file.absolute()} {state.st_size} {state.st_mtime_ns}"


def _list_files(path: Path) -> Iterable[Path]:
    """The files at or below ``path``, without those of outputs that are being written there."""
    if not path.is_dir():
        return [path][: path.exists()]
    found = [file for file in path.rglob("*") if file.is_file()]
    return sorted(file for file in found if not any(map(_is_unfinished, file.relative_to(path).parts)))


def _is_unfinished(name: str) -> bool:
    return name.endswith(PARTIAL) or (name.startswith(".") and name.endswith((".lock", ".part")))


def _read_small(file: Path) -> bytes:
    with open_regular(file, ANY_SIZE) as stream:
        return stream.read(_MAX_RECORD_BYTES)


def _read_key(folder: Path) -> dict[str, Any]:
    """What the parts in ``folder`` belong to; a folder that holds anything else is an error."""
    try:
        record = json.loads(_read_small(folder / RECORD))
        return record if isinstance(record, dict) else {"record": record}
    except (OSError, ValueError, RecursionError) as error:
        if not folder.is_dir() or any(item.name != f"{RECORD}.part" for item in folder.iterdir()):
            raise ResweepError(
                f"{folder}: holds no unfinished work ({RECORD}), so it is left alone; move it or choose another name"
            ) from error
        return {}
