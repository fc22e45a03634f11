"""Every experiment runs from the command line, draws its figure and ends with one JSON object."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# Those whose results other tests need are run once, in the files of those tests.
ALONE = ("a_figure1", "a_transfer")
SLOW = (
    "c_compare",
    "c_heldout",
    "c_losses",
    "c_refine",
    "c_sparse",
    "d_cars",
    "d_intensity",
    "d_judge",
    "d_openset",
    "d_raydrop",
    "d_realism",
    "d_transfer",
)
ELSEWHERE = (
    "a_table1", "b_figure3", "b_figure5", "b_figure7", "b_figure8", "b_figure10", "c_tables", "d_hidden_car",
    "d_motion", "d_objects", "d_search", "d_tables",
)  # fmt: skip


@pytest.mark.parametrize("name", [*ALONE, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_figure_and_last_line(name: str, check_command: Any) -> None:
    check_command(name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_command_is_checked_elsewhere(name: str) -> None:
    calls = [node for node in ast.walk(ast.parse((HERE / f"test_{name}.py").read_text())) if isinstance(node, ast.Call)]
    assert any(ast.unparse(call).startswith(f"check_command('{name}', ") for call in calls)
