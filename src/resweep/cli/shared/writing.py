"""What all commands that write share: one writer for each output, what a stopped command is known by, and logs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from resweep.errors import ResweepError, nearest_names
from resweep.files.partial import Inputs, describe_files
from resweep.remote import find_path, is_remote, lock_output, recover_output

if TYPE_CHECKING:
    from resweep.log import Log

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
            paths = (find_path(text) for parameter in reads for text in _list_texts(given.get(parameter)))
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
    found = [_find(text) for value in arguments.values() for text in _list_texts(value)]
    return {"config": repr(arguments), "inputs": "\n".join(describe_files(path for path in found if path is not None))}


def _find(text: str) -> Path | None:
    """The path that an argument names, if it names anything that exists."""
    if not is_remote(path := find_path(text)):
        return path if os.path.exists(text) else None
    recover_output(path)
    return path if path.exists() else None


def _list_texts(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item)


@dataclass(frozen=True)
class LogTarget:
    """Where and how a command writes a log, which goes on after the finished sweeps of a stopped one.

    ``made_from`` is what `describe_work` gives; ``points`` is how the points of a bag are laid out.
    """

    path: Path
    format: str
    overwrite: bool
    made_from: Mapping[str, str]
    points: str | None = None
    layout: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", choose_points(self.points, self.format))

    def write(self, log: Log, **options: Any) -> None:
        """Write the log, with ``options`` of `write_log`."""
        from resweep.io import write_log

        kept: dict[str, Any] = {"overwrite": self.overwrite, "resume": True, "made_from": self.made_from}
        write_log(log, self.path, format=self.format, **kept, **self.layout, **options)


def list_formats() -> list[str]:
    """The formats that logs can be written in."""
    from resweep.io import FORMATS

    return [entry.name for entry in FORMATS.values() if entry.write or entry.write_log]


def check_format(name: str) -> None:
    """Raise if no log can be written in the format of that name."""
    if name not in (writable := list_formats()):
        raise ResweepError(f"--format '{name}': {nearest_names(name, writable)}")


def choose_points(points: str | None, format: str | None) -> dict[str, Any]:
    """The option of the writer of ``format`` that ``--points`` gives; a wrong name raises before the work."""
    if points is None:
        return {}
    from resweep.io.ros.point_layouts import POINTS

    if format != "ros2":
        raise ResweepError(f"--points {points}: lays out the points of a bag; give --format ros2 too")
    if points not in POINTS:
        raise ResweepError(f"--points '{points}': {nearest_names(points, POINTS)}")
    return {"points": points}


def name_resumed(count: int) -> str:
    """How many sweeps a stopped command had finished, for the line that counts all of them."""
    return f", {count:,} of them from before" if count else ""
