"""Every experiment runs from the command line, draws its figure and ends with one JSON object."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from experiments.presenting import main


@pytest.mark.parametrize(
    "name",
    [
        "a_figure1",
        "a_table1",
        "a_transfer",
        "b_figure3",
        "b_figure5",
        "b_figure7",
        "b_figure8",
        "c_compare",
        "c_losses",
        "c_refine",
        "c_sparse",
        "c_tables",
        "d_motion",
        "d_objects",
        pytest.param("d_raydrop", marks=pytest.mark.slow),
        pytest.param("d_realism", marks=pytest.mark.slow),
    ],
)
def test_figure_and_last_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"experiments.{name}")
    main(name, "", module.run, module.show, module.draw, ["--fast", "--json", "-o", str(tmp_path)])
    written = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert written["experiment"] == name
    assert written["fast"] is True
    assert not any(key.startswith("_") for key in written)
    assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
