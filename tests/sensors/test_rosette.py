"""Non-repetitive scans: they go on from frame to frame, fill their field, and match the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.pose import Array
from resweep.sensors import Prism, fire, load_sensor
from resweep.sensors.pattern_plot import angles_deg, compute_coverage

NAMES = ["livox-avia", "livox-mid-360"]


def angle_between_deg(first: Array, second: Array) -> Array:
    return np.degrees(np.linalg.norm(first.astype(np.float64) - second, axis=-1))


def all_directions(name: str, n_sweeps: int) -> Array:
    sensor = load_sensor(name)
    return np.concatenate([fire(sensor, index).direction for index in range(n_sweeps)])


@pytest.mark.parametrize("name", NAMES)
def test_the_scan_goes_on_where_the_last_frame_ended(name: str) -> None:
    sensor = load_sensor(name)
    lines = sensor.pattern.lines
    before, after = fire(sensor, 3).direction, fire(sensor, 4).direction
    steps = angle_between_deg(before[lines:], before[:-lines])
    seam = angle_between_deg(after[:lines], before[-lines:])
    assert seam.max() < 1.05 * steps.max()


@pytest.mark.parametrize("name", NAMES)
def test_frames_do_not_repeat(name: str) -> None:
    sensor = load_sensor(name)
    first = fire(sensor, 0).direction
    for index in range(1, 12):
        assert np.median(angle_between_deg(fire(sensor, index).direction, first)) > 1.0
    np.testing.assert_array_equal(fire(sensor, 5).direction, fire(load_sensor(name), 5).direction)
    np.testing.assert_array_equal(fire(sensor, 5).time, fire(sensor, 0).time)


@pytest.mark.parametrize("name", NAMES)
def test_coverage_grows_with_time(name: str) -> None:
    share = compute_coverage(load_sensor(name), 30, cell_deg=0.5)
    assert (np.diff(share) >= 0).all()
    assert share[-1] == 1.0
    assert share[0] < 0.7 * share[9]
    assert share[2] < share[9]


def test_a_repeating_scan_would_not_grow() -> None:
    sensor = load_sensor("livox-avia").with_(
        **{
            "pattern.prisms": [
                Prism(rate_hz=-40, deflection_deg=17).model_dump(),
                {"rate_hz": 130, "deflection_deg": 16},
            ]
        }
    )
    np.testing.assert_allclose(compute_coverage(sensor, 4), 1.0, atol=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_late_sweeps_keep_their_precision(name: str) -> None:
    late = fire(load_sensor(name), 10_000_000).direction
    np.testing.assert_allclose(np.linalg.norm(late, axis=1), 1.0, atol=3e-7)
    lines = load_sensor(name).pattern.lines
    steps = angle_between_deg(late[lines:], late[:-lines])
    early = fire(load_sensor(name), 0).direction
    assert np.median(steps) == pytest.approx(np.median(angle_between_deg(early[lines:], early[:-lines])), rel=0.02)


def test_the_field_is_that_of_the_data_sheet() -> None:
    azimuth, elevation = angles_deg(all_directions("livox-avia", 20))
    np.testing.assert_allclose([azimuth.min(), azimuth.max()], [-35.2, 35.2], atol=0.5)
    np.testing.assert_allclose([elevation.min(), elevation.max()], [-38.6, 38.6], atol=0.5)
    azimuth, elevation = angles_deg(all_directions("livox-mid-360", 20))
    np.testing.assert_allclose([elevation.min(), elevation.max()], [-7.0, 52.0], atol=2.0)
    assert np.histogram(azimuth, bins=36, range=(-180, 180))[0].min() > 0.9 * len(azimuth) / 36


@pytest.fixture(scope="module")
def real_mid_360(sample_data: Path) -> Array:
    """Directions (800000, 3) of four seconds of the maker's scan sequence."""
    path = sample_data / "sensor_specs" / "livox" / "mid360.npy"
    if not path.is_file():
        pytest.skip("needs the sample recordings in ../shared/data")
    azimuth, elevation = np.load(path).astype(np.float64).T
    level = np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=1)


def test_mid_360_follows_the_real_sequence(real_mid_360: Array) -> None:
    ours = all_directions("livox-mid-360", 40)
    error = angle_between_deg(real_mid_360, ours)
    assert np.median(error) < 0.5
    assert np.percentile(error, 95) < 1.2


def test_mid_360_covers_as_the_real_one_does(real_mid_360: Array) -> None:
    ours = all_directions("livox-mid-360", 40)
    real_elevation, our_elevation = angles_deg(real_mid_360)[1], angles_deg(ours)[1]
    # The largest difference of the two distributions of elevation, over all thresholds.
    levels = np.linspace(-8, 53, 200)
    share = [np.searchsorted(np.sort(values), levels) / len(values) for values in (real_elevation, our_elevation)]
    assert np.abs(share[0] - share[1]).max() < 0.03

    def cells(directions: Array) -> int:
        azimuth, elevation = angles_deg(directions)
        return len(np.unique(np.floor(elevation).astype(int) * 1000 + np.floor(azimuth).astype(int)))

    for frames in (1, 2, 5):
        count = frames * 20_000
        assert cells(ours[:count]) == pytest.approx(cells(real_mid_360[:count]), rel=0.05)
