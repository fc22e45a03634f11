"""The pages in docs/ say what the models say: their tables are made from them, their examples load."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import resweep as rs
from resweep.cluster import ClusterSpec
from resweep.config import validate
from resweep.dataset import DatasetPlan
from resweep.dataset.dataset_plan import list_runs
from resweep.scenario.bank import _list_facts
from resweep.scenario.builtin import builtin_bank
from resweep.schema import list_models
from tests.docs.written import load_script

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MODELS: dict[str, Any] = {
    "sensor.md": rs.Sensor,
    "scenario.md": rs.Scenario,
    "plan.md": DatasetPlan,
    "cluster.md": ClusterSpec,
}


def tables() -> Any:
    """The module docs/write_tables.py."""
    return load_script("write_tables")


@pytest.mark.parametrize("page", MODELS)
def test_every_model_of_a_page_has_a_table(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = {name.rsplit(".", 1)[1] for name in re.findall(r"<!-- fields: ([\w.]+) -->", text)}
    assert shown == {model.__name__ for model in list_models(MODELS[page])}


def test_a_stale_table_would_be_found() -> None:
    text = (DOCS / "plan.md").read_text(encoding="utf-8")
    assert tables().render(text.replace("| `variants` |", "| `varieties` |")) == text


@pytest.mark.parametrize("page", MODELS)
def test_examples_load(page: str) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for text in examples:
        made = validate(yaml.safe_load(text), MODELS[page], page)
        if isinstance(made, DatasetPlan):
            assert len(list_runs(made)) == 20


def test_the_example_of_a_scenario_can_be_placed() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "scenario.md").read_text(encoding="utf-8"), re.DOTALL)
    _, actors = rs.Scenario(**yaml.safe_load(text)).place(rs.scenes.street(seed=0))
    assert len(actors) == 3


def test_the_fields_of_a_bank_are_all_there() -> None:
    bank = builtin_bank()
    text = (DOCS / "bank.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(_list_facts(bank[next(iter(bank))]))


def test_the_figures_of_learning_are_those_that_were_measured() -> None:
    learning = load_script("write_learning")
    text = learning.PAGE.read_text(encoding="utf-8")
    assert learning.render(text) == text, "run python docs/write_learning.py"


def test_the_page_of_large_places_is_what_its_script_writes() -> None:
    scale = load_script("write_scale")
    tiles, grass = scale.read_figures()
    assert scale.PAGE.read_text(encoding="utf-8") == scale.render(tiles, grass), "run python docs/write_scale.py"
    slower = {**tiles, **{key: 2 * value for key, value in tiles.items() if key.startswith("processor_s")}}
    assert scale.render(slower, grass) != scale.render(tiles, grass)


def test_more_workers_take_less_time_until_something_else_is_full() -> None:
    scale = load_script("write_scale")
    work = scale.Work("test", 100, 1e6, 0.05, 1e12, 1e12, 1e11)
    seconds = [work.row(workers)["seconds"] for workers in (1, 10, 100, 1000)]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] == pytest.approx(1e6)
    # Ten workers for each unit: Amdahl's law with a serial share of a twentieth.
    assert work.compute_s(1000) == (pytest.approx(1e4 * (0.05 + 0.95 / 10)), 10)
    assert work.row(100_000)["limit"] == "the scheduler"
    assert work.row(work.most_workers())["efficiency"] >= 0.5 > work.row(3 * work.most_workers())["efficiency"]


def test_files_that_the_architecture_names_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folder = ROOT
    named = re.findall(r"`([\w/]+\.(?:py|cpp))`", text)
    assert len(named) > 30
    for name in named:  # a bare name is a file beside the one before it
        places = [base / name for base in (ROOT, ROOT / "src" / "resweep", folder)]
        found = [path for path in places if path.is_file()]
        assert found, name
        folder = found[0].parent


def test_every_decision_is_in_the_index() -> None:
    folder = DOCS / "decisions"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (folder / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "index.md")
