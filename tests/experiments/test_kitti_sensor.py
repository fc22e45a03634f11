"""KITTI's sensor from its points: what goes in comes out, and on real sweeps it beats even channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import kitti_sensor
from resweep import load_sensor


def make_scan(seed: int) -> kitti_sensor.Scan:
    """Points of the catalog's sensor at random ranges, rounded as KITTI's are, with a motor that turns unevenly."""
    rng = np.random.default_rng(seed)
    block = load_sensor("kitti-hdl-64e").pattern.channels  # type: ignore[union-attr]
    lists = (block.elevation_deg, block.azimuth_offset_deg, block.vertical_offset_m, block.horizontal_offset_m)
    elevation, rotation, up, left = (np.array(values)[::-1, None] for values in lists)  # the top laser first
    reading = np.cumsum(rng.choice([1, 2], 2200, p=[0.15, 0.85]))
    turn = np.radians(0.09 * reading[reading < 4000] + rotation)
    slant, away = np.radians(elevation), rng.uniform(4, 60, turn.shape)
    level = away * np.cos(slant) - up * np.sin(slant)
    x, y = level * np.cos(turn) - left * np.sin(turn), level * np.sin(turn) + left * np.cos(turn)
    z = away * np.sin(slant) + up * np.cos(slant)
    laser = np.broadcast_to(np.arange(64)[:, None], turn.shape)
    seen = rng.uniform(size=turn.shape) < 0.7
    return kitti_sensor.Scan(np.round(np.stack([x, y, z], axis=-1)[seen], 3), laser[seen])


def test_what_goes_in_comes_out() -> None:
    sensor = kitti_sensor.make_sensor(kitti_sensor.fit_lasers([make_scan(seed) for seed in range(3)]), 10.0)
    found, true = sensor.pattern.channels, load_sensor("kitti-hdl-64e").pattern.channels  # type: ignore[union-attr]
    np.testing.assert_allclose(found.elevation_deg, true.elevation_deg, atol=0.002)
    np.testing.assert_allclose(found.azimuth_offset_deg, true.azimuth_offset_deg, atol=0.005)
    np.testing.assert_allclose(found.vertical_offset_m, true.vertical_offset_m, atol=5e-4)
    np.testing.assert_allclose(found.horizontal_offset_m, true.horizontal_offset_m, atol=1e-3)


def test_absent_recordings_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kitti_sensor, "DATA", tmp_path)
    result = kitti_sensor.run(fast=True)
    assert "is not there" in result["skipped"]
    kitti_sensor.show(result)
    kitti_sensor.draw(result)


def test_real_sweeps_lie_on_the_fitted_lasers(sample_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (sample_data / kitti_sensor.DRIVE).is_dir():
        pytest.skip(f"needs {kitti_sensor.DRIVE}")
    monkeypatch.setattr(kitti_sensor, "DATA", sample_data)
    held_out = kitti_sensor.read_scans(range(20, 23))
    fitted = kitti_sensor.measure_lasers(held_out, load_sensor("kitti-hdl-64e"))
    even = kitti_sensor.measure_lasers(held_out, load_sensor("velodyne-hdl-64e"))
    assert fitted["elevation_rms_deg"] < 0.01 < 0.5 < even["elevation_rms_deg"]
    assert fitted["same_reading"] > 0.9 > 0.5 > even["same_reading"]
