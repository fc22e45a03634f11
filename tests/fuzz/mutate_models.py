"""Mutants of models in YAML and JSON, of glTF among them: the file stays one that parses, and says what cannot be.

Damaged bytes are mostly refused by a parser. Here values are changed where they stand: numbers that no drive has, other
types, lists of thousands, aliases that stand for themselves; in glTF where views and accessors begin and end.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import yaml

SUFFIXES = (".yaml", ".yml", ".json", ".gltf", ".glb")
_EXTREME: tuple[float, ...] = (
    *(1e300, -4.5e10, 3.5e38, 2**63, -(2**63), 10**40, math.nan, math.inf, -math.inf),
    *(1e-300, 5e-324, 0, -0.0, -1, 1, 2**31, 2**32, 1e7, 1e9, 86_400.0, 10_000_000, 1e-3),
)
# Just within what models take: what is accepted must be usable too.
_EDGES: tuple[float, ...] = (
    5e7,
    -5e7,
    86_400,
    86_399.9,
    340,
    1000,
    100,
    99_990,
    10_000,
    720,
    16,
    10,
    0.05,
    0.01,
    0.001,
    1e-6,
)
_OTHER: tuple[Any, ...] = (
    None,
    True,
    "",
    "x",
    "nan",
    "1e5",
    [],
    {},
    [[]],
    {"a": 1},
    "\x1b[31m",
    "..",
    "/dev/zero",
    [None],
)
_LAUGHS = "x0: &x0 [a, a, a, a, a, a, a, a]\n" + "".join(
    f"x{at}: &x{at} [{', '.join([f'*x{at - 1}'] * 8)}]\n" for at in range(1, 12)
)
Place = tuple[Any, Any]  # a list or dictionary, and the index or key in it


def mutate_model(data: bytes, name: str, rng: random.Random) -> bytes | None:
    """A model with one to three of its values changed; None for what is no model, or does not parse."""
    suffix = name[name.rfind(".") :] if "." in name else ""
    if suffix not in SUFFIXES:
        return None
    if suffix == ".glb":
        return _mutate_glb(data, rng)
    try:
        text = data.decode()
        tree = yaml.safe_load(text) if suffix.startswith(".y") else json.loads(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        return None
    if not isinstance(tree, dict) or not tree:
        return None
    if suffix.startswith(".y") and rng.random() < 0.1:
        return _spoil_yaml(text, rng).encode()
    change_tree(tree, rng, gltf=suffix == ".gltf")
    if suffix.startswith(".y"):
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()
    return json.dumps(tree).encode()


def change_tree(tree: dict[str, Any], rng: random.Random, *, gltf: bool = False) -> None:
    """One to three changes of a tree of plain data, in place."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = _list_places(tree)
        if not places:
            return
        if gltf and rng.random() < 0.8:
            _change_gltf(tree, rng)
        else:
            rng.choice(_CHANGES)(places, rng)


def _list_places(tree: Any) -> list[Place]:
    found: list[Place] = []
    waiting = [tree]
    while waiting and len(found) < 20_000:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choose(places: list[Place], rng: random.Random, fits: Callable[[Any], bool]) -> Place:
    """A place whose value fits, first among all lists and dictionaries, so that long lists are not all there is."""
    fitting = [place for place in places if fits(place[0][place[1]])]
    holder = rng.choice(fitting or places)[0]
    inside = [place for place in fitting if place[0] is holder]
    return rng.choice(inside or fitting or places)


def _set_extreme(places: list[Place], rng: random.Random) -> None:
    holder, key = _choose(places, rng, _is_number)
    holder[key] = rng.choice(_EXTREME if rng.random() < 0.5 else _EDGES)


def _scale(places: list[Place], rng: random.Random) -> None:
    """A number in another unit, or of the other sign."""
    holder, key = _choose(places, rng, _is_number)
    if _is_number(holder[key]):
        holder[key] = holder[key] * rng.choice((1000, 1e-3, 1e6, 1e-6, 1e-9, -1, 1e12))


def _set_list(places: list[Place], rng: random.Random) -> None:
    """Every number of a list the same, or an extreme one."""
    holder, key = _choose(places, rng, lambda value: isinstance(value, list) and any(map(_is_number, value)))
    if isinstance(holder[key], list):
        value = rng.choice((*_EXTREME, *_EDGES, *filter(_is_number, holder[key])))
        holder[key] = [value] * len(holder[key])


def _set_other(places: list[Place], rng: random.Random) -> None:
    holder, key = rng.choice(places)
    holder[key] = json.loads(json.dumps(rng.choice(_OTHER)))


