"""Damaged runs end in one line, and no command that is no number reaches a vehicle."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resweep as rs
from resweep.drive import Loop, LoopConfig, Rig
from resweep.drive.command import BRAKE
from resweep.drive.run import FILE
from resweep.errors import InputError, ResweepError
from resweep.worlds import World
from tests.damaged_records import set_at


@pytest.fixture(scope="module")
def saved(yard: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("saved") / "run"
    settings = LoopConfig(duration_s=1.0)
    loop = Loop(yard, "passenger-car", Rig(), lambda seen: (1.0, 0.0), start=(0, 0, 0), config=settings)
    loop.run(folder)
    data: dict[str, Any] = json.loads((folder / FILE).read_text())
    return data


@pytest.fixture
def record(saved: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(saved))
    return copy


def load(record: Any, folder: Path) -> rs.drive.Run:
    (folder / FILE).write_text(record if isinstance(record, str) else json.dumps(record))
    return rs.drive.load_run(folder)


DAMAGE: list[tuple[str, Any, str]] = [
    ("outcome", "flew", "outcome"),
    ("states", [], "states"),
    ("states.1", [0.1], r"states\[1\]"),
    ("states.1.5", "fast", r"states\[1\]\[5\]"),
    ("states.1.5", 1e300, r"states\[1\]\[5\]"),
    ("states.1.0", 0.0, "later time"),
    ("state_fields", ["x_m"], "state_fields"),
    ("decisions.0.command", [1.0], "command"),
    ("decisions.0.command", [], "command"),
    ("decisions.0.command", [1.0, 2.0, 3.0], "command"),
    ("decisions.0.command", ["1", 2.0], "command"),
    ("decisions.0.command", "jump", "command"),
    ("decisions.0.command", None, "command"),
    ("decisions.0.end", 5, "end"),
    ("decisions", {}, "decisions"),
    ("events", [{"kind": "late"}], r"events\[0\].time_s: missing"),
    ("actors", {"a": {"min_distance_m": -1, "min_ttc_s": None, "first_seen_s": None}}, "min_distance_m"),
    ("figures", {"path_m": "far"}, "figures.path_m"),
    ("settings.rig.lidars", [{"name": "../../etc"}], "name"),
    ("settings.rig", 5, "settings.rig"),
    ("settings.start", [0.0, 0.0], "settings.start"),
    ("settings.seed", -1, "settings.seed"),
    ("more", 5, "unknown key"),
]


@pytest.mark.parametrize(("place", "value", "words"), DAMAGE)
def test_a_wrong_value_is_one_line_that_names_file_and_field(
    place: str, value: Any, words: str, record: dict[str, Any], tmp_path: Path
) -> None:
    set_at(record, place, value)
    with pytest.raises(InputError, match=rf"run\.json: damaged, .*{words}.*run the drive again") as caught:
        load(record, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
@pytest.mark.parametrize("place", ["figures", "states"])
def test_figures_that_are_no_numbers_are_refused(
    place: str, number: str, record: dict[str, Any], tmp_path: Path
) -> None:
    if place == "figures":
        record["figures"]["path_m"] = 12345.5
    else:
        record["states"][1][5] = 12345.5
    with pytest.raises(InputError, match=r"run\.json: cannot be read"):
        load(json.dumps(record).replace("12345.5", number), tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_only_files_are_read(make: Callable[[Path], Any], tmp_path: Path) -> None:
    from resweep.cli.shared.driving import drive_run, is_run

    make(tmp_path / FILE)
    assert is_run(str(tmp_path))
    with pytest.raises(InputError, match=r"run\.json: is a (FIFO|device|folder)"):
        drive_run(tmp_path, tmp_path / "out")


def test_damaged_settings_are_told_when_a_run_is_driven_again(record: dict[str, Any], tmp_path: Path) -> None:
    from resweep.drive.safety.campaign import replay_run

    for name, value, words in (
        ("vehicle", {}, "model: missing"),
        ("config", {"duration_s": "x"}, "duration_s: .*number"),
        ("scenario", {"ego": []}, "ego"),
        ("reactive", {"a": {"speed": 1}}, "speed: unknown key"),
    ):
        changed = {**record, "settings": {**record["settings"], "world": "hidden-car:street 0", name: value}}
        load(changed, tmp_path)
        with pytest.raises(ResweepError, match=rf"run\.json: its settings are damaged \(.*{words}") as caught:
            replay_run(tmp_path, tmp_path / "out")
        assert "\n" not in str(caught.value)


def test_a_good_run_is_itself_again(record: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads(load(record, tmp_path).to_bytes()) == record


@pytest.mark.parametrize(
    "command",
    [(math.nan, 0.0), (0.0, math.inf), (1.0,), (1.0, 0.0, 0.0), "faster"],
    ids=["nan", "inf", "1", "3", "text"],
)
def test_a_command_that_is_no_command_changes_nothing(command: Any, yard: World) -> None:
    loop = Loop(yard, "passenger-car", Rig(), start=(0, 0, 0), config=LoopConfig(duration_s=1.0))
    episode, other = loop.episode(), loop.episode()
    episode.begin()
    other.begin()
    with pytest.raises(ResweepError, match="command: expected"):
        episode.step(command)
    for driven in (episode, other):
        driven.step((1.0, 0.1))
        driven.step(BRAKE)
    assert episode.states == other.states
