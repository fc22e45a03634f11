"""Outputs that appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from resweep.errors import ResweepError


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary path of the same name; on success it, and files beside it, move into place.

    On any error the temporary files go and an old file at ``path`` stays as it was.
    """
    if path.is_dir():
        raise ResweepError(f"{path}: is a folder; give the name of a file")
    with _temporary_folder(path, path) as folder:
        yield folder / path.name
        # The named file comes last: once it is new, what belongs to it is new as well.
        for made in sorted(folder.iterdir(), key=lambda item: item.name == path.name):
            os.replace(made, path.with_name(made.name))


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that on success takes the place of ``path``, old contents included.

    A link is followed: the folder that it leads to is replaced. Whether an old folder may be replaced is for the
    caller to have checked. On any error, and if interrupted, the temporary folder goes and the old one stays.
    """
    target = path.resolve()
    with _temporary_folder(target, path) as folder:
        made, old = folder / "new", folder / "old"
        made.mkdir()
        yield made
        try:
            if target.exists():
                os.rename(target, old)
            os.rename(made, target)
        except BaseException:
            if old.exists() and not target.exists():
                os.rename(old, target)
            raise


@contextmanager
def _temporary_folder(target: Path, named: Path) -> Iterator[Path]:
    """A hidden folder beside ``target``, on the same disk so that renaming out of it is atomic.

    Errors name ``named``. Folders that were made on the way go too if the work fails.
    """
    place = target.absolute().parent
    made = [parent for parent in target.absolute().parents if not parent.exists()]
    done = False
    folder: Path | None = None
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=place))
        yield folder
        done = True
    except OSError as error:
        raise ResweepError(
            f"{named}: cannot be written ({error.strerror or error}); check the folder, its permissions and the disk"
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if not done:
            for parent in made:
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()
