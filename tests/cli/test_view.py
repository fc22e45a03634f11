"""``resweep view``: pictures of one sweep of a log, and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def log(room: Path, resweep: Any) -> str:
    args = ["-p", "0,0,0", "-o", "out", "--sweeps", "2"]
    assert resweep("simulate", room, "-s", "velodyne-vlp-16", *args).status == 0
    return "out"


def test_both_pictures_are_drawn(log: str, resweep: Any) -> None:
    result = resweep("view", log, "--sweep", "-1", "-o", "pictures/last.png")
    assert (result.status, result.err) == (0, "")
    for name in ("pictures/last.png", "pictures/last-range.png"):
        assert name in result.out
        assert Path(name).read_bytes().startswith(PNG)


def test_a_page_is_saved(log: str, resweep: Any) -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    result = resweep("view", log, "out/000001.sweep", "--save", "page.html", "--port", "8500")
    assert (result.status, result.err) == (0, "")
    assert result.out.splitlines()[1].split()[:2] == ["page", "page.html"]
    assert Path("page.html").stat().st_size > 10_000
    assert "exists" in resweep("view", log, "--save", "page.html").err


def test_mistakes_are_one_line(log: str, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "old-range.png").write_text("a picture")
    before = sorted(tmp_path.rglob("*"))
    for args, message in (
        (["absent"], "absent: no such file"),
        ([log, "--sweep", "2", "-o", "a.png"], "holds 2 sweeps, no sweep 2"),
        ([log, "--sweep", "2"], "holds 2 sweeps, no sweep 2"),
        ([log, "--save", "page.txt"], "page.txt: a page is an .html file"),
        ([log, "--save", "page.html", "-o", "a.png"], "leave one of them out"),
        ([log, log, "-o", "a.png"], "draws one log"),
        ([log, log, log], "3 logs; give one, or two"),
        ([log, "--host", "203.0.113.7"], "cannot be bound"),
        ([log, "-o", "a.jpg"], "a.jpg: pictures are PNG"),
        ([log, "-o", "old.png"], "old-range.png: exists"),
        ([log, "-o", "old-range.png/a.png"], "cannot be written"),
        (["room.obj", "-o", "a.png"], "room.obj"),
        (["hidden-car"], "shown in a world"),
    ):
        result = resweep("view", *args)
        assert (result.status, result.err.count("\n")) == (1, 1)
        assert message in result.err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "old-range.png").read_text() == "a picture"
