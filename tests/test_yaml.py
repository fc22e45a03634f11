"""YAML that users and strangers write: read, or refused in one line."""

from __future__ import annotations

import time

import pytest

from resweep.config import parse_yaml
from resweep.errors import ResweepError

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "line 5: is not valid YAML .its aliases stand for more than 10000 items"),
        ("a: &a [*a]", "an alias within its own anchor"),
        ("a: &a {b: [1, *a]}", "an alias within its own anchor"),
        ("a: " + "[" * 100_000, "more than 50 lists or mappings"),
        ("a: " + "{a: " * 100, "more than 50 lists or mappings"),
        ("a: 1\nb: 2\na: 3", "line 3: is not valid YAML .'a' is given twice"),
        ("a: {b: 1, b: 2}", "'b' is given twice"),
        ("{[1]: 2}", "a key is no text or number"),
        ("a: 2001-99-99", "wrong kind"),
        ("a: " + "1" * 5000, "wrong kind"),
        ("a: !!int x", "wrong kind"),
        ("a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("a: !!binary 'x'", "base64"),
        ("<<: [1]", "expected a mapping for merging"),
        ("a: *b", "undefined alias"),
        ("a\0b", "cannot be parsed"),
        ("- a", "expected keys with values, got list"),
    ],
)
def test_refused(text: str, message: str) -> None:
    began = time.process_time()
    with pytest.raises(ResweepError, match=rf"^file.*{message}"):
        parse_yaml(text, "file")
    assert time.process_time() - began < 2


def test_read() -> None:
    text = "base: &base {x: 1, y: [1, 2]}\nhere: *base\nmore: {<<: *base, z: 3}\n"
    base = {"x": 1, "y": [1, 2]}
    assert parse_yaml(text, "file") == {"base": base, "here": base, "more": {**base, "z": 3}}


def test_many_keys_take_no_longer_than_they_must() -> None:
    text = "".join(f"key{at}: {at}\n" for at in range(50_000))
    began = time.process_time()
    assert len(parse_yaml(text, "file")) == 50_000
    assert time.process_time() - began < 10
