"""The notebooks run from top to bottom, and what they print is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.docs.written import load_script

nbformat = pytest.importorskip("nbformat", reason="needs the extra 'docs'")
pytest.importorskip("nbclient", reason="needs the extra 'docs'")
pytest.importorskip("ipykernel", reason="needs the extra 'docs'")

FOLDER = ROOT / "examples" / "notebooks"


def run(name: str, folder: Path) -> str:
    """What a notebook prints; an error in a cell fails the test."""
    notebook: Any = load_script("write_notebooks").execute(FOLDER / f"{name}.ipynb", folder)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    return "".join(output.get("text", "") for output in outputs)


def figures(pattern: str, text: str) -> list[float]:
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return [float(group) for group in found.groups()]


def test_every_notebook_is_run_here() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    names = [path.stem for path in FOLDER.glob("*.ipynb")]
    assert len(names) == 3
    assert [name for name in names if f'run("{name}"' not in tests] == []


@pytest.mark.slow
def test_another_sensor(tmp_path: Path) -> None:
    text = run("another-sensor", tmp_path)
    assert figures(r"range_median_m: ([\d.]+)", text)[0] < 0.05
    assert figures(r"return_recall: ([\d.]+)", text)[0] > 0.9
    returned, unknown = figures(r"RETURN: ([\d.]+)%[\s\S]*UNKNOWN: ([\d.]+)%", text)
    assert returned > 50
    assert unknown > 1  # the other sensor looks lower and higher than the one that recorded


@pytest.mark.slow
def test_vegetation(tmp_path: Path) -> None:
    text = run("vegetation", tmp_path)
    real, simulated = figures(r"returns from it: ([\d.]+) recorded, ([\d.]+) simulated", text)
    assert simulated == pytest.approx(real, abs=0.2)
    assert figures(r"beam by beam: ([\d.]+)", text)[0] > 0.5


def test_drive(tmp_path: Path) -> None:
    text = run("drive", tmp_path)
    assert "by LiDAR: time after" in text
    assert "blind: collision after" in text


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_stored_notebooks_are_tidy_and_small(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < 150_000
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}
