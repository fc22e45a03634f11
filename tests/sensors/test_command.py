"""The picture of a sensor and the ``sensors`` command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from resweep.cli.verbs.sensors import sensors
from resweep.errors import ResweepError
from resweep.sensors import load_sensor, sensor_names
from resweep.sensors.pattern_plot import plot_sensor

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(sensors)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})


def test_the_catalog_is_listed() -> None:
    result = run()
    assert result.exit_code == 0
    for name in sensor_names():
        assert name in result.stdout
    row = next(line for line in result.stdout.splitlines() if line.startswith("velodyne-hdl-64e"))
    for part in ("64", "-24.8…2.0", "1…100", "3.3×0.7", "99,968", "strongest"):
        assert part in row


def test_the_catalog_as_json() -> None:
    rows = {row["name"]: row for row in json.loads(run("--json").stdout)}
    assert set(rows) == set(sensor_names())
    assert rows["velodyne-vlp-16"]["pulses_per_sweep"] == 28_928


def test_a_sensor_is_shown_whole_and_can_be_read_back(tmp_path: Path) -> None:
    result = run("velodyne-hdl-64e", "--rate", "5")
    assert result.exit_code == 0
    copy = tmp_path / "copy.yaml"
    copy.write_text(result.stdout, encoding="utf-8")
    assert load_sensor(copy) == load_sensor("velodyne-hdl-64e").with_(rotation_rate_hz=5)
    assert json.loads(run("velodyne-hdl-64e", "--rate", "5", "--json").stdout)["pulses_per_sweep"] == 199_968


@pytest.mark.parametrize("name", ["velodyne-vlp-16", "livox-avia", "sick-lms-291-s05"])
def test_a_picture_is_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sensor.png"
    result = run(name, "--plot", "-o", str(path))
    assert result.exit_code == 0, result.output
    assert str(path) in result.stdout.replace("\n", "")
    assert path.read_bytes().startswith(PNG)
    assert path.stat().st_size > 20_000


def test_a_picture_takes_the_sensors_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("ouster-os1-32", "--plot").stdout.strip() == "ouster-os1-32.png"
    assert (tmp_path / "ouster-os1-32.png").read_bytes().startswith(PNG)


def test_random_rays_are_drawn_too(tmp_path: Path) -> None:
    sensor = load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "random", "beam.n_rays": 64})
    assert plot_sensor(sensor, tmp_path / "random.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["velodyne-hdl-64"], "velodyne-hdl-64e"),
        (["velodyne-vlp-16", "--rate", "100"], "rotation_rate_hz: 100 Hz is outside"),
        (["--plot"], "need the NAME"),
        (["velodyne-vlp-16", "-o", "a-file/x.png"], "a-file/x.png: cannot be written"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("in the way of a folder")
    result = run(*arguments)
    assert isinstance(result.exception, ResweepError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
