"""LAS and LAZ checked against laspy, whose reader knows nothing of sweeps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, write_sweep
from resweep.sweep import Sweep


@pytest.mark.parametrize("name", ["s.las", "s.laz"])
def test_another_reader_reads_ours(name: str, sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / name, frame="world")
    las = laspy.read(str(tmp_path / name))
    assert (str(las.header.version), las.header.point_format.id) == ("1.4", 6)
    assert las.header.are_points_compressed == (name == "s.laz")
    # Half a step of a micrometre, and the float64 grain of UTM northings.
    assert np.abs(np.asarray(las.xyz) - sweep.world_points()).max() < 5e-7 + 2e-9
    np.testing.assert_array_equal(las.return_number, sweep.return_index + 1)
    np.testing.assert_array_equal(las.number_of_returns, np.bincount(sweep.beam)[sweep.beam])
    np.testing.assert_array_equal(las.gps_time, sweep.time)
    np.testing.assert_array_equal(las.intensity, np.round(sweep.intensity.astype(float) * 65535))
    np.testing.assert_array_equal(las.classification, np.where(sweep.label > 255, 0, sweep.label))
    np.testing.assert_array_equal(las["label"], sweep.label)
    np.testing.assert_array_equal(las["ring"], sweep.ring)


def test_labels_that_fit_need_no_extra_dimension(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(replace(sweep, label=sweep.label % 200), tmp_path / "s.las")
    assert "label" not in list(laspy.read(str(tmp_path / "s.las")).point_format.dimension_names)
    np.testing.assert_array_equal(load_sweep(tmp_path / "s.las").label, sweep.label % 200)


@pytest.mark.parametrize("top", [0.01, 0.4, 1.0])
def test_the_scale_of_intensity_does_not_follow_the_data(top: float, sweep: Sweep, tmp_path: Path) -> None:
    intensity = np.linspace(0, top, len(sweep)).astype(np.float32)
    write_sweep(replace(sweep, intensity=intensity), tmp_path / "s.las")
    las = laspy.read(str(tmp_path / "s.las"))
    np.testing.assert_allclose(las.intensity, intensity * 65535.0, atol=0.51)
    np.testing.assert_array_equal(load_sweep(tmp_path / "s.las").intensity, intensity)


def test_intensities_above_one_are_clipped_aloud_unless_a_scale_is_given(sweep: Sweep, tmp_path: Path) -> None:
    bright = replace(sweep, intensity=np.linspace(0, 255, len(sweep)).astype(np.float32))
    with pytest.warns(UserWarning, match=r"above 1 are written as 65535.*intensity_scale=257"):
        write_sweep(bright, tmp_path / "clipped.las")
    clipped = np.asarray(laspy.read(str(tmp_path / "clipped.las")).intensity)
    np.testing.assert_array_equal(clipped, np.minimum(np.round(bright.intensity.astype(float) * 65535), 65535))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_sweep(bright, tmp_path / "s.las", intensity_scale=257)
    np.testing.assert_allclose(laspy.read(str(tmp_path / "s.las")).intensity, bright.intensity * 257, atol=0.51)
    for name in ("clipped.las", "s.las"):  # what we wrote comes back as it was
        np.testing.assert_array_equal(load_sweep(tmp_path / name).intensity, bright.intensity)
    with pytest.raises(ResweepError, match="intensity_scale"):
        write_sweep(bright, tmp_path / "t.las", intensity_scale=0)


def test_wide_extent_takes_a_coarser_scale(sweep: Sweep, tmp_path: Path) -> None:
    far = replace(sweep, range=sweep.range * 1000)
    write_sweep(far, tmp_path / "s.las")
    las = laspy.read(str(tmp_path / "s.las"))
    assert las.header.scales[0] == pytest.approx(1e-4)
    assert np.abs(np.asarray(las.xyz) - far.points.astype(float)).max() < 0.51e-4


def test_survey_file_far_from_the_origin(tmp_path: Path) -> None:
    header = laspy.LasHeader(point_format=1, version="1.2")
    header.offsets, header.scales = [400_000, 5_000_000, 0], [0.001] * 3
    las = laspy.LasData(header)
    xyz = np.random.default_rng(0).uniform(0, 100, (50, 3)).round(3) + np.array([448_000, 5_411_000, 200])
    las.xyz = xyz
    las.classification = np.arange(50) % 20
    las.intensity = np.arange(50) * 100
    las.write(str(tmp_path / "survey.las"))
    sweep = load_sweep(tmp_path / "survey.las")
    assert np.abs(sweep.world_points() - xyz).max() < 2e-5
    np.testing.assert_array_equal(sweep.label, np.arange(50) % 20)
    np.testing.assert_allclose(sweep.intensity, np.arange(50) * 100 / 65535)  # LAS 1.4: 16 bits are the whole range
    counts = load_sweep(tmp_path / "survey.las", intensity_scale=1)
    np.testing.assert_array_equal(counts.intensity, np.arange(50) * 100)
    np.testing.assert_allclose(load_sweep(tmp_path / "survey.las", intensity_scale=4900).intensity.max(), 1.0)
