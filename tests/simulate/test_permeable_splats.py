"""Permeable splats: the draws against NumPy, their statistics, predictions as mixtures, and opaque worlds unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import resweep as rs
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensors import Sensor
from resweep.simulate.philox import Purpose, words
from resweep.simulate.scene import make_native_scene
from resweep.sweep import Sweep
from resweep.worlds import Splats, StreamedWorld, World
from resweep.worlds.stream.cells import make_cells
from tests.reference.permeable_splats import disc_outcomes, disc_ranges, keyed_disc_ranges

AHEAD = np.array([[1.0, 0, 0]], np.float32)


def discs(count: int = 60, seed: int = 0, opaque: float = 0.0, **options: int) -> Splats:
    """Discs across the x axis, each with a share of its own; the share ``opaque`` of them is opaque."""
    rng = np.random.default_rng(seed)
    centre = np.stack([rng.uniform(4, 12, count), rng.uniform(-1, 1, count), rng.uniform(-1, 1, count)], axis=1)
    normal = np.array([-1.0, 0, 0]) + rng.normal(0, 0.2, (count, 3))
    share = np.where(rng.random(count) < opaque, 0.0, rng.uniform(0.1, 0.9, count))
    radius = rng.uniform(0.2, 0.6, count)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return Splats(centre, normal, radius, label=np.arange(count), permeability=share, **options)


def wall(share: float | None, at_m: float = 5.0, **options: int) -> Splats:
    return Splats([[at_m, 0, 0]], -AHEAD, [at_m / 3], label=int(at_m), permeability=share, **options)


def scanner(columns: int) -> Sensor:
    """Three rings of single rays without noise."""
    return Sensor.model_validate(
        {
            "name": "bare",
            "range_max_m": 50.0,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360.0 / columns,
                "channels": {"elevation_deg": [-2.0, 0.0, 2.0]},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": 0.0, "range_quantisation_m": 0.0},
        }
    )


def scan(world: World | StreamedWorld, columns: int = 4000, **options: int) -> tuple[Sweep, Array, Array]:
    """A sweep, the beams that look along x, and their ranges, infinite without return."""
    sweep = rs.Simulator(world, scanner(columns), seed=3, **options).sweep(np.eye(4), index=2)
    ranges = np.full(sweep.n_beams, np.inf)
    ranges[sweep.beam] = sweep.range
    ahead = np.flatnonzero(np.abs(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0])) < 0.15)
    return sweep, ahead, ranges[ahead]


def test_the_tracer_draws_what_the_reference_draws() -> None:
    splats = discs(depth=1)
    sweep, ahead, found = scan(World([splats]))
    word = words(3, 2, np.arange(sweep.n_beams), 0, Purpose.VOLUMES).astype(np.uint64)
    keys = ((word[:, 1] << np.uint64(32)) | word[:, 0])[ahead]
    direction = sweep.beam_direction[ahead]
    expected = keyed_disc_ranges(splats, np.zeros((len(ahead), 3), np.float32), direction, keys)
    equal = np.isclose(found, expected, atol=1e-3) | (np.isinf(found) & np.isinf(expected))
    assert equal.mean() > 0.99  # the rest meet an edge, of a disc or of a cell, that rounding decides
    assert 0.05 < np.isinf(found).mean() < 0.9


@pytest.mark.parametrize("depth", [1, 5])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_known_share_of_the_beams_passes_to_the_wall_behind(share: float, depth: int) -> None:
    front, behind = wall(share, depth=depth), wall(None, 9.0, depth=depth)
    _, _, ranges = scan(World([front, behind]), 12000)
    passed = int((np.abs(ranges[np.isfinite(ranges)] - 9.0) < 0.5).sum())
    stopped = int((np.abs(ranges[np.isfinite(ranges)] - 5.0) < 0.5).sum())
    assert passed + stopped > 1000
    assert binomtest(passed, passed + stopped, share).pvalue > 1e-4


def test_opaque_discs_of_the_same_layer_still_blend() -> None:
    centre = [[5.0, 0, 0], [9.0, 0, 0], [9.04, 0, 0]]
    mixed = Splats(centre, np.repeat(-AHEAD, 3, axis=0), [1.0, 2.0, 2.0], permeability=[0.5, 0, 0])
    _, _, ranges = scan(World([mixed]))
    behind = ranges[ranges > 8.0]
    alone = scan(World([Splats(centre[1:], np.repeat(-AHEAD, 2, axis=0), [2.0, 2.0])]))[2]
    assert len(behind) > 30
    assert set(behind) <= set(alone)
    assert 9.005 < np.median(behind) < 9.04


def predict(world: World, direction: Array, measured: Array) -> dict[str, Array]:
    settings = {"sigma": 0.03, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0}
    return dict(make_native_scene(world).predict(np.zeros_like(direction), direction, measured, **settings))


def test_a_prediction_is_the_mixture_of_the_discs_along_the_beam() -> None:
    splats = discs(opaque=0.2, depth=1)
    rng = np.random.default_rng(1)
    direction = np.column_stack([np.ones(300), rng.uniform(-0.1, 0.1, (300, 2))])
    direction = (direction / np.linalg.norm(direction, axis=1, keepdims=True)).astype(np.float32)
    stops, left = disc_outcomes(splats, np.zeros_like(direction), direction)
    ranges = disc_ranges(splats, np.zeros_like(direction), direction)
    measured = np.where(rng.random(300) < 0.2, np.inf, np.where(stops > 0, ranges, 0.0).max(axis=1)).astype(np.float32)
    measured[measured == 0] = np.inf
    found = predict(World([splats]), direction, measured)
    np.testing.assert_allclose(found["returns"], 1 - left, atol=1e-5)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (measured[:, None] - ranges) / 0.03
        density = np.where(np.isfinite(z), stops * np.exp(-0.5 * z**2), 0.0).sum(axis=1) / (0.03 * np.sqrt(2 * np.pi))
        expected = np.log(np.where(np.isinf(measured), left, density))
    known = np.isfinite(expected)
    assert known.sum() > 250
    np.testing.assert_allclose(found["log_likelihood"][known], expected[known], atol=0.02)
    assert ((found["kind"] == 2) | np.isinf(found["range"])).all()


def test_a_column_of_zeros_is_opaque_and_gives_the_same_bytes() -> None:
    bare = discs(opaque=1.0)
    assert bare.permeability is None
    assert bare.lower().permeability is None
    plain = Splats(bare.centre, bare.normal, bare.radius, bare.label)
    for one, other in zip(scan(World([bare])), scan(World([plain])), strict=True):
        if isinstance(one, Sweep):
            np.testing.assert_array_equal(one.range, other.range)
        else:
            np.testing.assert_array_equal(one, other)


def test_threads_change_no_byte() -> None:
    world = World([discs(opaque=0.5)])
    np.testing.assert_array_equal(scan(world, threads=1)[2], scan(world, threads=2)[2])


def far_apart() -> World:
    """A world of many tiles, which is traced cell by cell."""
    near, far = discs(opaque=0.3), discs(seed=1)
    there = Splats(far.centre + np.float32([200.0, 300.0, 0]), far.normal, far.radius, far.label, extra=far.extra)
    joined = {
        name: np.concatenate([getattr(near, name), getattr(there, name)]) for name in ("centre", "normal", "radius")
    }
    share = np.concatenate([near.extra["permeability"], there.extra["permeability"]])
    return World([Splats(**joined, label=1, permeability=share)], tile_size_m=25.0)


def test_a_saved_world_keeps_the_shares_and_a_streamed_one_draws_the_same(tmp_path: Path) -> None:
    world = far_apart()
    assert make_cells(world) is not None
    path = world.save(tmp_path / "a.world")
    again = rs.load_world(path).layers[0]
    assert isinstance(again, Splats)
    np.testing.assert_array_equal(again.permeability, world.layers[0].permeability)
    ranges = [scan(place)[2] for place in (world, StreamedWorld(path))]
    np.testing.assert_array_equal(*ranges)
    whole = replace_tiles(world)
    assert make_cells(whole) is None
    np.testing.assert_array_equal(ranges[0], scan(whole)[2])
    assert np.isinf(ranges[0]).any()


def replace_tiles(world: World) -> World:
    return World(world.layers, world.origin, tile_size_m=1000.0)


def test_shares_beyond_0_and_1_are_refused() -> None:
    for share in (-0.1, 1.5, np.nan):
        with pytest.raises(ResweepError, match="permeability must be from 0 to 1"):
            wall(share)
    with pytest.raises(ResweepError, match="permeability"):
        Splats([[5.0, 0, 0]], -AHEAD, [1.0], extra={"permeability": np.array([2.0])})
