"""Write the tables of fields in docs/*.md from the models: python docs/write_tables.py

A table stands between ``<!-- fields: resweep.sensors.Sensor -->`` and ``<!-- end of fields -->``. A test holds the
pages to what this writes, so that they cannot go stale.
"""

from __future__ import annotations

import importlib
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from resweep.config import read_field_docs
from resweep.quantities import MAX_NUMBER
from resweep.schema import format_value

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- fields: ([\w.]+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)


def render(text: str) -> str:
    """A page with each of its tables made anew."""

    def replace(found: re.Match[str]) -> str:
        module, name = found[2].rsplit(".", 1)
        return f"{found[1]}\n{make_table(getattr(importlib.import_module(module), name))}\n\n{found[3]}"

    return BLOCK.sub(replace, text)


def make_table(model: type[BaseModel]) -> str:
    """A Markdown table of a model's fields: name, type, default, what it is."""
    docs = read_field_docs(model)
    lines = ["| field | type | default | what it is |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else _format_default(field)
        lines.append(f"| `{name}` | {_describe_type(field)} | {default} | {docs.get(name, '')} |")
    return "\n".join(lines)


def _format_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        return "its own defaults"
    return f"`{format_value(value)}`"


def _describe_type(field: FieldInfo) -> str:
    """What a field may hold: a type, its choices or its bounds."""
    if field.discriminator is not None:
        return " or ".join(_describe_annotation(part) for part in get_args(field.annotation))
    bounds = _describe_bounds(field.metadata)
    return _describe_annotation(field.annotation) + (f" {bounds}" if bounds else "")


def _describe_annotation(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        bounds = _describe_bounds(_constraints(parts[1:]))
        return _describe_annotation(parts[0]) + (f" {bounds}" if bounds else "")
    if origin is Literal:
        return ", ".join(f"`{item}`" for item in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(_describe_annotation(part) for part in parts if part is not type(None))
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return f"list of {_describe_annotation(parts[0])}"
        return f"{len(parts)} x {_describe_annotation(parts[0])}"
    if origin in (dict, Mapping) or annotation is dict:
        return "fields with values"
    names = {float: "number", int: "whole number", str: "text", bool: "`true` or `false`"}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return names.get(annotation, "any")


def _constraints(metadata: tuple[Any, ...]) -> list[Any]:
    return [rule for item in metadata for rule in (item.metadata if isinstance(item, FieldInfo) else [item])]


def _describe_bounds(metadata: list[Any]) -> str:
    signs = {"gt": "above", "ge": "from", "lt": "below", "le": "to"}
    found = [
        f"{word} {getattr(rule, name):g}"
        for rule in metadata
        for name, word in signs.items()
        if hasattr(rule, name) and abs(getattr(rule, name)) < MAX_NUMBER  # the bound of all numbers tells nothing
    ]
    return ", ".join(found)


if __name__ == "__main__":
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (made := render(text)) != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.name}: tables written")
