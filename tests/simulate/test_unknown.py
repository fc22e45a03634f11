"""What simulated beams say of space and surfaces that were observed, and of those that were not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep import _core
from resweep.pose import Array, from_xyz_rpy
from resweep.simulate.confidence import WEIGHTS
from resweep.simulate.tracer import SEEN_COLUMNS
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Splats, StreamedWorld, Volumes, World
from resweep.worlds.layers.seen import COMPLETED, pack_seen
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.save import save_world

RANGE_M = 30.0
SENSOR = rs.load_sensor("velodyne-vlp-16").with_(
    **{"range_max_m": RANGE_M, "pattern.azimuth_resolution_deg": 4.0, "pattern.firing_period_s": None}
)
EXACT = SENSOR.with_(**{"pointing.encoder_step_rad": 0.0})  # its pulses leave as it reports them
POSE = from_xyz_rpy(0, 0, 2.0)
LIKE_SWEEPS = ("beam", "range", "intensity", "label", "instance", "return_index")


def observe(directions: Array, reach_m: float = RANGE_M) -> ObservedSpace:
    """What beams from the pose in all directions (n, 3) cross."""
    native = _core.ObservedSpace(0.5)
    origin = np.tile(POSE[:3, 3].astype(np.float32), (len(directions), 1))
    native.mark(origin, np.ascontiguousarray(directions, np.float32), np.full(len(directions), reach_m, np.float32))
    return ObservedSpace.of(native, 0.5, reach_m)


def fan(first_deg: float, last_deg: float) -> Array:
    """Close directions over half of the horizon, to the front, between two elevations."""
    azimuth, elevation = np.meshgrid(
        np.radians(np.arange(-90, 90, 0.5)), np.radians(np.arange(first_deg, last_deg, 0.5))
    )
    return np.stack(
        [np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)], axis=-1
    ).reshape(-1, 3)


def ground(count: int = 4000, reach_m: float = 12.0, seen: Array | int = 0) -> Splats:
    rng = np.random.default_rng(1)
    centre = np.c_[rng.uniform(-reach_m, reach_m, (count, 2)), np.zeros(count)]
    extra = {"seen": np.broadcast_to(np.uint32(seen), count).copy()}
    return Splats(centre, np.tile([0, 0, 1.0], (count, 1)), np.full(count, 0.4), 40, extra=extra)


SEEN = int(pack_seen(np.array([5]), (np.array([4.0]), np.array([8.0])), (np.array([0.2]), np.array([0.5])))[0])


@pytest.fixture(scope="module")
def swept() -> Sweep:
    """A lawn of which only the front half, and the sky over it, was observed."""
    world = World([ground(seen=SEEN)], observed=observe(fan(-30, 20)))
    return rs.Simulator(world, SENSOR).sweep(POSE)


def test_a_bare_sweep_has_the_same_returns_and_nothing_else(swept: Sweep) -> None:
    world = World([ground(seen=SEEN)], observed=observe(fan(-30, 20)))
    bare = rs.Simulator(world, SENSOR).sweep(POSE, bare=True)
    for name in LIKE_SWEEPS:
        assert getattr(bare, name).tobytes() == getattr(swept, name).tobytes()
    assert bare.points.tobytes() == swept.points.tobytes()
    assert not set(SEEN_COLUMNS) & set(bare.extra)
    assert set(SEEN_COLUMNS) <= set(swept.extra)
    assert bare.n_unknown == 0 < swept.n_unknown


@pytest.mark.filterwarnings("ignore:sweep 0. none of")
def test_empty_beams_are_unknown_where_they_leave_observed_space() -> None:
    """Space full of holes: what the tracer says, which looks quickly first, is what following each beam says."""
    rng = np.random.default_rng(5)
    space = observe(fan(-20, 20)[rng.random(len(fan(-20, 20))) < 0.12])
    world = World([Splats(np.array([[0.0, 0.0, -50.0]]), np.array([[0, 0, 1.0]]), np.array([0.1]))], observed=space)
    swept = rs.Simulator(world, EXACT).sweep(POSE)
    range_m = np.float32(min(RANGE_M, 0.9 * space.reach_m))
    origins = np.tile(POSE[:3, 3].astype(np.float32), (swept.n_beams, 1))
    directions = np.ascontiguousarray(swept.beam_direction)
    _, left = space.native.follow(origins, directions, np.full(swept.n_beams, range_m), gap=2.0)
    unknown = swept.beam_status == BeamStatus.UNKNOWN
    np.testing.assert_array_equal(unknown, left < range_m)
    assert 0.1 < unknown.mean() < 0.95


def test_metres_of_unknown_space_are_those_of_looks_every_two_metres() -> None:
    space = observe(fan(-30, 20))
    swept = rs.Simulator(World([ground(seen=SEEN)], observed=space), EXACT).sweep(POSE)
    voxels = {tuple(voxel) for voxel in space._list_voxels(slice(None)).tolist()}
    for row in np.flatnonzero(swept.return_index == 0)[::97].tolist():
        direction, range_m = swept.beam_direction[swept.beam[row]].astype(np.float64), float(swept.range[row])
        edges = np.append(np.arange(0.0, range_m, 2.0), range_m)
        places = POSE[:3, 3] + 0.5 * (edges[1:] + edges[:-1])[:, None] * direction
        lost = [tuple(voxel) not in voxels for voxel in np.floor(places / 0.5).astype(int).tolist()]
        assert swept.extra["unknown_m"][row] == pytest.approx((np.diff(edges) * lost).sum(), abs=1e-4)


def test_empty_beams_are_as_recorded_where_beams_were_and_unknown_elsewhere(swept: Sweep) -> None:
    azimuth = np.degrees(np.arctan2(swept.beam_direction[:, 1], swept.beam_direction[:, 0]))
    up = swept.beam_direction[:, 2] > 0
    front, back = up & (np.abs(azimuth) < 85), up & (np.abs(azimuth) > 95)
    assert (swept.beam_status[front] == BeamStatus.EMPTY_AS_RECORDED).all()
    assert (swept.beam_status[back] == BeamStatus.UNKNOWN).all()
    assert swept.n_unknown >= back.sum() > 0


def test_a_range_beyond_what_was_looked_at_is_empty_as_recorded() -> None:
    world = World([ground(seen=SEEN)], observed=observe(fan(-30, 20)))
    far = rs.Simulator(world, SENSOR.with_(range_max_m=120.0)).sweep(POSE)
    assert (far.beam_status == BeamStatus.EMPTY_AS_RECORDED).any()
    assert not (far.beam_status == BeamStatus.NOTHING_HIT).any()


def test_returns_tell_how_far_they_are_from_what_was_seen(swept: Sweep) -> None:
    extra = swept.extra
    assert (extra["seen_count"] == 5).all()
    near, far = swept.range < 3.9, swept.range > 8.2
    assert (far.any(), near.any()) == (True, False)  # the lowest beam meets the lawn at 7.7 m
    assert extra["range_ratio"][far] == pytest.approx(swept.range[far] / 8.0, rel=0.13)
    cosine = np.abs(swept.beam_direction[swept.beam, 2])
    incidence = np.degrees(np.arccos(cosine))
    outside = np.maximum(0, incidence - np.degrees(np.arccos(0.2)))
    assert extra["incidence_off_deg"] == pytest.approx(outside, abs=1.5)
    behind = swept.points[:, 0] < -1
    assert (extra["unknown_m"][behind] > 5).all()
    assert (extra["unknown_m"][swept.points[:, 0] > 1] < 0.6).all()
    assert not extra["completed"].any()


def test_confidence_is_the_logistic_model_of_its_weights(swept: Sweep) -> None:
    extra = swept.extra
    doublings = np.log2(extra["range_ratio"].astype(np.float64))
    cosine = np.cos(np.radians(np.degrees(np.arccos(np.abs(swept.beam_direction[swept.beam, 2])))))
    count = extra["seen_count"].astype(np.float64)
    features = np.stack(
        [
            np.ones(len(swept)),
            np.log2(1 + count),
            count == 0,
            extra["completed"],
            np.clip(doublings, 0, 4),
            np.clip(-doublings, 0, 4),
            np.minimum(extra["incidence_off_deg"], 60) / 10,
            np.log2(1 + np.minimum(extra["unknown_m"], 50)),
            np.minimum(swept.range, 100) / 20,
            1 - np.sqrt(cosine),
        ]
    )
    expected = 1 / (1 + np.exp(-np.array(WEIGHTS[0]) @ features))
    assert extra["confidence"] == pytest.approx(expected, abs=2e-3)
    assert ((extra["confidence"] >= 0) & (extra["confidence"] <= 1)).all()


def test_a_world_without_a_record_gives_the_same_returns_and_says_nothing(swept: Sweep) -> None:
    bare = rs.Simulator(World([ground(seen=SEEN)]), SENSOR).sweep(POSE)
    for name in LIKE_SWEEPS:
        assert getattr(bare, name).tobytes() == getattr(swept, name).tobytes(), name
    assert list(bare.extra) == ["primitive"]
    empty = bare.beam_status != BeamStatus.RETURN
    assert set(bare.beam_status[empty].tolist()) <= {BeamStatus.NOTHING_HIT, BeamStatus.OUT_OF_RANGE}
    assert bare.n_unknown == 0


def test_made_up_primitives_mark_their_returns_and_unrecorded_ones_have_no_confidence() -> None:
    marked = World([ground(seen=SEEN | int(COMPLETED))], observed=observe(fan(-30, 20)))
    extra = rs.Simulator(marked, SENSOR).sweep(POSE).extra
    assert extra["completed"].all()
    assert np.isnan(extra["range_ratio"]).all()
    assert np.isfinite(extra["confidence"]).all()
    unknown = World([ground(seen=0)], observed=observe(fan(-30, 20)))
    sweep = rs.Simulator(unknown, SENSOR).sweep(POSE)
    assert np.isnan(sweep.extra["confidence"]).all()
    assert (sweep.extra["seen_count"] == 0).all()


def test_volumes_have_no_incidence_to_be_off() -> None:
    mean = np.random.default_rng(0).uniform(-1, 1, (200, 3)) + np.array([6, 0, 2])
    packed = pack_seen(np.full(200, 3), (np.full(200, 2.0), np.full(200, 20.0)), None)
    ball = np.tile([0.04, 0, 0, 0.04, 0, 0.04], (200, 1))
    volumes = Volumes(mean, ball, 0.2, extra={"seen": packed})
    world = World([ground(seen=SEEN), volumes], observed=observe(fan(-30, 20)))
    sweep = rs.Simulator(world, SENSOR.with_(**{"beam.rays": "nine"})).sweep(POSE)
    leaf = sweep.extra["primitive"] == int(_core.PrimitiveKind.VOLUMES)
    assert leaf.sum() > 10
    assert (sweep.extra["seen_count"][leaf] == 3).all()
    assert not sweep.extra["incidence_off_deg"][leaf].any()


def test_streamed_and_divided_worlds_give_the_same_bytes_on_any_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lawn = ground(20_000, reach_m=45.0)
    lawn.extra["seen"] = rng.integers(0, 2**32, len(lawn), dtype=np.uint32)
    world = World([lawn], observed=observe(fan(-30, 20)), tile_size_m=10.0)
    save_world(world, tmp_path / "lawn.world")
    streamed = StreamedWorld(tmp_path / "lawn.world")
    assert streamed.is_divided
    sweeps = [rs.Simulator(place, SENSOR, threads=n).sweep(POSE) for place, n in ((world, 1), (streamed, 2))]
    for name in SEEN_COLUMNS:
        assert sweeps[0].extra[name].tobytes() == sweeps[1].extra[name].tobytes(), name
    assert sweeps[0].beam_status.tobytes() == sweeps[1].beam_status.tobytes()
    assert (sweeps[0].extra["seen_count"] > 0).any()
