"""Settings as frozen models: read from YAML, and refused with one line for each wrong field that says what to do."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Hashable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resweep.errors import InputError, ResweepError, SettingsError, nearest_names
from resweep.files.untrusted import MAX_JSON_BYTES, read_plain_text

Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Spec(BaseModel):
    """A frozen model of what a user configures: unknown keys, NaN and infinity are errors (`ResweepError`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise explain(error, type(self)) from None


Model = TypeVar("Model", bound=BaseModel)
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's reads eight times as fast


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Plain data from YAML; a key that is given twice is an error, where YAML would keep the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """The mapping of a node."""
        seen: set[Hashable] = set()
        for item, _ in getattr(node, "value", ()):
            if item.tag.endswith(":merge"):
                continue
            key = self.construct_object(item, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text or number", item.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{key}' is given twice", item.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_MAX_DEPTH = 50  # of lists and mappings within each other
_MAX_REPEATED = 10_000  # items that aliases may repeat: a few lines of them could stand for billions
_OPEN, _CLOSE = (yaml.SequenceStartEvent, yaml.MappingStartEvent), (yaml.SequenceEndEvent, yaml.MappingEndEvent)


def check_yaml(text: str) -> None:
    """Raise `yaml.YAMLError` if a text nests too deeply, or if its aliases stand for too many items."""
    sizes: dict[str, int] = {}  # items of each anchor, with those that aliases in it stand for
    unfinished: list[tuple[str | None, int]] = []
    items = repeated = 0
    for event in yaml.parse(text, Loader=_SafeLoader):
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == name for name, _ in unfinished):
                raise _refuse("an alias within its own anchor", event)
            size = sizes.get(anchor or "", 1)
            items, repeated = items + size, repeated + size
            if repeated > _MAX_REPEATED:
                raise _refuse(f"its aliases stand for more than {_MAX_REPEATED} items", event)
        elif isinstance(event, _OPEN):
            unfinished.append((anchor, items))
            items += 1
            if len(unfinished) > _MAX_DEPTH:
                raise _refuse(f"more than {_MAX_DEPTH} lists or mappings within each other", event)
        elif isinstance(event, _CLOSE):
            name, before = unfinished.pop()
            if name is not None:
                sizes[name] = items - before
        elif isinstance(event, yaml.ScalarEvent):
            items += 1


def _refuse(problem: str, event: Any) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; ``what`` names in the error what it should have been."""
    try:
        return read_plain_text(path, MAX_JSON_BYTES)
    except (OSError, ValueError) as error:  # no text, or a name that no file can have
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path}: cannot be read ({reason}); give {what}") from error


def parse_yaml(text: str, where: str, expected: str = "keys with values") -> dict[str, Any]:
    """The mapping in a YAML text; ``where`` names it in errors, ``expected`` says what it should hold."""
    try:
        check_yaml(text)
        data = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        # Numbers and dates that YAML takes for such may still be none: Python's own errors.
        problem = getattr(error, "problem", None) or (
            "cannot be parsed" if isinstance(error, yaml.YAMLError) else f"a value of the wrong kind: {str(error)[:80]}"
        )
        raise InputError(f"{where}{line}: is not valid YAML ({problem})") from error
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ResweepError(f"{where}: expected {expected}, got {type(data).__name__}")
    return data


def validate(data: Any, model: type[Model], where: str) -> Model:
    """``data`` as a model; the error names ``where`` it came from and the field."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise explain(error, model, where) from None
    except SettingsError as error:
        raise SettingsError(error.field, error.problem, where, error.problems[1:]) from None
    except TypeError as error:  # a key that is no text, where fields are expected
        raise SettingsError("", f"a key of the wrong kind ({error}); give names of fields", where) from None


def parse_spec(text: str, model: type[Model], where: str) -> Model:
    """The model in a YAML text."""
    return validate(parse_yaml(text, where, f"the fields of a {model.__name__} (name: value)"), model, where)


def read_spec(path: str | Path, model: type[Model]) -> Model:
    """The model in a YAML file."""
    return parse_spec(read_text(path, "a YAML file"), model, str(path))


def explain(error: ValidationError, model: type[BaseModel], where: str = "") -> SettingsError:
    """All problems of ``error`` as a `SettingsError`, unknown keys first; ``where`` is the file it came from."""
    found: list[tuple[str, str]] = []
    # An unknown key often leaves a required one missing too: the unknown one is the cause.
    for item in sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden"):
        field = format_field_name(item["loc"])
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, SettingsError):
            found += [(".".join(part for part in (field, inner) if part), text) for inner, text in cause.problems]
        else:
            found.append((field, _describe_problem(dict(item), model)))
    (first, problem), *others = _merge_elements(dict.fromkeys(found))
    return SettingsError(first, problem, where, others)


