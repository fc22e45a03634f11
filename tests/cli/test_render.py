"""``resweep render``: pictures and films of worlds, logs and scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image


def pixels(path: str | Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def test_a_world_is_drawn_by_every_camera(room: Path, resweep: Any) -> None:
    for camera in ("pinhole", "panoramic", "above"):
        args = ["--camera", camera, "--size", "64x32", "--from", "1,2,3", "--view", "depth", "-o", f"{camera}.png"]
        result = resweep("render", room, *args)
        assert (result.status, result.err) == (0, "")
        assert f"picture  {camera}.png" in result.out
        shown = pixels(f"{camera}.png")
        assert shown.shape == (32, 64, 3)
        # A room is all around, and depth is bright. From above there is air beside it, and its roof is level.
        if camera == "above":
            assert (shown == shown[16, 32]).all(axis=2).mean() == pytest.approx(0.46, abs=0.06)
        else:
            assert (shown.max(axis=2) > 60).mean() > 0.9


def test_a_log_and_a_film_of_it(room: Path, drive: Path, resweep: Any) -> None:
    assert resweep("simulate", room, "-s", "velodyne-vlp-16", "-p", drive, "-o", "out").status == 0
    result = resweep(
        "render", "out", "--sweep", "1", "--size", "80x50", "--from", "0,0,0", "--at", "9,0,0", "-o", "a.png"
    )
    assert (result.status, result.err) == (0, "")
    assert 0.01 < (pixels("a.png").max(axis=2) > 90).mean() < 0.9
    args = ["--along", "out", "--frames", "3", "--size", "40x30", "--samples", "1"]
    assert resweep("render", room, *args, "-o", "film.gif").status == 0
    with Image.open("film.gif") as film:
        assert (film.n_frames, film.size) == (3, (40, 30))


def test_a_scenario_is_drawn_in_its_world(resweep: Any) -> None:
    args = ["--world", "scene:street", "--size", "96x54", "--samples", "1", "--time", "0.5"]
    Path("own.yaml").write_text(
        "ego: {lane: [[-40, -1.5], [40, -1.5]], speed_mps: 8}\n"
        "duration_s: 1\n"
        "actors: [{name: deer, asset: deer, at: [0, 0]}]\n"
    )
    shots = []
    for second in ("0.0", "0.9"):
        name = f"shot-{second}.png"
        view = ["--from", "-8,0,3", "--at", "0,0,0.5", "--view", "label", "-o", name]
        result = resweep("render", "own.yaml", *args[:-1], second, *view)
        assert (result.status, result.err) == (0, "")
        shots.append(pixels(name))
    assert (shots[0] == shots[1]).all()  # the deer stands still
    assert resweep("render", "scene:street", *args[2:6], *view[:-1], "empty.png").status == 0
    assert (pixels("empty.png") != shots[0]).any(axis=2).sum() > 20


def test_mistakes_are_one_line(room: Path, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "old.png").write_text("a picture")
    for args, message in (
        (["absent", "-o", "a.png"], "absent: no such file"),
        ([room, "-o", "a.jpg"], "a.jpg: pictures are .png"),
        ([room, "-o", "old.png"], "old.png: exists"),
        ([room, "-o", "old.png/a.png"], "cannot be written"),
        ([room, "-o", "a.png", "--view", "dephth"], "depth"),
        ([room, "-o", "a.png", "--camera", "fisheye"], "--camera 'fisheye'"),
        ([room, "-o", "a.png", "--size", "big"], "--size 'big'"),
        ([room, "-o", "a.png", "--size", "0x5"], "width"),
        ([room, "-o", "a.png", "--fov", "190"], "less than 179 degrees"),
        ([room, "-o", "a.png", "--from", "1,2"], "--from '1,2'"),
        ([room, "-o", "a.png", "--view", "colour"], "no primitive of the world has a colour"),
        ([room, "-o", "a.gif", "--along", "1,2,3"], "is one place"),
        (["hidden-car", "-o", "a.png"], "give that world too"),
        (["velodyne-vlp-16", "-o", "a.png"], "is a sensor"),
    ):
        result = resweep("render", *args)
        assert (result.status, result.err.count("\n")) == (1, 1), result.err
        assert message in result.err
    assert (tmp_path / "old.png").read_text() == "a picture"


@pytest.mark.parametrize(("module", "args"), [("imageio_ffmpeg", ["render", "scene:street", "-o", "a.mp4"]),
                                                ("viser", ["view", "scene:street"])])  # fmt: skip
def test_a_missing_extra_is_named(resweep: Any, monkeypatch: pytest.MonkeyPatch, module: str, args: list[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    result = resweep(*args)
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert "pip install 'resweep[viewer]'" in result.err
