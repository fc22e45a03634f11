"""A quick build leaves out what takes long, says so, and refuses to be asked for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import resweep as rs
from resweep.build import SplatConfig, resolve
from resweep.cli.verbs.build import build
from resweep.log import Log
from resweep.sweep import Sweep
from tests.places import LABELS, plane, shrub_sweeps

FAST: dict[str, Any] = {"calibrate": {"points_per_sweep": 2000}, "map": {"ego_radius_m": 0.5}}


@pytest.fixture(scope="module")
def drive() -> Log:
    return Log.from_sweeps(shrub_sweeps(4), "drive", labels=LABELS)


def flatten(values: dict[str, Any], at: str = "") -> dict[str, Any]:
    """The settings of a plan by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flatten(value, f"{at}{name}.") if isinstance(value, dict) else {at + name: value}
    return found


def test_a_quick_plan_differs_by_what_it_leaves_out_and_by_nothing_else(drive: Log) -> None:
    plain, quick = resolve(drive, rs.HybridConfig()), resolve(drive, rs.HybridConfig(quick=True))
    before, after = (flatten(plan.to_dict()["config"]) for plan in (plain, quick))
    assert {name: value for name, value in after.items() if before[name] != value} == {
        "quick": True,
        "refine": "none",
        "evidence": ["permeability"],
        "calibrate.azimuth_bias_prior_m": 0.0,
        "calibrate.iterations": 3,
        "calibrate.samples": 20_000,
    }
    assert set(quick.reasons) - set(plain.reasons) == {"quick"}
    assert "refinement" in quick.reasons["quick"]
    assert "azimuth bias" in quick.reasons["quick"]
    again = resolve(drive, quick.config)
    assert again == quick
    assert again.reasons["quick"] == quick.reasons["quick"]


def test_what_was_given_stays(drive: Log) -> None:
    config = rs.HybridConfig(quick=True, refine="none", calibrate={"iterations": 2})  # type: ignore[arg-type]
    calibrate = resolve(drive, config).config.calibrate
    assert calibrate is not None
    assert (calibrate.iterations, calibrate.azimuth_bias_prior_m) == (2, 0.0)


def test_the_world_says_that_it_was_built_quickly(drive: Log, tmp_path: Path) -> None:
    rs.build(drive, rs.HybridConfig(quick=True, **FAST), tmp_path / "first.world", progress=False)
    plan = json.loads((tmp_path / "first.world" / "world.json").read_text())["meta"]["build"]
    assert (plan["config"]["quick"], plan["config"]["refine"]) == (True, "none")
    assert plan["config"]["calibrate"]["azimuth_bias_prior_m"] == 0.0
    assert plan["reasons"]["quick"].startswith("a first look, without refinement")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"refine": "full"}, "refine: .*quick leaves refinement out"),
        ({"refine": "fast"}, "refine: .*quick leaves refinement out"),
        ({"evidence": ("likelihood",)}, "evidence: quick leaves the likelihood of held-out sweeps out"),
        ({"calibrate": {"azimuth_bias_prior_m": 0.01}}, "azimuth_bias_prior_m: quick leaves the azimuth bias"),
    ],
)
def test_a_contradiction_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(rs.SettingsError, match=message):
        rs.HybridConfig(quick=True, **settings)


def test_a_build_with_nothing_to_leave_out_is_refused(drive: Log) -> None:
    with pytest.raises(rs.ResweepError, match="quick: this build has nothing that could be left out"):
        resolve(drive, SplatConfig(quick=True, calibrate=None))
    lawn = Log.from_sweeps([Sweep.from_points(plane(4.0, 0.1, 0.003))], cloud="raw", sensor_position_known=False)
    with pytest.raises(rs.ResweepError, match="quick: this build has nothing that could be left out"):
        resolve(lawn, rs.HybridConfig(quick=True))


@pytest.mark.parametrize("how", ["fast", "full"])
def test_the_command_line_names_its_options(drive: Log, tmp_path: Path, how: str) -> None:
    app = typer.Typer()
    app.command()(build)
    rs.write_log(drive, tmp_path / "drive", format="semantickitti")
    words = [str(tmp_path / "drive"), "-o", str(tmp_path / "w.world"), "--quick", "--refine", how]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, rs.ResweepError)
    assert str(result.exception) == f"--quick --refine {how}: --quick leaves refinement out; give one of them"
    assert not (tmp_path / "w.world").exists()
