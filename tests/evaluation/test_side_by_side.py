"""Reports side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from resweep import ResweepError, Sweep
from resweep.cli.verbs.compare import compare as verb
from resweep.evaluation import evaluate
from resweep.evaluation.report.side_by_side import SideBySide
from resweep.log import Log

MakeSweep = Callable[..., Sweep]


@pytest.fixture
def reports(make_sweep: MakeSweep, tmp_path: Path) -> list[Path]:
    """Errors of 5 cm, -2 cm and 5 cm again."""
    places = [tmp_path / "first.json", tmp_path / "second.json", tmp_path / "other" / "first.json"]
    for place, simulated in zip(places, (20.05, 19.98, 20.05), strict=True):
        evaluate(make_sweep(simulated), make_sweep(20.0)).save(place)
    return places


def test_the_best_is_marked_by_what_better_means(reports: list[Path]) -> None:
    both = SideBySide.load(reports[:2])
    assert both.names == ("first", "second")
    assert both.best("range_mean_m") == {1}
    assert both.best("range_bias_m") == {1}  # nearest to zero, below it or not
    assert both.best("fscore_0.02m") == {1} or both.values("fscore_0.02m") == [0.0, 0.0]
    assert both.best("return_f1") == set()  # all are perfect
    assert both.best("log_likelihood") == set()  # nobody knows
    assert "log_likelihood" not in both.metrics


def test_names_tell_reports_apart(reports: list[Path]) -> None:
    names = SideBySide.load([reports[0], reports[2]]).names
    assert names == (f"{reports[0].parent.name}/first", "other/first")
    assert SideBySide.load(reports).best("range_mean_m") == {1}


def test_other_recordings_are_warned_of(reports: list[Path]) -> None:
    assert SideBySide.load(reports).warnings() == []
    record = json.loads(reports[1].read_text("utf-8"))
    record["settings"]["real"] = "elsewhere"
    reports[1].write_text(json.dumps(record), "utf-8")
    assert "different recordings" in SideBySide.load(reports).warnings()[0]


def test_old_reports_have_no_breakdown(reports: list[Path]) -> None:
    record = json.loads(reports[0].read_text("utf-8"))
    for name in ("per_range", "returns", "ground", "calibration"):
        del record[name]
    reports[0].write_text(json.dumps(record), "utf-8")
    old = SideBySide.load(reports).reports[0]
    assert (old.per_range, old.ground) == ([], {})
    old.save(reports[0].with_suffix(".html"))


def test_errors_by_range_and_their_spread_stand_beside_each_other(make_sweep: MakeSweep, tmp_path: Path) -> None:
    places = [tmp_path / "one.json", tmp_path / "two.json"]
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(20.0, timestamp=1.0)], "real")
    for place, errors in zip(places, ((0.01, 0.05), (0.02, 0.3)), strict=True):
        sweeps = [make_sweep(20.0 + error, timestamp=float(at)) for at, error in enumerate(errors)]
        evaluate(Log.from_sweeps(sweeps, "simulated"), real).save(place)
    SideBySide.load(places).save(tmp_path / "both.html")
    text = (tmp_path / "both.html").read_text("utf-8")
    assert re.search(r"range_mean_m</td><td class=\"n best\">0\.03\d*<br><small class=\"sub\">0\.01\d* – 0\.05", text)
    # Of the second, one sweep of two is right to 10 cm.
    assert re.search(r"20 to 30 m</td><td class=\"n\">1</td><td class=\"n\">0\.5000</td>", text)


@pytest.fixture
def run() -> Any:
    app = typer.Typer()
    app.command()(verb)
    return lambda *args: CliRunner().invoke(app, [str(word) for word in args])


def test_the_command_writes_a_page_and_json(reports: list[Path], tmp_path: Path, run: Any) -> None:
    page = tmp_path / "both.html"
    done = run(*reports[:2], "-o", page)
    assert done.exit_code == 0, done.output
    assert re.search(r"range_mean_m\s+\W+0\.0500\d*\s+\W+0\.0200\d* \*", done.stdout)
    text = page.read_text("utf-8")
    assert not re.search(r"https?://|<link|<script|src=\"(?!data:)", text)
    assert re.search(r'range_mean_m</td><td class="n">0\.0500\d*</td><td class="n best">0\.0200', text)
    done = run(*reports[:2], "--json")
    facts = json.loads(done.stdout.strip().splitlines()[-1])
    assert facts["best"]["range_mean_m"] == ["second"]


def test_mistakes_say_what_to_do(reports: list[Path], tmp_path: Path, run: Any) -> None:
    with pytest.raises(ResweepError, match="two or more"):
        SideBySide.load(reports[:1])
    with pytest.raises(ResweepError, match="given twice"):
        SideBySide.load([reports[0], reports[0]])
    with pytest.raises(ResweepError, match="cannot be read"):
        SideBySide.load([reports[0], tmp_path / "none.json"])
    for given in ([*reports[:2], "-o", tmp_path / "both.pdf"],):
        assert ".html or .json" in str(run(*given).exception)
