"""``resweep judge`` as a user types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from resweep.perception.judging import Judgement
from tests.cli.conftest import Command

MODEL = '''
"""A user's model: bright returns, and others."""
import numpy as np

CLASSES = ("bright", "other")

def split(points):
    return np.where(points[:, 3] > 0.2, 0, 1)

def few(points):
    return np.zeros(3)
'''


@pytest.fixture
def log(resweep: Command, tmp_path: Path, room: Path, drive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sweeps of a sensor that drives through a room, and a model beside them."""
    (tmp_path / "mine.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    done = resweep("simulate", room, "--sensor", "velodyne-vlp-16", "--poses", drive, "-o", "log")
    assert done.status == 0, done.err
    return tmp_path / "log"


def test_a_log_is_judged_in_a_world(resweep: Command, log: Path, tmp_path: Path) -> None:
    done = resweep("judge", log, "--world", "room.obj", "--model", "mine:split", "--sweeps", "0:2", "-o", "judge.json")
    assert done.status == 0, done.err
    assert "negative control" in done.out
    saved = Judgement.load(tmp_path / "judge.json")
    assert saved.settings.sweeps == [0, 1]
    scores = saved.models[0].segmentation
    assert scores is not None
    ours = scores.find("ours")
    assert ours is not None
    assert (ours.agreement.value or 0.0) > 0.9


def test_json_is_the_record(resweep: Command, log: Path) -> None:
    done = resweep("judge", log, "--sim", log, "--model", "mine:split", "--sweeps", "0:1", "--json", "-o", "page.html")
    assert done.status == 0, done.err
    record = json.loads(done.out.splitlines()[-1])
    assert record["format"] == "resweep-judgement"
    assert record["models"][0]["segmentation"]["costs"]["intensities"]["value"] == 0.0
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--model", "mine:split"), "nothing says what is simulated"),
        (("--model", "mine:split", "--world", "room.obj", "--holdout", "1"), "--world and --holdout are given"),
        (("--model", "mine:split", "--world", "room.obj", "--quick"), "--quick: is how a world is built"),
        (("--model", "mine:split", "--world", "scene:court"), "no such scene"),
        (("--model", "mine:split", "--holdout", "x"), "expected sweep numbers"),
        (("--model", "mine:split", "--sim", "log", "--ideal"), "sim was simulated before"),
        (("--model", "mine:none", "--world", "room.obj"), "cannot be imported"),
        (("--model", "mine:few", "--world", "room.obj"), "mine:few"),
        (("--model", "absent.model", "--world", "room.obj"), "does not exist"),
        (("--model", "results.json", "--world", "room.obj"), "recorded sweeps alone"),
        (("--model", "mine:split", "--world", "room.obj", "-o", "judge.pdf"), "a judgement is .html or .json"),
    ],
)
def test_a_mistake_is_one_line(resweep: Command, log: Path, words: tuple[str, ...], complaint: str) -> None:
    done = resweep("judge", log, *words)
    assert done.status == 1
    assert complaint in done.err
    assert done.err.count("error:") == 1
    assert "Traceback" not in done.err


def test_help_shows_examples(resweep: Command) -> None:
    done = resweep("judge", "--help")
    assert done.status == 0
    assert "resweep judge kitti/sequences/00 --holdout 5" in done.out
