"""Models of what Resweep saves as JSON and reads back: strict, and one error of one line for what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from resweep.config import explain
from resweep.errors import InputError, UnreadableFileError
from resweep.files.strict_json import parse_json
from resweep.files.untrusted import MAX_JSON_BYTES, read_bytes


class SavedRecord(BaseModel):
    """A frozen model of saved data: text is no number, and unknown keys, NaN and infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read_saved(path: Path, what: str, format: str, version: int, writer: str) -> dict[str, Any]:
    """The JSON object in a file that ``writer`` wrote; its ``format`` and ``version`` are checked, no other field."""
    try:
        record = parse_json(read_bytes(path, MAX_JSON_BYTES))
    except UnreadableFileError as error:
        raise InputError(f"{path}: cannot be read ({error.problem})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); give a {what} saved as .json") from error
    if not isinstance(record, dict) or record.get("format") != format:
        raise InputError(f"{path}: JSON, but not a {what}; give a file that {writer} wrote")
    if record.get("version") != version:
        raise InputError(f"{path}: {what} version {record.get('version')!r:.40}; this Resweep reads {version}")
    return record


def check_record(data: Any, model: type[SavedRecord], where: str, what_to_do: str) -> None:
    """Raise InputError unless plain ``data`` fits a model; it names ``where`` and the first field that is wrong."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        (name, problem), *others = explain(error, model).problems
        more = f" (and {len(others)} more)" if others else ""
        field = f"{name}: {problem}" if name else problem
        raise InputError(f"{where}: damaged, {field}{more}; {what_to_do}") from None
