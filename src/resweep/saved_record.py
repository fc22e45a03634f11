"""Models of what Resweep saves as JSON and reads back: strict, and one error of one line for what does not fit."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from resweep.config import explain
from resweep.errors import InputError


class SavedRecord(BaseModel):
    """A frozen model of saved data: text is no number, and unknown keys, NaN and infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def check_record(data: Any, model: type[SavedRecord], where: str, what_to_do: str) -> None:
    """Raise InputError unless plain ``data`` fits a model; it names ``where`` and the first field that is wrong."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        (name, problem), *others = explain(error, model).problems
        more = f" (and {len(others)} more)" if others else ""
        field = f"{name}: {problem}" if name else problem
        raise InputError(f"{where}: damaged, {field}{more}; {what_to_do}") from None
