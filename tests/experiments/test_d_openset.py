"""Table 8: figures from the counts of sweeps, and their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments import d_openset
from resweep.perception.open_set import Quality

COUNTS = {
    "animals crossing": {"unknown": [1.6, 2, 6, 0], "vehicle": [0.9, 1, 0, 1], "road": [0.9, 1, 0, 0]},
    "objects scattered": {"unknown": [0.8, 1, 1, 3], "road": [0.7, 1, 0, 0]},
    "recorded": {"vehicle": [0.8, 1, 0, 0], "unknown": [0, 0, 5, 0]},
}
SWEEPS: list[dict[str, Any]] = [{"place": "05", "test": test, "counts": counts} for test, counts in COUNTS.items()]


def test_rows_add_up_the_sweeps_of_a_test() -> None:
    rows = {(row["test"], row["metric"]): row for row in d_openset.make_rows("energy", SWEEPS)}
    assert rows["animals crossing", "UQ"]["value"] == pytest.approx(0.8)
    assert rows["all scenes", "UQ"]["value"] == pytest.approx(2.4 / 6)
    assert rows["all scenes", "UQ"]["objects"] == 6
    assert rows["all scenes", "unknown PQ"]["value"] == pytest.approx(2.4 / (3 + 0.5 * 10))
    assert rows["all scenes", "road PQ"]["value"] == pytest.approx(0.8)
    assert rows["all scenes", "UQ"]["paper"] == 0.549
    assert rows["recorded", "vehicle PQ"]["value"] == pytest.approx(0.8)
    assert rows["recorded", "vehicle PQ"]["paper"] == 0.935
    assert rows["construction blocking", "UQ"]["value"] is None
    assert ("recorded", "UQ") not in rows


def test_intervals_hold_the_figure_and_narrow_with_sweeps() -> None:
    rng = np.random.default_rng(0)
    items = [Quality(0.8 * tp, tp, 0, 5 - tp) for tp in rng.integers(1, 5, 64).tolist()]
    few, many = (d_openset.find_interval([items[: count // 2], items[count // 2 : count]], "uq") for count in (8, 64))
    for value, low, high in (few, many):
        assert low is not None
        assert high is not None
        assert low < value < high
    assert many[2] - many[1] < 0.6 * (few[2] - few[1])
    assert d_openset.find_interval([[Quality()]], "uq") == (None, None, None)
