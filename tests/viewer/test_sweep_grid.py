"""The grid of azimuth and elevation that a sweep is drawn on."""

from __future__ import annotations

import numpy as np
import trimesh

from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.viewer.sweep_grid import angles_deg, range_grid
from resweep.worlds import World

ROOM = World.from_mesh(trimesh.creation.box((20, 20, 20)))


def looking(azimuth_deg: float, elevation_deg: float, cells: np.ndarray, extent: tuple[float, ...]) -> int:
    """The return in the cell of a direction."""
    left, right, bottom, top = extent
    column = int((azimuth_deg - left) / (right - left) * cells.shape[1])
    row = int((elevation_deg - bottom) / (top - bottom) * cells.shape[0])
    return int(cells[row, column])


def test_angles() -> None:
    azimuth, elevation = angles_deg(np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 1], [0, 0, -1]]))
    np.testing.assert_allclose(azimuth[:4], [0, 90, 180, 0])
    np.testing.assert_allclose(elevation, [0, 0, 0, 45, -90])


def test_every_cell_shows_the_beam_that_looks_there() -> None:
    for name in ("velodyne-vlp-16", "velodyne-hdl-64e", "ouster-os1-32"):
        sweep = Simulator(ROOM, name, seed=1).sweep(np.eye(4))
        grid = range_grid(sweep)
        assert grid is not None
        assert (grid.cells >= 0).mean() > 0.99
        levels = np.sort([np.median(angles_deg(sweep.beam_direction[sweep.beam_ring == 3])[1])])
        for azimuth in (-135.0, -20.0, 0.0, 44.0, 170.0):
            at = looking(azimuth, float(levels[0]), grid.cells, grid.extent)
            seen = angles_deg(sweep.beam_direction[sweep.beam[[at]]])
            assert abs(seen[0][0] - azimuth) < 0.6
            assert sweep.ring[at] == 3


def test_empty_beams_and_missing_points_stay_empty() -> None:
    wall = World.from_mesh(
        trimesh.creation.box((1, 40, 40), transform=trimesh.transformations.translation_matrix((10, 0, 0)))
    )
    sweep = Simulator(wall, "velodyne-vlp-16", seed=1).sweep(np.eye(4))
    bare = Sweep.from_points(sweep.points, ring=sweep.ring)
    for seen in (sweep, bare):
        grid = range_grid(seen)
        assert grid is not None
        assert looking(0.0, 1.0, grid.cells, grid.extent) >= 0
    full = range_grid(sweep)
    assert full is not None
    assert looking(120.0, 1.0, full.cells, full.extent) == -1


def test_the_nearest_return_of_a_beam_is_shown() -> None:
    first = Simulator(ROOM, "velodyne-vlp-16", seed=1).sweep(np.eye(4))
    twice = Sweep(
        **{name: getattr(first, name) for name in ("pose", "beam_origin", "beam_direction", "beam_time")},
        **{name: getattr(first, name) for name in ("beam_ring", "beam_column", "beam_status")},
        beam=np.tile(first.beam, 2),
        range=np.concatenate([first.range, first.range / 2]),
        **{name: np.tile(getattr(first, name), 2) for name in ("intensity", "return_index", "label", "instance")},
    )
    grid = range_grid(twice)
    assert grid is not None
    assert (grid.cells[grid.cells >= 0] >= len(first)).all()


def test_a_pattern_without_rings_has_no_grid() -> None:
    assert range_grid(Simulator(ROOM, "livox-avia", seed=1).sweep(np.eye(4))) is None
    assert range_grid(Sweep.from_points(np.random.default_rng(0).normal(size=(500, 3)))) is None
