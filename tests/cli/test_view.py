"""``resweep view``: pictures of one sweep of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resweep.io import open_log

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def log(room: Path, resweep: Any) -> str:
    words = ["-p", "0,0,0", "-o", "out", "--sweeps", "2"]
    assert resweep("simulate", room, "-s", "velodyne-vlp-16", *words).status == 0
    return "out"


def test_both_pictures_are_drawn(log: str, resweep: Any) -> None:
    ended = resweep("view", log, "--sweep", "-1", "-o", "pictures/last.png")
    assert (ended.status, ended.err) == (0, "")
    for name in ("pictures/last.png", "pictures/last-range.png"):
        assert name in ended.out
        assert Path(name).read_bytes().startswith(PNG)


def test_a_file_is_drawn_under_its_own_name(log: str, resweep: Any) -> None:
    assert len(open_log("out/000001.sweep")) == 1
    assert resweep("view", "out/000001.sweep").out.split() == ["000001.sweep.png", "000001.sweep-range.png"]


def test_mistakes_are_one_line(log: str, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "old-range.png").write_text("a picture")
    before = sorted(tmp_path.rglob("*"))
    for words, message in (
        (["absent"], "absent: no such file"),
        ([log, "--sweep", "2"], "holds 2 sweeps, no sweep 2"),
        ([log, "-o", "a.jpg"], "a.jpg: pictures are PNG"),
        ([log, "-o", "old.png"], "old-range.png: exists"),
        ([log, "-o", "old-range.png/a.png"], "cannot be written"),
        (["room.obj"], "room.obj"),
    ):
        ended = resweep("view", *words)
        assert (ended.status, ended.err.count("\n")) == (1, 1)
        assert message in ended.err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "old-range.png").read_text() == "a picture"
