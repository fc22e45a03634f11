"""Worlds keep which space their beams crossed, and how their primitives were seen, built in one piece or in tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.log import Log
from resweep.map.seen_records import record_seen
from resweep.sweep import BeamStatus
from resweep.worlds import Splats, World
from resweep.worlds.layers.seen import COMPLETED, unpack_seen

CONFIG = rs.HybridConfig(calibrate=None)


@pytest.fixture(scope="module")
def whole(garden: Log) -> World:
    return rs.build(garden, CONFIG, progress=False)


@pytest.fixture(scope="module")
def tiled(garden: Log) -> World:
    return rs.build(garden, CONFIG, tile_m=20.0, progress=False)


@pytest.mark.slow
def test_tiles_observe_what_one_piece_does(whole: World, tiled: World) -> None:
    assert whole.observed is not None
    assert tiled.observed is not None
    assert whole.observed.place.tobytes() == tiled.observed.place.tobytes()
    assert whole.observed.bits.tobytes() == tiled.observed.bits.tobytes()
    assert whole.observed.reach_m == rs.load_sensor("velodyne-vlp-16").range_max_m
    assert whole.observed.n_bytes < 3e6


def test_every_primitive_says_how_it_was_seen(whole: World, tiled: World, garden: Log) -> None:
    returns = sum(len(sweep) for sweep in garden)
    for world in (whole, tiled):
        total = 0
        for layer in world.layers:
            seen = unpack_seen(layer.extra["seen"])  # type: ignore[union-attr]
            assert not seen.completed.any()
            assert (seen.range_min_m <= seen.range_max_m).all()
            assert 1 < np.median(seen.range_min_m) < 30
            total += int(seen.count.sum())
        assert 0.7 * returns < total <= returns


def test_a_recorded_sweep_comes_back_empty_where_it_was(whole: World, garden: Log) -> None:
    sweep = garden[3]
    again = rs.Retracer.for_log(whole, garden).sweep(sweep)
    empty = np.ones(sweep.n_beams, bool)
    empty[sweep.beam] = False
    none = empty & ~np.isin(np.arange(sweep.n_beams), again.beam)
    assert none.sum() > 100
    assert (again.beam_status[none] == BeamStatus.EMPTY_AS_RECORDED).mean() > 0.99


def test_the_record_can_be_left_out(garden: Log) -> None:
    config = rs.SurfelConfig(calibrate=None, map={"observed_voxel_m": 0})  # type: ignore[arg-type]
    assert rs.build(garden[:2], config, progress=False).observed is None


def test_a_build_that_resumes_keeps_the_record(garden: Log, whole: World, tmp_path: Path) -> None:
    from resweep.map.checkpoints import Checkpoints

    config = rs.SurfelConfig(calibrate=None)
    worlds = []
    for _ in range(2):
        kept = Checkpoints.open(
            tmp_path / "steps", garden, config, config.map.choose_labels(garden), say=lambda _: None
        )
        worlds.append(rs.build(garden, config, progress=False, checkpoints=kept))
    assert kept.kept == ["accumulate"]
    for world in worlds:
        assert world.observed is not None
        assert whole.observed is not None
        assert world.observed.bits.tobytes() == whole.observed.bits.tobytes()


def test_what_is_marked_as_made_up_stays_so(whole: World, garden: Log) -> None:
    from resweep.build import Map

    layer = whole.layers[0]
    assert isinstance(layer, Splats)
    marked = layer.extra["seen"].copy()
    marked[::2] = COMPLETED
    made = Splats(layer.centre, layer.normal, layer.radius, extra={"seen": marked})
    (again,) = record_seen(Map.from_log(garden).cloud, [made])
    assert isinstance(again, Splats)
    assert (unpack_seen(again.extra["seen"]).completed == (marked == COMPLETED)).all()
