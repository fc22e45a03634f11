"""Damaged reports end in one line, whatever is done with them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep import InputError, Sweep
from resweep.evaluation import Report, evaluate
from resweep.evaluation.report.side_by_side import SideBySide
from tests.damaged_records import set_at


@pytest.fixture
def record(make_sweep: Callable[..., Sweep], rng: np.random.Generator) -> dict[str, Any]:
    ranges = rng.uniform(10, 30, 720)
    report = evaluate(make_sweep(ranges + 0.05), make_sweep(ranges))
    data: dict[str, Any] = json.loads(report.to_json())
    return data


def load(record: Any, folder: Path) -> Report:
    (folder / "report.json").write_text(record if isinstance(record, str) else json.dumps(record))
    return Report.load(folder / "report.json")


DAMAGE: list[tuple[str, Any, str]] = [
    ("metrics.c2c_m", "0.1", "metrics.c2c_m: .*number"),
    ("metrics.c2c_m", [0.1], "metrics.c2c_m"),
    ("metrics.c2c_m", True, "metrics.c2c_m"),
    ("metrics.c2c_m", -0.1, "c2c_m is -0.1"),
    ("metrics.return_recall", 1.5, "return_recall is 1.5"),
    ("metrics.c2c_m", 1e300, "metrics.c2c_m"),
    ("metrics.nonsense", 1.0, "metric 'nonsense' is unknown"),
    ("metrics", [], "metrics: .*dictionary"),
    ("per_sweep", {}, "per_sweep: .*list"),
    ("per_sweep.0.real", None, r"per_sweep\[0\].real"),
    ("per_sweep.0.c2c_m", "x", r"per_sweep\[0\].c2c_m"),
    ("per_range.0.to_m", "far", r"per_range\[0\].to_m"),
    ("per_range.0.beams", 0.5, r"per_range\[0\].beams"),
    ("range_errors.histogram_counts", [1.0], "histogram_counts"),
    ("range_errors.cdf_at_m", [1.0, 0.5], "cdf_at_m"),
    ("range_errors.cdf_share", None, "range_errors.cdf_share"),
    ("ground.right", [], "one length"),
    ("ground.x_m.0", 1e14, "cells"),
    ("notes", "none", "notes: .*list"),
    ("notes", [3], r"notes\[0\]"),
    ("settings.sim", 5, "settings.sim"),
    ("settings.worst_rows", [9], "worst_rows"),
    ("units.c2c_m", "furlong", "c2c_m is in 'furlong'"),
    ("more", 1, "more: unknown key"),
]


@pytest.mark.parametrize(("place", "value", "words"), DAMAGE)
def test_a_wrong_value_is_one_line_that_names_file_and_field(
    place: str, value: Any, words: str, record: dict[str, Any], tmp_path: Path
) -> None:
    set_at(record, place, value)
    with pytest.raises(InputError, match=rf"report\.json: damaged, .*{words}.*evaluate again") as caught:
        load(record, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["from_m", "recovered_0.10m", "surplus"])
def test_a_missing_bin_is_named(name: str, record: dict[str, Any], tmp_path: Path) -> None:
    del record["per_range"][0][name]
    with pytest.raises(InputError, match=rf"per_range\[0\]\.{name}: missing"):
        load(record, tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format": "resweep-report", "version": NaN}', "NaN is no number of JSON"),
        ('{"format": "resweep-report", "version": 1e999}', "too large"),
        ('{"format": "resweep-report", "format": 1}', "given twice"),
        ("[" * 200 + "]" * 200, "within each other"),
        ("[" * 100_000, "within each other"),
    ],
)
def test_what_is_no_json_is_told(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"report.json: not JSON .*{words}"):
        load(text, tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_only_files_are_read(make: Callable[[Path], Any], record: dict[str, Any], tmp_path: Path) -> None:
    make(tmp_path / "other.json")
    load(record, tmp_path)
    with pytest.raises(InputError, match=r"other\.json: cannot be read \(is a (FIFO|device|folder)"):
        SideBySide.load([tmp_path / "report.json", tmp_path / "other.json"])


def test_a_good_report_is_itself_again(record: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads(load(record, tmp_path).to_json()) == record


def test_ranges_of_several_reports_are_matched_by_their_bins(record: dict[str, Any], tmp_path: Path) -> None:
    """A report has no row where it has no beam: rows of one place need not be of one range."""
    whole = load(record, tmp_path)
    (tmp_path / "whole.json").write_text(whole.to_json())
    del record["per_range"][0]
    load(record, tmp_path)
    page = SideBySide.load([tmp_path / "whole.json", tmp_path / "report.json"]).save(tmp_path / "both.html").read_text()
    table = page[page.index("By range") :]
    assert table[: table.index("</table>")].count("<tr><td>") == len(whole.per_range) > 1
    assert "<td>10 to 20 m</td>" in table
    assert '<td class="n">–</td>' in table[: table.index("20 to")]
