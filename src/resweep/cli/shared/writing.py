"""What all commands that write share: one writer for each output, and what a stopped command is known by."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from resweep.files.partial import Inputs, describe_files
from resweep.remote import find_path, is_remote, lock_output, recover_output

P = ParamSpec("P")
T = TypeVar("T")
# Parameters of commands that say where, and how fast, but not what is written.
_NO_PART = ("output", "target", "overwrite", "threads", "workers", "memory", "cluster", "as_json")


def locks(name: str, reads: Sequence[str] = ()) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a command hold the lock of the output that its parameter ``name`` gives, from start to end.

    ``reads`` are the parameters that name what it reads all along: if that was changed meanwhile, the output does not
    replace what is there.
    """

    def decorate(verb: Callable[P, T]) -> Callable[P, T]:
        @wraps(verb)
        def locked(*arguments: P.args, **options: P.kwargs) -> T:
            given = inspect.signature(verb).bind(*arguments, **options).arguments
            output = given.get(name)
            if output is None:
                return verb(*arguments, **options)
            paths = (find_path(word) for parameter in reads for word in _list_texts(given.get(parameter)))
            inputs = Inputs(path for path in paths if not is_remote(path))
            with lock_output(find_path(output), inputs.check):
                return verb(*arguments, **options)

        return locked

    return decorate


def describe_work(given: Mapping[str, object]) -> dict[str, str]:
    """What a stopped command is known by, for ``resume`` of `write_log`, from all its parameters by name.

    These are its arguments, and of every file or folder they name the path, size and time of change.
    """
    arguments = {name: value for name, value in sorted(given.items()) if name not in _NO_PART}
    found = [_find(word) for value in arguments.values() for word in _list_texts(value)]
    return {"config": repr(arguments), "inputs": "\n".join(describe_files(path for path in found if path is not None))}


def _find(word: str) -> Path | None:
    """The path that an argument names, if it names anything that exists."""
    if not is_remote(path := find_path(word)):
        return path if os.path.exists(word) else None
    recover_output(path)
    return path if path.exists() else None


def _list_texts(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item)
