"""Open-set models of users: a function or a module's object, and what wrong answers get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import InputError, ResweepError
from resweep.labels import load_labels
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set import OpenSetModel, load_open_set_model, wrap_open_set_function
from resweep.sweep import Sweep

CLASSES = ["road", "unknown", "vehicle"]


@pytest.fixture
def sweep() -> Sweep:
    return Sweep.from_points(np.random.default_rng(0).uniform(-5, 5, (6, 3)))


def test_a_function_is_a_model(sweep: Sweep) -> None:
    model = wrap_open_set_function(lambda points: (np.ones(len(points)), np.arange(len(points))), CLASSES)
    assert isinstance(model, OpenSetModel)
    found = model.find_segments(sweep)
    assert found.kind.tolist() == [1] * 6
    assert found.instance.tolist() == list(range(6))
    labels = load_labels("semantickitti")
    given = [labels.id_of(name) for name in ("car", "road", "other object")]
    assert model.find_truth(np.array(given), labels).tolist() == [2, 0, UNKNOWN]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (np.zeros(6, int), "gives a ndarray; give a pair"),
        ((np.zeros(5), np.zeros(6, int)), r"classes: gives an array of shape \[5\] for 6 returns"),
        ((np.full(6, 3), np.zeros(6, int)), "class number 3; there are 3 classes"),
        ((np.full(6, np.nan), np.zeros(6, int)), "NaN"),
        ((np.zeros(6), np.zeros(5, int)), r"instances: gives an array of shape \[5\]"),
        ((np.zeros(6), np.zeros(6)), "gives float64; give whole numbers"),
        ((np.zeros(6), np.full(6, -1)), "gives numbers from -1 to -1"),
    ],
)
def test_wrong_answers(sweep: Sweep, answer: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        wrap_open_set_function(lambda points: answer, CLASSES, name="mine").find_segments(sweep)


def test_a_function_that_fails(sweep: Sweep) -> None:
    with pytest.raises(InputError, match=r"mine: fails \(ZeroDivisionError"):
        wrap_open_set_function(lambda points: 1 / 0, CLASSES, name="mine").find_segments(sweep)


def test_classes_and_names() -> None:
    with pytest.raises(ResweepError, match="'unknown' among them"):
        wrap_open_set_function(len, ["road", "vehicle"])
    with pytest.raises(ResweepError, match="takes 'sweeps'"):
        wrap_open_set_function(len, CLASSES, takes="sweeps")
    with pytest.raises(ResweepError, match="give a function"):
        wrap_open_set_function(3, CLASSES)  # type: ignore[arg-type]


def test_models_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_open_models.py").write_text(
        "import numpy as np\ndef f(points):\n    return np.zeros(len(points)), np.ones(len(points), int)\n"
        "f.classes = ['unknown', 'road']\ndef bare(points):\n    return points\n"
    )
    assert load_open_set_model("my_open_models:f").find_segments(sweep).instance.tolist() == [1] * 6
    with pytest.raises(InputError, match=r"names no classes; set bare\.classes"):
        load_open_set_model("my_open_models:bare")
    with pytest.raises(InputError, match="cannot be imported"):
        load_open_set_model("my_open_models:absent")
    with pytest.raises(InputError, match="give MODULE:NAME"):
        load_open_set_model("street.model")
