"""A sensor's spec found again in what it recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from resweep.cli.verbs.sensors import sensors
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.scenes import SCENES
from resweep.sensors import Spinning, load_sensor
from resweep.sensors.infer.spec_fit import estimate_quantum_m, find_nearest_sensor, fit_log
from resweep.simulate import Simulator
from resweep.sweep import Sweep

from .yard import Spin, two_blocks


@pytest.fixture(scope="module")
def street() -> Simulator:
    return Simulator(SCENES["street"](seed=0), "velodyne-vlp-16", seed=1)


def bare_drive(street: Simulator, sensor: str, *kept: str) -> list[Sweep]:
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3], poses[:, 2, 3] = (0, 3, 6), 1.8
    return [
        Sweep.from_points(
            sweep.points, pose=sweep.pose, timestamp=sweep.timestamp, **{name: getattr(sweep, name) for name in kept}
        )
        for sweep in street.with_sensor(sensor).run(poses)
    ]


def test_everything_that_shows_is_found(street: Simulator, tmp_path: Path) -> None:
    true = load_sensor("velodyne-vlp-16")
    found = fit_log(bare_drive(street, true.name, "time"), name="my-lidar").sensor
    assert isinstance(found.pattern, Spinning)
    assert isinstance(true.pattern, Spinning)
    np.testing.assert_allclose(found.elevations_deg, true.elevations_deg, atol=0.002)
    assert found.pattern.azimuth_step_deg(10) == pytest.approx(true.pattern.azimuth_step_deg(10), rel=1e-3)
    assert found.rotation_rate_hz == pytest.approx(10, rel=2e-3)
    assert found.pattern.direction == "clockwise"
    # The catalog lists channels in the order of firing, the fit by elevation.
    channels = true.pattern.channels
    delay = np.array(channels.firing_time_s)[np.argsort(channels.elevations_deg)]
    np.testing.assert_allclose(found.pattern.channels.firing_time_s, delay - delay.min(), atol=5e-8)
    assert found.pattern.channels.azimuth_offset_deg is None
    assert found.receiver.range_quantisation_m == true.receiver.range_quantisation_m
    assert (found.beam, found.wavelength_nm) == (true.beam, true.wavelength_nm)
    assert "cannot be seen in a log" in found.description
    assert "velodyne-vlp-16" in found.description
    file = tmp_path / "my-lidar.yaml"
    file.write_text(found.to_yaml(), encoding="utf-8")
    assert load_sensor(file) == found


def test_azimuth_offsets_show_where_columns_are_numbered(street: Simulator) -> None:
    true = load_sensor("ouster-os1-64").pattern
    found = fit_log(bare_drive(street, "ouster-os1-64", "ring", "column", "time")).sensor.pattern
    assert isinstance(found, Spinning)
    assert isinstance(true, Spinning)
    order = np.argsort(true.channels.elevations_deg)
    offset = np.array(true.channels.azimuth_offset_deg)[order]
    # Beams leave 16 mm off the axis, which turns near points, as seen from it, by hundredths of a degree.
    np.testing.assert_allclose(found.channels.azimuth_offset_deg, offset - np.median(offset), atol=0.1)


def test_the_nearest_of_the_catalog() -> None:
    for name in ("velodyne-hdl-32e", "velodyne-vlp-32c", "ouster-os1-128", "hesai-pandar64"):
        near, rms = find_nearest_sensor(np.array(load_sensor(name).elevations_deg) + 0.01)
        assert near.name == name
        assert rms == pytest.approx(0.01, abs=1e-6)


@pytest.mark.parametrize("quantum", [0.0, 0.001, 0.002, 0.004, 0.01])
def test_the_rounding_of_ranges(quantum: float) -> None:
    ranges = np.random.default_rng(1).uniform(2, 90, 30_000)
    rounded = np.round(ranges / quantum) * quantum if quantum else ranges
    assert estimate_quantum_m(rounded.astype(np.float32).astype(np.float64)) == quantum


def test_a_log_without_times_says_what_it_assumes() -> None:
    elevation, height = two_blocks()
    fit = fit_log([Spin(elevation, height, 900).record(0.0)[0]])
    assert fit.sensor.rotation_rate_hz == fit.nearest.rotation_rate_hz
    assert "rotation rate from the catalog's" in fit.sensor.description
    assert "clockwise is assumed" in fit.sensor.description
    assert fit.returns.sum() > 20_000


def test_times_that_were_assumed_give_no_rate() -> None:
    elevation, height = two_blocks()
    sweep = Spin(elevation, height, 900).record(0.0)[0]
    log = Log.from_sweeps([sweep, replace(sweep, timestamp=sweep.timestamp + 0.2)])
    assert fit_log(log).sensor.rotation_rate_hz == pytest.approx(5.0)
    assumed = fit_log(replace(log, times_known=False))
    assert "rotation rate from the catalog's" in assumed.sensor.description


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(sensors)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})


@pytest.mark.slow
def test_the_command_fits_writes_and_draws(tmp_path: Path, street: Simulator) -> None:
    from resweep.io import write_sweep

    for at, sweep in enumerate(bare_drive(street, "velodyne-vlp-16", "ring", "time")):
        write_sweep(sweep, tmp_path / "log" / f"{at}.ply")
    yaml = tmp_path / "my-lidar.yaml"
    result = run("--fit", str(tmp_path / "log"), "-o", str(yaml), "--plot")
    assert result.exit_code == 0, result.exception
    assert "nearest in the catalog: velodyne-vlp-16" in result.stdout
    assert "16 rings, 1808 columns a turn" in result.stdout
    assert sum(line.strip()[:1].isdigit() for line in result.stdout.splitlines()) >= 16
    found = load_sensor(yaml)
    assert (found.name, found.n_channels) == ("my-lidar", 16)
    assert yaml.with_suffix(".png").stat().st_size > 20_000
    record = json.loads(run("--fit", str(tmp_path / "log"), "--json").stdout)
    assert (record["nearest"], record["channels"], record["yaml"]) == ("velodyne-vlp-16", 16, None)
    figures = record["character"]
    assert figures["basis"].startswith("3 sweeps, over ")  # files of sweeps know their poses
    assert {name for name in figures if not isinstance(figures[name], dict)} == {"sweeps", "basis"}
    assert all(figures[name]["known"] or figures[name]["note"] for name in figures if isinstance(figures[name], dict))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["velodyne-vlp-16", "--fit", "log"], "no NAME"),
        (["--fit", "log", "-o", "my.png"], "give -o NAME.yaml"),
        (["--fit", "absent"], "absent: no such file or folder; check the path"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, ResweepError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_real_kitti_sensor(sample_data: Path) -> None:
    from resweep.io import open_log

    fits = [
        fit_log(open_log(sample_data / "semantickitti_mini" / "sequences" / name, empty_beams=False))
        for name in ("00", "03")
    ]
    for fit in fits:
        assert (fit.nearest.name, fit.sensor.n_channels) == ("kitti-hdl-64e", 64)
        assert fit.grid.direction == "clockwise"
    # Two drives of one car show the same lasers, although their motion was taken out of the points.
    first, second = (np.array(fit.sensor.elevations_deg) for fit in fits)
    np.testing.assert_allclose(first, second, atol=0.06)
