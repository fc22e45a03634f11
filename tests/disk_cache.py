"""Simulated recordings and built worlds that tests share, made once for all files, workers and runs.

They lie in build/test-cache, below a hash of the installed package and of the code that makes them: a change of either
makes them anew, and what other versions left is removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

import resweep

CACHE = Path(__file__).resolve().parents[1] / "build" / "test-cache"


def cached(make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` filled: in this run, an earlier one, or now. Tests read it and write nothing there.

    ``make`` is a function of a module; its module's source is part of the key.
    """
    source = inspect.getsource(inspect.getmodule(make) or make)
    key = hashlib.sha256((hash_package() + source).encode()).hexdigest()[:16]
    name = f"{make.__module__.replace('.', '-')}-{make.__name__}"
    folder = CACHE / f"{name}-{key}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed: of several workers one makes it
        if not folder.exists():
            for old in CACHE.glob(f"{name}-*"):
                shutil.rmtree(old)
            scratch = Path(mkdtemp(dir=CACHE, prefix="new-"))
            try:
                make(scratch)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return folder


@lru_cache
def hash_package() -> str:
    """A hash of all files of the installed package."""
    root = Path(resweep.__file__).parent
    found = hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(file.relative_to(root).as_posix().encode())
            found.update(file.read_bytes())
    return found.hexdigest()
