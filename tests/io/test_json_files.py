"""JSON of datasets with values of the wrong kind: the error names the file, the place and what was expected."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.io.datasets.json_files import JsonValue, is_inside, read_json

KINDS: list[Any] = [None, 5, "x", [], {}, [[]], True, 1e400, [None, None, None], {"x": {}}]


def change_values(value: Any, change: Callable[[Any], Any], skip: int) -> Any:
    """``value`` with one value within it, the ``skip``-th, changed; None if there are fewer."""
    places: list[tuple[Any, Any]] = []

    def gather(item: Any) -> None:
        for key, inner in item.items() if isinstance(item, dict) else enumerate(item):
            places.append((item, key))
            if isinstance(inner, dict | list):
                gather(inner)

    copy = json.loads(json.dumps(value))
    gather(copy)
    if skip >= len(places):
        return None
    item, key = places[skip]
    item[key] = change(item[key])
    return copy


def make(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    def test(module: str) -> Any:
        return importlib.import_module(f"tests.io.test_{module}")

    if name == "argoverse1":
        return test("argoverse").make_argoverse1(folder / "log"), {}
    if name == "pandaset":
        pytest.importorskip("pandas")
        return test("pandaset").make_sequence(folder / "001"), {}
    return test("nuscenes").make_dataset(folder / "nuscenes"), {"scene": "scene-0061"}


def is_refused(path: Path, options: dict[str, Any]) -> bool:
    """Whether a log is refused in one short error, rather than read; anything else escapes."""
    try:
        open_log(path, empty_beams=False, **options)[0]
    except ResweepError as error:
        return len(str(error)) < 600
    return False


@pytest.mark.parametrize("name", ["argoverse1", "pandaset", "nuscenes"])
def test_wrong_kinds_and_missing_keys(name: str, tmp_path: Path) -> None:
    path, options = make(name, tmp_path)
    refused: list[bool] = []
    for file in sorted(path.rglob("*.json")):
        text = file.read_text()
        for skip, kind in enumerate(KINDS * 3):
            changed = change_values(json.loads(text), lambda old, kind=kind: kind, 3 * skip + len(refused) % 3)
            if changed is None:
                break
            file.write_text(json.dumps(changed))
            refused.append(is_refused(path, options))
        for whole in ("[" * 100_000, "{}", "[]", "[5]", "null", '{"a": 1}', "\xff"):
            file.write_text(whole, encoding="latin1")
            refused.append(is_refused(path, options))
        file.write_text(text)
    assert not is_refused(path, options)
    assert sum(refused) > len(refused) / 3


def test_errors_say_where_and_what(tmp_path: Path) -> None:
    file = tmp_path / "poses.json"
    file.write_text('[{"position": {"x": 1.0, "y": "here"}, "name": 5}]')
    (row,) = read_json(file).items()
    assert row.part("position").part("x").number() == 1.0
    with pytest.raises(ResweepError, match=r'poses\.json, \[0\]\.position\.y: expected a finite number, got "here"'):
        row.part("position").numbers("x", "y")
    with pytest.raises(ResweepError, match=r"poses\.json, \[0\]\.position: no 'z'; it has x, y"):
        row.part("position").part("z")
    with pytest.raises(ResweepError, match=r"\[0\]\.name: expected a text, got 5"):
        row.part("name").text()
    with pytest.raises(ResweepError, match=r"\[0\]: expected a list, got dict"):
        row.numbers(count=3)
    with pytest.raises(ResweepError, match="true or false"):
        JsonValue(1, "file").flag()


def test_paths_that_lead_outside() -> None:
    for name in ("a/b.bin", "samples/LIDAR_TOP/n015-2018.pcd.bin", "a..b"):
        assert is_inside(name)
    for name in ("/etc/passwd", "../a", "a/../../b", "..\\a", "C:\\a", "\\\\host\\a"):
        assert not is_inside(name)
