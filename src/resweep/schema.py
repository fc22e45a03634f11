"""Settings for people: commented templates and JSON Schemas, from the models themselves."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from resweep.config import read_field_docs


def make_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model (draft 2020-12), with what each field is and its unit."""
    schema = model.model_json_schema()
    found = {item.__name__: item for item in list_models(model)}
    for name, part in {model.__name__: schema, **schema.get("$defs", {})}.items():
        docs = read_field_docs(found[name]) if name in found else {}
        for field, properties in part.get("properties", {}).items():
            if field in docs:
                properties["description"] = docs[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def list_models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and all those that its fields hold, each once, in the order of the fields."""
    found = [model]
    for at in found:  # grows while it is read
        for field in at.model_fields.values():
            found += [inner for inner in _inner_models(field.annotation) if inner not in found]
    return found


def _inner_models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for part in get_args(annotation) for inner in _inner_models(part)]


def make_template(model: type[BaseModel], values: Mapping[str, Any], title: str) -> str:
    """YAML of ``values``, which are an example of the model, with what each field is in a comment above it.

    Fields that ``values`` leaves out stand there as comments, with their defaults.
    """
    return "\n".join([*(f"# {line}".rstrip() for line in title.splitlines()), *_template_lines(model, values), ""])


def _template_lines(model: type[BaseModel], values: Mapping[str, Any], required_first: bool = False) -> list[str]:
    docs = read_field_docs(model)
    fields = list(model.model_fields.items())
    if required_first:  # so that an item of a list begins with its name
        fields.sort(key=lambda item: not item[1].is_required())
    lines: list[str] = []
    for name, field in fields:
        lines.append(f"# {docs.get(name, name)} {_describe_need(field)}".rstrip())
        if name not in values:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            lines.append(f"# {name}: {format_value(default)}")
        else:
            lines += _value_lines(name, field, values[name])
    return lines


def _value_lines(name: str, field: FieldInfo, value: Any) -> list[str]:
    """The lines of one field that has a value; models in it are written out."""
    inner = _choose_model(field.annotation, value)
    if inner is not None and isinstance(value, Mapping):
        return [f"{name}:", *(f"  {line}" for line in _template_lines(inner, value))]
    if inner is None or not isinstance(value, list):
        return [f"{name}: {format_value(value)}"]
    lines = [f"{name}:"]
    for item in value:
        first, *rest = _template_lines(inner, item, required_first=True)
        lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return lines


def _choose_model(annotation: Any, value: Any) -> type[BaseModel] | None:
    """The model that ``value`` is of, where its field holds any."""
    models = _inner_models(annotation)
    item = value[0] if isinstance(value, list) and value else value
    if not isinstance(item, Mapping) or not models:
        return None
    kinds = {kind.model_fields["kind"].default: kind for kind in models if "kind" in kind.model_fields}
    return kinds.get(item["kind"]) if kinds and "kind" in item else models[0]


def _describe_need(field: FieldInfo) -> str:
    choice = list_choices(field.annotation)
    notes = ["required"] if field.is_required() else []
    notes += [f"one of {', '.join(choice)}"] if len(choice) > 1 else []
    return f"({'; '.join(notes)})" if notes else ""


def list_choices(annotation: Any) -> list[str]:
    """The values that a field may hold, where it holds one of several."""
    if get_origin(annotation) is Literal:
        return [str(item) for item in get_args(annotation)]
    if get_origin(annotation) in (Union, types.UnionType):
        return [word for part in get_args(annotation) for word in list_choices(part)]
    return []


def format_value(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, tuple):
        value = list(value)
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False)
    return str(text).removesuffix("...\n").strip()
