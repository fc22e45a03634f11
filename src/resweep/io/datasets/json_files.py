"""JSON files of datasets, and their values of the kind that is expected.

A value that is missing or of another kind is an error that names the file, the way to the value, and what was expected.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from resweep.errors import InputError, ResweepError
from resweep.files import strict_json
from resweep.files.strict_json import format_json
from resweep.files.untrusted import read_bytes


class JsonValue:
    """A value of a JSON file, and where it is: ``poses.json, [3].position``."""

    def __init__(self, value: Any, file: Path | str, place: str = "") -> None:
        self._value, self._file, self._place = value, file, place

    @property
    def where(self) -> str:
        """File and path within it, for errors."""
        return f"{self._file}, {self._place}" if self._place else str(self._file)

    def _error(self, expected: str) -> ResweepError:
        shown = (
            format_json(self._value)[:40] if not isinstance(self._value, dict | list) else type(self._value).__name__
        )
        return InputError(f"{self.where}: expected {expected}, got {shown}; fetch it again")

    def part(self, key: str) -> JsonValue:
        """The value of a key of an object."""
        if not isinstance(self._value, dict):
            raise self._error(f"an object with '{key}'")
        if key not in self._value:
            raise InputError(f"{self.where}: no '{key}'; it has {_shorten(self._value)}. Fetch it again")
        return JsonValue(self._value[key], self._file, f"{self._place}.{key}".lstrip("."))

    def has(self, key: str) -> bool:
        """Whether this is an object with a key."""
        return isinstance(self._value, dict) and key in self._value

    def entries(self) -> dict[str, JsonValue]:
        """The values of an object by their keys."""
        if not isinstance(self._value, dict):
            raise self._error("an object")
        return {key: self.part(key) for key in self._value}

    def items(self) -> list[JsonValue]:
        """The values of a list."""
        if not isinstance(self._value, list):
            raise self._error("a list")
        return [JsonValue(item, self._file, f"{self._place}[{at}]") for at, item in enumerate(self._value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self._value, str):
            raise self._error("a text")
        return self._value

    def number(self) -> float:
        """A finite number."""
        value = self._value
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_MAX <= value <= _MAX:
            raise self._error("a finite number")
        return float(value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self._value, bool):
            raise self._error("true or false")
        return self._value

    def numbers(self, *keys: str, count: int | None = None) -> list[float]:
        """The numbers of these keys of an object, or those of a list of ``count``."""
        if keys:
            return [self.part(key).number() for key in keys]
        items = self.items()
        if count is not None and len(items) != count:
            raise InputError(f"{self.where}: {len(items)} numbers, {count} expected; fetch it again")
        return [item.number() for item in items]


_MAX = 1e300  # also refuses infinity, NaN, and integers that no float holds


def _shorten(record: dict[str, Any]) -> str:
    names = list(record)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "") if names else "nothing"


def parse_json(text: str | bytes, where: Path | str) -> Any:
    """What a JSON text holds; ``where`` names it in errors."""
    try:
        return strict_json.parse_json(text)
    except ValueError as error:
        raise InputError(f"{where}: damaged or not JSON ({error}); fetch it again") from error


def read_json(path: Path) -> JsonValue:
    """The contents of a JSON file."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); is the dataset complete?") from error
    return JsonValue(parse_json(data, path), path)


def read_list(path: Path) -> list[JsonValue]:
    """The values of a JSON file that is a list."""
    return read_json(path).items()


def is_inside(name: str) -> bool:
    """Whether a path that a file gives stays within the folder that it is relative to."""
    return not name.startswith(("/", "\\")) and ":" not in name[:3] and ".." not in re.split(r"[/\\]", name)
