"""The errors that users see: `ResweepError`, and four kinds of it: input, settings, output and missing packages."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

_MAX_LINE = 1000  # characters of a line of a message
_MAX_PROBLEMS = 20  # of one spec that are listed


def printable(text: str) -> str:
    """``text`` with every character that a terminal would act on as an escape, such as ``\\x1b``.

    Line ends and tabs stay. Escaped are control characters, those that change the direction of writing, and bytes of
    file names that are no text.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    # Of the format characters (Cf), joiners belong to scripts and emoji; the others are invisible or reorder text.
    if character in "\n\t\u200c\u200d" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape").decode("ascii")


class ResweepError(ValueError):
    """A user's mistake or bad input: says what is wrong, where, and what to do.

    Messages speak of arguments of functions; the command line adds its options. It prints the error as one line and
    exits with a non-zero status; anything else that escapes is a defect of Resweep. Names and contents of files in a
    message are made `printable`, and each of ``lines`` is one line: a mistake has one, several mistakes one each.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(_fit_line(line) for line in lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)  # kinds of it are made from other arguments


def _restore(kind: type[ResweepError], args: tuple[Any, ...], facts: dict[str, Any]) -> ResweepError:
    """An error as it was pickled."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class InputError(ResweepError):
    """A file, log or world that cannot be used: missing, damaged, of another format, or without what is needed."""


class UnreadableFileError(InputError, OSError):
    """A file that is not read: no regular file, or larger than what it should be; ``problem`` says which."""

    def __new__(cls, *given: str) -> UnreadableFileError:
        """An error without number: its text is that of `ResweepError`."""
        return OSError.__new__(cls)

    def __init__(self, file: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{file}: {problem}")
        self.strerror = problem  # where an OSError becomes another message, the file is named there


class SettingsError(ResweepError):
    """Settings with wrong values: ``problems`` pairs the dotted name of each field with what is wrong with it.

    The message has one line for each, which begins with ``where`` they came from. ``field`` and ``problem`` are the
    first pair.
    """

    def __init__(self, field: str, problem: str, where: str = "", others: Sequence[tuple[str, str]] = ()) -> None:
        self.field, self.problem = field, problem
        self.problems = ((field, problem), *others)
        shown = self.problems if len(self.problems) <= _MAX_PROBLEMS + 1 else self.problems[:_MAX_PROBLEMS]
        lines = [": ".join(part for part in (where, *pair) if part) for pair in shown]
        if len(shown) < len(self.problems):
            lines.append(f"{where or 'and'}: {len(self.problems) - len(shown)} more fields are wrong")
        super().__init__(*lines)


class OutputError(ResweepError):
    """An output that cannot be written: something else is there, the disk refuses it, or its format cannot hold it."""


class MissingExtraError(ResweepError):
    """A package beyond the core install is missing; the message has the command that installs it."""


class NothingToFitError(InputError):
    """A map, or the part of one that a tile holds, has too little for what is fitted to it."""


def _fit_line(text: str) -> str:
    """``text`` as one line, without its middle if it is long: what files and libraries say may be of any length."""
    line = " ".join(printable(str(text)).split("\n"))
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 200]} ... {line[-190:]}"


class FaultKind(Enum):
    """What is wrong with a sweep; the value is its word in a summary, as in ``2 truncated``."""

    EMPTY = "empty"
    MISSING = "missing"
    TRUNCATED = "truncated"
    OTHER_FORMAT = "in another format"
    OTHER_FIELDS = "with other fields"
    OTHER_LABELS = "with labels of another length"
    NOT_FINITE = "with NaN points"
    OUT_OF_BOUNDS = "with impossible values"
    NO_POSE = "without pose"
    UNREADABLE = "unreadable"


class SweepError(InputError):
    """One sweep that cannot be used, where others of its log can; ``kind`` says what is wrong with it."""

    def __init__(self, message: str, kind: FaultKind = FaultKind.UNREADABLE) -> None:
        self.kind = kind
        super().__init__(message)


class UnknownPosesError(InputError):
    """A log without poses, where poses are needed; ``problem`` is the message without what to do about it."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{problem}; open it with poses=, or find them with resweep.odometry")


class UntimedPosesError(InputError):
    """Poses without times that do not pair up with sweeps; ``problem`` is the message without what to do about it."""

    def __init__(self, problem: str, advice: str) -> None:
        self.problem = problem
        super().__init__(f"{problem}; {advice}")


def nearest_names(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.5) -> str:
    """A hint such as ``did you mean 'velodyne-hdl-64e'?``, or the known names if none is near.

    ``cutoff`` is the least likeness, from 0 to 1; short names need more of it.
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=count, cutoff=cutoff)
    if close:
        return "did you mean " + " or ".join(repr(item) for item in close) + "?"
    return "known: " + ", ".join(known)
