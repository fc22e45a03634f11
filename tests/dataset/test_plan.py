"""Plans of more runs than a dataset may have are refused before any of them is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from resweep.dataset.dataset_plan import MAX_RUNS, list_runs, load_plan
from resweep.errors import ResweepError

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
