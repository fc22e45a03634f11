"""Plans of more runs than a dataset may have are refused before any of them is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from resweep.dataset.dataset_plan import MAX_RUNS, list_runs, load_plan
from resweep.errors import ResweepError
from resweep.scenario import load_scenario

PLAN = "worlds: [scene:street]\nsensors: [velodyne-vlp-16]\nscenarios: [animals, construction]\nvariants: {variants}\n"


@pytest.mark.parametrize("variants", ["1000000000", "1e300", ".inf", "10001"])
def test_variants(variants: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(variants=variants))
    with pytest.raises(ResweepError, match=r"plan\.yaml: variants: "):
        load_plan(tmp_path / "plan.yaml")


def test_runs(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(variants=MAX_RUNS // 2 + 1))
    with pytest.raises(ResweepError, match=rf"variants: {MAX_RUNS + 2} runs .* {MAX_RUNS} at most"):
        list_runs(load_plan(tmp_path / "plan.yaml"))
    (tmp_path / "plan.yaml").write_text(PLAN.format(variants=3))
    assert len(list_runs(load_plan(tmp_path / "plan.yaml"))) == 6


@pytest.mark.parametrize("word", ["x" * 5000, "a\0b", "x" * 300 + ".yaml"])
@pytest.mark.parametrize("field", ["worlds", "sensors", "scenarios"])
def test_names_that_no_file_can_have(field: str, word: str, tmp_path: Path) -> None:
    lines = PLAN.format(variants=1).splitlines()
    changed = [f'{field}: ["{word}"]'.replace("\0", "\\0") if line.startswith(field) else line for line in lines]
    (tmp_path / "plan.yaml").write_text("\n".join(changed))
    with pytest.raises(ResweepError):
        list_runs(load_plan(tmp_path / "plan.yaml"))


def test_what_is_named_thousands_of_times_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resweep.dataset import dataset_plan

    read: list[str] = []

    def load(name: str) -> object:
        read.append(name)
        return load_scenario(name)

    monkeypatch.setattr(dataset_plan, "load_scenario", load)
    text = PLAN.format(variants=1).replace("animals, construction", ", ".join(["animals"] * MAX_RUNS))
    (tmp_path / "plan.yaml").write_text(text)
    assert len(list_runs(load_plan(tmp_path / "plan.yaml"))) == MAX_RUNS
    assert read == ["animals"]


def test_a_plan_of_more_names_than_runs(tmp_path: Path) -> None:
    text = PLAN.format(variants=1).replace("animals, construction", ", ".join(["animals"] * (MAX_RUNS + 1)))
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(ResweepError, match=r"plan\.yaml: scenarios: tuple should have at most 10000 items"):
        load_plan(tmp_path / "plan.yaml")


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ("{count: [1, 9223372036854775808], lanes: [[[0, 0], [9, 0]]]}", r"traffic.count\[1\]: .*six candidates"),
        ("{count: [1, 2], lanes: [[[0], [9]]]}", r"traffic.lanes\[0\]\[0\]: expected \[x, y\]"),
        ("{count: [1, 2], lanes: [[[0, 0], [9, 0, 1]]]}", r"traffic.lanes\[0\]\[1\]: expected \[x, y\]"),
        ("{count: [1, 2], lanes: [[[0, 0], [4.0e+7, 0]]]}", r"traffic.lanes\[0\]: is 40,000,000 m long"),
        (
            "{count: [1, 2], lanes: [[[0, 0], [9, 0]]], categories: []}",
            "traffic.categories: tuple should have at least 1",
        ),
        ("{count: [1, 2], lanes: [[[0, 0], [9, 0]]], speed_mps: [1, 3.5e+38]}", r"traffic.speed_mps\[1\]: .*340 m/s"),
    ],
)
def test_traffic_that_cannot_be(traffic: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(variants=1) + f"traffic: {traffic}\n")
    with pytest.raises(ResweepError, match=message):
        load_plan(tmp_path / "plan.yaml")
