"""The full scale of intensities: found from a log once, said, and carried into files and figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep import Log, Sweep
from resweep.intensity_scale import choose_full_scale

LIGHT = np.random.default_rng(3).uniform(0.0, 1.0, 2000)


@pytest.mark.parametrize(
    ("intensity", "scale"),
    [
        (LIGHT, 1.0),
        (1.4 * LIGHT, 1.0),
        (np.where(np.arange(2000) % 20 == 0, 40.0, LIGHT), 1.0),  # signs that reflect back
        (255.0 * LIGHT, 255.0),
        (np.round(2.4 * LIGHT), 255.0),  # counts in the dark
        (np.where(np.arange(2000) == 7, 60_000.0, 200.0 * LIGHT), 255.0),
        (3000.0 * LIGHT, 4095.0),
        (40_000.0 * LIGHT, 65535.0),
        (np.array([np.nan, 0.0, -1.0]), None),
        (np.zeros(0), None),
    ],
)
def test_the_scale_is_that_which_most_intensities_keep(intensity: np.ndarray, scale: float | None) -> None:
    assert choose_full_scale(intensity) == scale


@pytest.fixture
def make_log() -> Callable[..., Log]:
    def make(scale: float, **facts: object) -> Log:
        rng = np.random.default_rng(5)
        points = rng.normal(0, 10, (2000, 3))
        sweeps = [Sweep.from_points(points, intensity=scale * LIGHT, timestamp=at / 10) for at in range(3)]
        return Log.from_sweeps(sweeps, "drive", **facts)

    return make


def test_it_is_found_once_and_said(make_log: Callable[..., Log]) -> None:
    asked: list[int] = []
    log = make_log(255.0)
    load = log.load
    log = replace(log, load=lambda at: (asked.append(at), load(at))[1])
    with pytest.warns(UserWarning, match="log 'drive': its format does not say the full scale.*it is 255"):
        assert log.full_scale == 255.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (log.full_scale, log[1:].full_scale) == (255.0, 255.0)
        assert make_log(1.0).full_scale == 1.0
        assert make_log(200.0, intensity_scale=1000.0).full_scale == 1000.0  # what a format says counts
    assert asked == [0]


def test_a_slice_has_the_scale_of_the_whole_unless_a_step_changed_its_unit(make_log: Callable[..., Log]) -> None:
    log = make_log(255.0)
    dark = log.with_sweeps([replace(log[0], intensity=np.zeros(2000)), log[1], log[2]])
    with pytest.warns(UserWarning, match="255"):
        assert dark[:1].full_scale == 255.0
    assert log[1:].map(lambda sweep: replace(sweep, intensity=sweep.intensity / 255)).full_scale == 1.0


@pytest.mark.filterwarnings("ignore:.*full scale of its intensities")
@pytest.mark.parametrize("scale", [255.0, 4095.0, 65535.0])
def test_figures_are_shares_of_full_scale(scale: float, make_log: Callable[..., Log]) -> None:
    def darken(log: Log) -> Log:
        return log.map(lambda sweep: replace(sweep, intensity=0.9 * sweep.intensity))

    relative = rs.evaluate(darken(make_log(1.0)), make_log(1.0))
    counts = rs.evaluate(darken(make_log(scale)), make_log(scale))
    assert relative["intensity_rmse"] == pytest.approx(0.1 * np.sqrt(np.mean(LIGHT**2)), rel=1e-3)
    for name in ("intensity_rmse", "intensity_mae", "intensity_corr"):
        assert counts[name] == pytest.approx(relative[name], rel=1e-4)
    assert any(f"real log are compared as shares of {scale:g}" in note for note in counts.notes)
    assert not any("full scale" in note for note in relative.notes)
    mixed = rs.evaluate(darken(make_log(1.0, intensity_scale=1.0)), make_log(scale))
    assert mixed["intensity_rmse"] == pytest.approx(relative["intensity_rmse"], rel=1e-4)


@pytest.mark.filterwarnings("ignore:.*full scale of its intensities")
def test_counts_that_noise_carries_beyond_a_bound_keep_their_unit(make_log: Callable[..., Log]) -> None:
    report = rs.evaluate(make_log(280.0), make_log(255.0, intensity_scale=255.0))
    assert report["intensity_rmse"] == pytest.approx(25 / 255 * np.sqrt(np.mean(LIGHT**2)), rel=1e-3)


@pytest.mark.filterwarnings("ignore:.*full scale of its intensities")
@pytest.mark.parametrize("scale", [1.0, 255.0, 65535.0])
def test_las_files_have_the_scale_of_las(scale: float, make_log: Callable[..., Log], tmp_path: Path) -> None:
    log = make_log(scale)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="LAS")
        rs.write_log(log, tmp_path / "las", format="las", progress=False)
        rs.write_cloud(log, tmp_path / "cloud.copc.laz", progress=False)
    counts = np.asarray(laspy.read(str(tmp_path / "las" / "000000.las")).intensity)
    np.testing.assert_allclose(counts, 65535 * LIGHT, atol=1.0)
    np.testing.assert_allclose(rs.open_log(tmp_path / "las")[0].intensity, scale * LIGHT, rtol=1e-6)
    stored = np.sort(np.asarray(laspy.read(str(tmp_path / "cloud.copc.laz")).intensity))
    np.testing.assert_allclose(stored, np.sort(np.tile(65535 * LIGHT, 3)), atol=1.0)


@pytest.mark.filterwarnings("ignore:.*full scale of its intensities")
@pytest.mark.parametrize("scale", [1.0, 255.0, 4095.0])
def test_kitti_files_have_remissions(scale: float, make_log: Callable[..., Log], tmp_path: Path) -> None:
    rs.write_log(make_log(scale), tmp_path / "kitti", format="semantickitti", progress=False)
    stored = np.fromfile(tmp_path / "kitti" / "velodyne" / "000000.bin", "<f4").reshape(-1, 4)[:, 3]
    np.testing.assert_allclose(stored, LIGHT, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*full scale of its intensities")
@pytest.mark.parametrize("scale", [1.0, 255.0, 65535.0])
def test_bags_of_drivers_end_at_255(scale: float, make_log: Callable[..., Log], tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    log = make_log(scale)
    rs.write_log(log, tmp_path / "bag", format="ros2", points="velodyne", frame="sensor", progress=False)
    assert f"resweep_intensity_scale: '{255.0 / scale!r}'" in (tmp_path / "bag" / "metadata.yaml").read_text()
    np.testing.assert_allclose(rs.open_log(tmp_path / "bag")[0].intensity, scale * LIGHT, rtol=1e-4)
