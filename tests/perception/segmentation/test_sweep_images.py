"""Where returns fall in an image, which of them it shows, and back to their directions."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.perception.segmentation.sweep_images import (
    INTENSITY,
    OCCUPIED,
    RANGE,
    ImageGeometry,
    X,
    Y,
    Z,
    find_geometry,
    make_image,
)
from resweep.sweep import Sweep

EVEN = ImageGeometry(columns=64, elevation_deg=tuple(np.arange(4.0, -12.0, -1.0).tolist()))


def test_columns_go_clockwise_from_behind() -> None:
    ahead, left, behind, right = [5.0, 0, 0], [0, 5.0, 0], [-5.0, -1e-9, 0], [0, -5.0, 0]
    assert EVEN.find_columns(np.array([ahead, left, behind, right])).tolist() == [32, 16, 63, 48]
    assert EVEN.find_columns(np.array([[-5.0, 0.0, 0]])).tolist() == [0]


def test_rows_are_those_of_the_nearest_elevation() -> None:
    assert EVEN.find_rows(np.array([90.0, 4.0, 3.6, 3.4, -11.0, -60.0])).tolist() == [0, 0, 0, 1, 15, 15]


def test_the_direction_of_a_cell_leads_back_to_its_return() -> None:
    rng = np.random.default_rng(0)
    elevation, azimuth = np.radians(rng.uniform(-11, 4, 500)), rng.uniform(-np.pi, np.pi, 500)
    ranges = rng.uniform(2, 50, 500)
    flat = np.cos(elevation) * ranges
    points = np.column_stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation) * ranges])
    image = make_image(Sweep.from_points(points, intensity=rng.random(500)), EVEN)
    back = np.pi - (image.column + 0.5) * 2 * np.pi / EVEN.columns
    assert np.abs(np.angle(np.exp(1j * (back - azimuth)))).max() <= np.pi / EVEN.columns + 1e-6
    rows = np.radians(np.array(EVEN.elevation_deg)[image.row])
    assert np.abs(rows - elevation).max() <= np.radians(0.5) + 1e-6
    shown = image.nearest[image.nearest >= 0]
    there = image.nearest >= 0
    assert pytest.approx(points[shown], abs=1e-5) == image.values[[X, Y, Z]][:, there].T
    assert image.values[RANGE][there] == pytest.approx(ranges[shown], rel=1e-6)
    assert (image.values[OCCUPIED] == there).all()
    assert not image.values[:, ~there].any()


def test_a_cell_shows_its_nearest_return() -> None:
    points = np.array([[9.0, 0, 0], [4.0, 0, 0], [6.0, 0, 0], [0, 7.0, 0]])
    image = make_image(Sweep.from_points(points, intensity=np.arange(4) / 10), EVEN)
    assert image.nearest[4, 32] == 1
    assert image.values[INTENSITY, 4, 32] == np.float32(0.1)
    assert image.hidden.tolist() == [True, False, True, False]


def test_returns_of_a_laser_stay_in_its_row() -> None:
    """A laser that wobbles by 0.4° stays in one row; without lasers its returns fall into two."""
    azimuth, tilt = np.linspace(-3, 3, 40), np.radians(np.tile([-3.7, -2.9], 20))
    flat = np.cos(tilt)
    points = 7 * np.column_stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(tilt)])
    above = points + np.array([0, 0, 5.0])
    both, ring = np.concatenate([points, above]), np.repeat([0, 1], 40)
    assert make_image(Sweep.from_points(both, ring=ring), EVEN).row[:40].tolist() == [7] * 40
    assert make_image(Sweep.from_points(both), EVEN).row[:40].tolist() == [8, 7] * 20
    scattered = np.concatenate([points[:20], above[:20], points[20:], above[20:]])  # rings that are no lasers
    assert make_image(Sweep.from_points(scattered, ring=ring), EVEN).row[:20].tolist() == [8, 7] * 10


def test_a_geometry_has_a_row_for_each_ring_or_even_ones() -> None:
    tilt = np.radians(np.repeat([2.0, -9.0, -1.0, -4.0], 10))
    azimuth = np.tile(np.linspace(-3, 3, 10), 4)
    points = 7 * np.column_stack([np.cos(tilt) * np.cos(azimuth), np.cos(tilt) * np.sin(azimuth), np.sin(tilt)])
    sweep = Sweep.from_points(points, ring=np.repeat(np.arange(4), 10))
    assert find_geometry(sweep, 4, 64).elevation_deg == pytest.approx((2.0, -1.0, -4.0, -9.0), abs=1e-3)
    assert find_geometry(sweep, 12, 64).elevation_deg == pytest.approx(np.linspace(2, -9, 12), abs=1e-3)
    assert find_geometry(Sweep.from_points(points), 4, 64).elevation_deg == pytest.approx(
        np.linspace(2, -9, 4), abs=1e-3
    )


def test_a_geometry_whose_rows_do_not_fall_is_refused() -> None:
    with pytest.raises(ResweepError, match="expected elevations that fall from row to row"):
        ImageGeometry(columns=64, elevation_deg=(1.0, 2.0))


def test_a_sweep_without_returns_is_an_empty_image() -> None:
    image = make_image(Sweep.from_points(np.zeros((0, 3))), EVEN)
    assert not image.values.any()
    assert (image.nearest == -1).all()