def _repeat(places: list[Place], rng: random.Random) -> None:
    """An item of a list thousands of times, or a list without most of its items."""
    holder, key = _choose(places, rng, lambda value: isinstance(value, list) and bool(value))
    items = holder[key]
    if isinstance(items, list) and 0 < len(items) < 100:  # so that two changes do not make millions
        times = rng.choice((0, 1, 2, 50, 3000))
        at = rng.randrange(len(items))
        items[at : at + 1] = [items[at]] * (times if times < 100 or len(str(items[at])) < 2000 else 100)


def _remove(places: list[Place], rng: random.Random) -> None:
    holder, key = rng.choice(places)
    del holder[key]


def _exchange(places: list[Place], rng: random.Random) -> None:
    (one, first), (two, second) = _choose(places, rng, _is_number), rng.choice(places)
    value = json.loads(json.dumps(one[first]))
    two[second] = value


_CHANGES: tuple[Callable[[list[Place], random.Random], None], ...] = (
    *(_set_extreme, _set_extreme, _set_extreme, _scale, _scale, _set_list),
    *(_set_other, _repeat, _repeat, _remove, _exchange),
)


def _spoil_yaml(text: str, rng: random.Random) -> str:
    """YAML that stands for more than it says, or is nested without end."""
    lines = text.splitlines()
    at = rng.randrange(len(lines) + 1)
    more = rng.choice(
        (
            *("x: &x [*x]", "x: &x {y: *x}", _LAUGHS, "x: " + "[" * 5000, "x: " + "{a: " * 3000, "x: " + "9" * 9000),
            *("x: !!python/name:os.system", "x: 0x" + "f" * 300, "x: 1:1:1:1:1", "<<: *no", "? [a, b]\n: 1", "- &a"),
            *(lines[at] if at < len(lines) else "x: 1", "x: !!timestamp 99999-99-99", "x: !!binary '='"),
        )
    )
    return "\n".join([*lines[:at], more, *lines[at:]]) + "\n"


_GLTF_FIELDS = {
    "buffers": ("byteLength", "uri"),
    "bufferViews": ("buffer", "byteOffset", "byteLength", "byteStride"),
    "accessors": ("bufferView", "byteOffset", "count", "componentType", "type", "sparse"),
    "nodes": ("mesh", "children", "matrix", "scale", "translation"),
    "meshes": ("primitives",),
}


def _change_gltf(tree: dict[str, Any], rng: random.Random) -> None:
    """A view, accessor or node that begins, ends or leads elsewhere."""
    kinds = [name for name in _GLTF_FIELDS if isinstance(tree.get(name), list) and tree[name]]
    kind = rng.choice(kinds or ["nodes"])
    items = tree.get(kind) or [{}]
    item = rng.choice(items)
    if not isinstance(item, dict):
        return
    field = rng.choice(_GLTF_FIELDS[kind])
    near = rng.choice((0, 1, 2, 3, 4, 7, 8, 12, 36, 100, 252, 10_000, 2**20, 2**31, 2**40, 2**63, -1, -4, -12))
    if field == "type":
        item[field] = rng.choice(("SCALAR", "VEC2", "VEC3", "VEC4", "MAT4", "x"))
    elif field == "componentType":
        item[field] = rng.choice((5120, 5121, 5122, 5123, 5125, 5126, 5124))
    elif field == "children":
        item[field] = [rng.randrange(len(items)) for _ in range(rng.choice((1, 2, 50)))]
    elif field == "sparse":
        view = {"bufferView": rng.randrange(4), "componentType": 5125}
        item[field] = {"count": near, "indices": view, "values": {"bufferView": rng.randrange(4)}}
    elif field == "primitives" and isinstance(item.get(field), list):
        item[field] = item[field][:2] * rng.choice((2, 50, 1000))
    elif field in ("matrix", "scale", "translation"):
        item[field] = [rng.choice(_EXTREME) for _ in range(16 if field == "matrix" else 3)]
    elif field == "uri":
        item[field] = rng.choice(
            ("/dev/zero", "../../etc/passwd", "data:,", "data:;base64,AAAA", "model.gltf", ".", "x")
        )
    else:
        item[field] = near if rng.random() < 0.6 or not _is_number(item.get(field)) else item[field] + near


def _mutate_glb(data: bytes, rng: random.Random) -> bytes | None:
    length = int.from_bytes(data[12:16], "little")
    try:
        tree = json.loads(data[20 : 20 + length])
    except ValueError:
        return None
    change_tree(tree, rng, gltf=True)
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    head = data[:8] + (20 + len(text) + len(rest)).to_bytes(4, "little")
    return head + len(text).to_bytes(4, "little") + data[16:20] + text + rest
