"""Settings that are wrong in several places are refused once, with a line for each place."""

from __future__ import annotations

from pathlib import Path

import pytest

import resweep as rs
from resweep.cli import main
from resweep.errors import SettingsError

SENSOR = """
name: mine
range_max: 50
pattern:
  kind: spinning
  azimuth_resolution_deg: wide
  channels: {elevation_deg: [0, 95, 96, 97]}
beam: {divergence_h_rad: 0.003}
"""


def test_every_wrong_or_missing_field_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(SENSOR)
    with pytest.raises(SettingsError) as error:
        rs.load_sensor(tmp_path / "mine.yaml")
    lines = str(error.value).splitlines()
    assert all(line.startswith(f"{tmp_path / 'mine.yaml'}: ") for line in lines)
    fields = dict(error.value.problems)
    assert set(fields) == {
        "range_max",
        "range_max_m",
        "receiver",
        "beam.divergence_v_rad",
        "pattern.azimuth_resolution_deg",
        "pattern.channels.elevation_deg[1]",
    }
    assert len(lines) == len(fields)
    assert "range_max: unknown key; did you mean 'range_max_m'" in lines[0]
    assert fields["range_max_m"] == "missing; give largest range that is reported, metres"
    assert fields["pattern.azimuth_resolution_deg"].endswith("got 'wide'")
    assert fields["pattern.channels.elevation_deg[1]"].endswith("got 95; so are 2 more of its values")


def test_the_command_prints_a_line_for_each_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "drive.yaml").write_text("ego: {lane: [[0, 0], [9, 0]]}\nactors: [{category: car}, {nme: bus}]\n")
    with pytest.raises(SystemExit) as ended:
        main(["scenario", str(tmp_path / "drive.yaml")])
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith(f"resweep: error: {tmp_path / 'drive.yaml'}: ") for line in lines)
    for part in ("actors[1].nme: unknown key", "ego.speed_mps: missing", "actors[0].name: missing"):
        assert any(part in line for line in lines)


def test_a_long_list_of_problems_is_cut() -> None:
    error = SettingsError("a", "wrong", "f.yaml", [(f"b{at}", "wrong") for at in range(40)])
    assert len(str(error).splitlines()) == 21
    assert str(error).endswith("f.yaml: 21 more fields are wrong")
