"""Reports: printed, saved, loaded, and made on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from resweep import Log, ResweepError, Sweep, write_log, write_sweep
from resweep.cli.verbs.evaluate import evaluate as verb
from resweep.evaluation import METRICS, Report, evaluate
from resweep.evaluation.report.values import format_value
from resweep.labels import load_labels

MakeSweep = Callable[..., Sweep]
ROWS, COLUMNS = 8, 90  # of the scans that make_sweep makes
BEAMS = ROWS * COLUMNS
KITTI = load_labels("semantickitti")


@pytest.fixture
def logs(make_sweep: MakeSweep, rng: np.random.Generator) -> tuple[Log, Log]:
    label = np.where(np.arange(BEAMS) % 2 == 0, KITTI.id_of("pole"), KITTI.id_of("building"))
    ranges = rng.uniform(10, 30, (2, BEAMS))
    bright = rng.random(BEAMS)
    noisy = ranges + rng.normal(0, 0.05, ranges.shape)
    noisy[:, ::9] = np.nan
    real = [make_sweep(row, label=label, intensity=bright, timestamp=0.1 * at) for at, row in enumerate(ranges)]
    sim = [make_sweep(row, label=label, intensity=bright * 0.9, timestamp=0.1 * at) for at, row in enumerate(noisy)]
    return Log.from_sweeps(sim, "<sim>", labels=KITTI), Log.from_sweeps(real, "real", labels=KITTI)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_report_survives_json(logs: tuple[Log, Log], tmp_path: Path) -> None:
    report = evaluate(*logs)
    loaded = Report.load(report.save(tmp_path / "deep" / "report.json"))
    assert loaded == report
    assert loaded.load_pair is None
    record = strict(report.to_json())
    assert record["metrics"]["c2c_m"] == report["c2c_m"]
    assert record["units"]["chamfer_sq_sum_m2"] == "m²"


def test_json_holds_no_infinity_even_for_empty_or_equal_sweeps(make_sweep: MakeSweep) -> None:
    for sim in (make_sweep(np.nan), make_sweep(20.0)):
        assert strict(evaluate(sim, make_sweep(20.0)).to_json())["metrics"]["return_recall"] in (0.0, 1.0)


def test_printed_reports_name_every_metric_with_its_unit(logs: tuple[Log, Log]) -> None:
    report = evaluate(*logs)
    text = str(report)
    assert max(map(len, text.splitlines())) <= 118
    for name in report.metrics:
        assert re.search(rf"{re.escape(name)}\s.*{format_value(report[name])}\s.*{METRICS[name].unit}", text), name
    assert "<sim> against real, 2 sweeps" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (0.123456, "0.1235"), (1234567.0, "1,234,567"), (1.05e-6, "1.05e-06"), (12.345, "12.35")],
)
def test_figures_are_shown_as_people_read_them(value: float | None, text: str) -> None:
    assert format_value(value) == text


def test_html_is_whole_in_one_file(logs: tuple[Log, Log], tmp_path: Path) -> None:
    report = evaluate(*logs, accumulate=True)
    text = report.save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<link|<script|src=\"(?!data:)", text)
    assert (
        text.count("data:image/png;base64,") == 9
    )  # errors, ground, by sweep; two pairs from above and as images; more of one
    for name in report.metrics:
        assert f">{name}<" in text, name
    assert "&lt;sim&gt;" in text
    assert "<sim>" not in text
    assert "traffic sign" not in text
    assert ">pole<" in text
    loaded = Report.load(report.save(tmp_path / "report.json"))
    again = loaded.save(tmp_path / "again.html").read_text(encoding="utf-8")
    assert again.count("data:image/png;base64,") == 3  # without its sweeps: range errors, ground and sweep by sweep


@pytest.mark.parametrize("ranges", [np.nan, 20.0])
def test_html_of_empty_or_equal_sweeps(make_sweep: MakeSweep, tmp_path: Path, ranges: float) -> None:
    text = evaluate(make_sweep(ranges), make_sweep(20.0)).save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Metrics over all sweeps" in text


def test_mistakes_with_files_say_what_to_do(logs: tuple[Log, Log], tmp_path: Path) -> None:
    report = evaluate(*logs)
    with pytest.raises(ResweepError, match=r"\.html or \.json"):
        report.save(tmp_path / "report.pdf")
    with pytest.raises(ResweepError, match="cannot be read"):
        Report.load(tmp_path / "nothing.json")
    for text, words in (("{", "not JSON"), ("[]", "not a report"), ('{"format": "resweep-report"}', "version None")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ResweepError, match=words):
            Report.load(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text('{"format": "resweep-report", "version": 1}')
    with pytest.raises(ResweepError, match="lacks metrics"):
        Report.load(tmp_path / "bad.json")
    with pytest.raises(ResweepError, match="did you mean 'c2c_m'"):
        report["c2c"]


@pytest.fixture
def run() -> Any:
    app = typer.Typer()
    app.command()(verb)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_prints_json_last(logs: tuple[Log, Log], tmp_path: Path, run: Any) -> None:
    for log, name in zip(logs, ("sim", "real"), strict=True):
        write_log(log, tmp_path / name, progress=False)
    page = tmp_path / "report.html"
    done = run(tmp_path / "sim", tmp_path / "real", "--json", "--per-class", "--labels", "semantickitti", "-o", page)
    assert done.exit_code == 0, done.output
    facts = strict(done.stdout.strip().splitlines()[-1])
    expected = evaluate(*logs)
    assert facts["c2c_m"] == pytest.approx(expected["c2c_m"], rel=1e-4)
    assert facts["return_recall"] == pytest.approx(8 / 9)
    assert facts["sweeps"] == 2
    assert facts["per_class"]["pole"]["label"] == KITTI.id_of("pole")
    assert facts["labels"] == "semantickitti"
    assert page.stat().st_size > 10_000


def test_the_command_prints_tables_of_sweep_files(logs: tuple[Log, Log], tmp_path: Path, run: Any) -> None:
    for log, name in zip(logs, ("sim.ply", "real.ply"), strict=True):
        write_sweep(log[0], tmp_path / name)
    done = run(tmp_path / "sim.ply", tmp_path / "real.ply", "--per-class")
    assert done.exit_code == 0, done.output
    assert "chamfer_m" in done.stdout
    assert "label 50" in done.stdout  # a PLY file does not say whose ids it holds
    done = run(tmp_path / "sim.ply", tmp_path / "real.ply", "--per-class", "--labels", "semantickitti")
    assert "by class (SemanticKITTI)" in done.stdout
    assert "building" in done.stdout


def test_the_command_refuses_before_the_work(tmp_path: Path, run: Any) -> None:
    done = run(tmp_path / "sim", tmp_path / "real", "-o", tmp_path / "report.pdf")
    assert isinstance(done.exception, ResweepError)
    assert ".html or .json" in str(done.exception)


def test_a_report_of_held_out_sweeps_states_placements_by_returns(logs: tuple[Log, Log], tmp_path: Path) -> None:
    report = evaluate(*logs)
    names = ("at the recorded pose", "registered by pose", "registered with motion")
    shares = iter((0.111, 0.222, 0.333, 0.444, 0.555, 0.666))
    rows = [
        {
            "placement": name,
            **{kind: {"range_median_m": 0.01, "within_0.10m": next(shares)} for kind in ("drawn", "most_likely")},
        }
        for name in names
    ]
    placed = replace(report, placements=rows)
    page = placed.save(tmp_path / "report.html").read_text(encoding="utf-8")
    for text in (str(placed), page):
        places = [text.index(f"{share:.4f}") for share in (0.111, 0.222, 0.333, 0.444, 0.555, 0.666)]
        assert places == sorted(places)
        assert all(name in text for name in names)
        assert "most likely" in text
    assert Report.load(placed.save(tmp_path / "report.json")).placements == rows
    assert "most likely" not in str(report)