def _merge_elements(problems: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The problems, with one for the wrong values of a list: that of the first, and how many there are."""
    lists: dict[str, list[tuple[str, str]]] = {}
    for field, text in problems:
        name = field[: field.rindex("[")] if field.endswith("]") else field
        lists.setdefault(name, []).append((field, text))
    merged = []
    for (field, text), *rest in lists.values():
        more = f"; so are {len(rest)} more of its values" if len(rest) > 1 else "; so is one more" if rest else ""
        merged.append((field, text + (more if field.endswith("]") else "")))
        merged += [] if field.endswith("]") else rest
    return merged


def format_field_name(location: tuple[int | str, ...]) -> str:
    """A dotted name such as ``channels.elevation_deg[3]`` from pydantic's location."""
    name = ""
    for part in location:
        if isinstance(part, int):
            name += f"[{part}]"
        elif part not in (*PATTERN_KINDS, "[key]"):
            name += f".{part}" if name else part
    return name


# The tags of the pattern union: pydantic puts them into the location, but they are not in the file.
PATTERN_KINDS = ("spinning", "two-block", "rosette", "raster")


def _describe_problem(item: dict[str, Any], model: type[BaseModel]) -> str:
    kind, value = item["type"], item.get("input")
    if kind == "extra_forbidden":
        return f"unknown key; {nearest_names(str(item['loc'][-1]), list_known_keys(model, item['loc'][:-1]))}"
    if kind == "missing":
        expected = describe_field(model, item["loc"])
        return f"missing; give {expected}" if expected else "missing; this field is required"
    if kind == "union_tag_not_found":
        return f"'kind' is missing; give one of {', '.join(PATTERN_KINDS)}"
    if kind == "union_tag_invalid":
        return f"unknown kind {item['ctx']['tag']!r}; {nearest_names(item['ctx']['tag'], PATTERN_KINDS)}"
    if kind == "literal_error" and isinstance(value, str):
        return f"{value!r} is not one of {item['ctx']['expected']}"
    message = str(item["msg"]).removeprefix("Value error, ")
    if kind == "value_error":
        return message
    shown = repr(value)
    return f"{message[0].lower()}{message[1:]}, got {shown if len(shown) < 60 else shown[:57] + '...'}"


def describe_field(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """What the field at ``location`` below ``model`` is, as its description says; empty where it has none."""
    for holder in _find_models_at(model, location[:-1]):
        text = read_field_docs(holder).get(str(location[-1]), "").rstrip(".")
        if text:
            return text[0].lower() + text[1:]
    return ""


@cache
def read_field_docs(model: type[BaseModel]) -> dict[str, str]:
    """What each field of a model is, by name: the string below its definition, of the model or of its bases.

    It is read from the source when it is asked for. Pydantic can do so too, but for every model when it is imported,
    which takes a fifth of a second of every command.
    """
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not (issubclass(base, BaseModel) and base.__module__.startswith("resweep.")):
            continue
        body = _read_class_bodies(base.__module__).get(base.__qualname__, [])
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                text = below.value.value if isinstance(below.value, ast.Constant) else None
                if isinstance(field.target, ast.Name) and isinstance(text, str):
                    docs[field.target.id] = " ".join(text.split())
    return docs


@cache
def _read_class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    """The statements of each class of a module, by its name; none where there is no source."""
    file = sys.modules[module].__file__
    try:
        tree = ast.parse(Path(str(file)).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def list_known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys allowed at ``location`` below ``model``, walking through unions and lists."""
    return sorted({key for item in _find_models_at(model, location) for key in item.model_fields})


def _find_models_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[type[BaseModel]]:
    models = [model]
    for part in location:
        if isinstance(part, int) or part in PATTERN_KINDS:
            tagged = [item for item in models if _read_tag(item) == part]
            models = tagged or models
            continue
        fields = [item.model_fields[part].annotation for item in models if part in item.model_fields]
        models = [inner for annotation in fields for inner in _list_models(annotation)]
    return models


def _read_tag(model: type[BaseModel]) -> str | None:
    kind = model.model_fields.get("kind")
    return None if kind is None else str(get_args(kind.annotation)[0])


def _list_models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType, tuple) or hasattr(annotation, "__metadata__"):
        return [inner for part in get_args(annotation) for inner in _list_models(part)]
    return []
