"""Pages that scripts write are what these would write now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resweep.drive import load_rig
from resweep.sensors import sensor_names
from tests.docs.pages import DOCS, PAGES, find_blocks, read_text
from tests.docs.written import load_script


@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- fields:" in read_text(page)])
def test_tables_of_fields_are_those_of_the_models(page: str) -> None:
    assert load_script("write_tables").render(read_text(page)) == read_text(page), "run python docs/write_tables.py"


def test_the_rig_of_the_page_of_closed_loops_loads(tmp_path: Path) -> None:
    (block,) = [block for block in find_blocks("drive.md") if block.language == "yaml"]
    (tmp_path / "rig.yaml").write_text(block.text, encoding="utf-8")
    assert [mount.name for mount in load_rig(tmp_path / "rig.yaml").lidars] == ["roof", "nose"]


def test_the_catalog_is_that_of_the_package() -> None:
    catalog = load_script("write_catalog")
    assert catalog.PAGE.read_text(encoding="utf-8") == catalog.render(), "run python docs/write_catalog.py --draw"
    assert {path.stem for path in catalog.PICTURES.glob("*.webp")} == set(sensor_names())


def test_a_pattern_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = load_script("write_catalog")
    monkeypatch.setattr(catalog, "PICTURES", tmp_path)
    assert catalog.draw("sick-lms-291-s05").stat().st_size > 2000


@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- figures:" in read_text(page)])
def test_figures_are_those_that_were_saved(page: str) -> None:
    assert load_script("write_figures").render(read_text(page)) == read_text(page), "run python docs/write_figures.py"


def test_other_figures_make_another_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_script("write_figures")
    before = script.make_table("benchmarks", "grassland")
    saved = json.loads((script.ROOT / "benchmarks" / "figures" / "grassland.json").read_text(encoding="utf-8"))
    (tmp_path / "benchmarks" / "figures").mkdir(parents=True)
    changed = {**saved, "bytes_per_volume": 2 * saved["bytes_per_volume"]}
    (tmp_path / "benchmarks" / "figures" / "grassland.json").write_text(json.dumps(changed))
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert script.make_table("benchmarks", "grassland") != before
    assert "Not measured yet" in script.make_table("benchmarks", "tiles")


def test_every_table_and_picture_of_an_experiment_is_used() -> None:
    script = load_script("write_figures")
    texts = "".join(read_text(page) for page in PAGES)
    for name in script.ROWS:
        assert f"<!-- figures: {name} -->" in texts
        folder, stem = name.split("/")
        assert (script.ROOT / folder / "figures" / f"{stem}.json").is_file()
    for name in script.DRAWN:
        assert (DOCS / "images" / "experiments" / f"{name}.webp").is_file()
        assert f"images/experiments/{name}.webp)" in texts
