"""Observed space: which voxels beams cross, on disk and in worlds that are moved or added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep import _core
from resweep.errors import ResweepError
from resweep.pose import Array, from_xyz_rpy
from resweep.worlds import Splats, StreamedWorld, World, load_world
from resweep.worlds.layers.seen import COMPLETED, pack_seen, unpack_seen
from resweep.worlds.observed import ObservedSpace

VOXEL_M = 0.5


def beams(count: int = 40, seed: int = 2) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    origin = rng.uniform(-5, 5, (count, 3))
    return origin.astype(np.float32), direction.astype(np.float32), rng.uniform(1, 30, count).astype(np.float32)


def space(count: int = 40, seed: int = 2) -> ObservedSpace:
    native = _core.ObservedSpace(VOXEL_M)
    native.mark(*beams(count, seed))
    return ObservedSpace.of(native, VOXEL_M, 80.0)


def world(observed: ObservedSpace | None) -> World:
    splats = Splats(np.zeros((1, 3)), np.array([[0, 0, 1.0]]), np.ones(1), extra={"seen": np.array([9], np.uint32)})
    return World([splats], observed=observed)


def voxels_of(observed: ObservedSpace) -> set[tuple[int, ...]]:
    return set(map(tuple, observed._list_voxels(slice(None)).tolist()))


def test_beams_mark_the_voxels_that_fine_steps_along_them_find() -> None:
    origin, direction, length = beams()
    found = voxels_of(space())
    steps = np.linspace(0, 1, 20_001)[:, None]
    expected = set()
    for o, d, far in zip(*(column.astype(np.float64) for column in (origin, direction, length)), strict=True):
        expected |= set(map(tuple, np.floor((o + steps * far * d) / VOXEL_M).astype(int).tolist()))
    assert expected <= found
    assert len(found - expected) <= 0.002 * len(found)  # corners that are shorter than a step


def test_the_number_of_threads_changes_no_bit() -> None:
    spaces = []
    for threads in (1, 3):
        native = _core.ObservedSpace(VOXEL_M)
        native.mark(*beams(500), spread=0.01, threads=threads)
        spaces.append(native.blocks())
    assert all(one.tobytes() == other.tobytes() for one, other in zip(*spaces, strict=True))


def test_spread_marks_above_and_below_far_from_the_sensor() -> None:
    native = _core.ObservedSpace(1.0)
    origin, along = np.full((1, 3), 0.5, np.float32), np.array([[1, 0, 0]], np.float32)
    native.mark(origin, along, np.array([100.0], np.float32), spread=0.02)
    found = voxels_of(ObservedSpace.of(native, 1.0, 80.0))
    assert (99, 0, 2) in found
    assert (99, 0, -2) in found
    assert (5, 0, 1) not in found


def test_a_followed_beam_counts_what_nobody_observed() -> None:
    native = _core.ObservedSpace(1.0)
    start, along = np.array([[0.5, 0.5, 0.5]], np.float32), np.array([[1, 0, 0]], np.float32)
    native.mark(start, along, np.array([9.4], np.float32))  # voxels 0 to 9
    native.mark(start + np.array([[12, 0, 0]], np.float32), along, np.array([7.4], np.float32))  # 12 to 19
    unknown, left = native.follow(start, along, np.array([19.5], np.float32), gap=3.0)
    assert unknown[0] == pytest.approx(2.0)  # two voxels between
    assert np.isinf(left[0])
    unknown, left = native.follow(start, along, np.array([30.0], np.float32), gap=3.0)
    assert (unknown[0], left[0]) == (pytest.approx(12.5), pytest.approx(19.5))
    assert native.follow(start, -along, np.array([5.0], np.float32), gap=3.0)[1][0] == pytest.approx(0.5)


def test_a_saved_world_keeps_it_and_one_without_has_none(tmp_path: Path) -> None:
    observed = space()
    world(observed).save(tmp_path / "a.world")
    for read in (load_world(tmp_path / "a.world"), StreamedWorld(tmp_path / "a.world")):
        assert read.observed is not None
        assert (read.observed.voxel_m, read.observed.reach_m) == (VOXEL_M, 80.0)
        assert read.observed.place.tobytes() == observed.place.tobytes()
        assert read.observed.bits.tobytes() == observed.bits.tobytes()
    world(None).save(tmp_path / "b.world")
    assert load_world(tmp_path / "b.world").observed is None
    assert "observed" not in json.loads((tmp_path / "b.world" / "world.json").read_text())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "../elsewhere"}, "field 'path' cannot be"),
        ({"voxel_m": 0}, "field 'voxel_m' cannot be 0"),
        ({"reach_m": "far"}, "field 'reach_m' cannot be 'far'"),
        ({"n_blocks": 10**9}, "is damaged"),
        ({"n_blocks": None}, "field 'n_blocks' must be int"),
    ],
)
def test_a_damaged_entry_is_one_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    index = world(space()).save(tmp_path / "a.world") / "world.json"
    data = json.loads(index.read_text())
    data["observed"].update(change)
    index.write_text(json.dumps(data))
    with pytest.raises(ResweepError, match=message):
        load_world(tmp_path / "a.world")


def test_a_moved_world_moves_what_was_observed() -> None:
    observed = space()
    shifted = observed.moved(from_xyz_rpy(3.0, -7.5, 2.0))
    assert voxels_of(shifted) == {(x + 6, y - 15, z + 4) for x, y, z in voxels_of(observed)}
    turned = observed.moved(from_xyz_rpy(0, 0, 0, 0, 0, np.pi / 2))
    assert {(-y - 1, x, z) for x, y, z in voxels_of(observed)} <= voxels_of(turned)
    moved = world(observed).moved(from_xyz_rpy(100.0, 0, 0))
    assert moved.observed is not None
    assert voxels_of(moved.observed) == voxels_of(observed)  # the origin moved


def test_added_worlds_know_what_either_observed() -> None:
    one, other = space(seed=2), space(seed=3)
    there = world(other)
    there.origin = np.array([10.0, 0.0, 0.0])
    both = world(one) + there
    assert both.observed is not None
    assert voxels_of(both.observed) == voxels_of(one) | {(x + 20, y, z) for x, y, z in voxels_of(other)}
    alone = world(None) + world(other)
    assert alone.observed is not None
    assert (world(None) + world(None)).observed is None
    with pytest.raises(ResweepError, match="cannot be joined"):
        ObservedSpace.union([one, ObservedSpace(0.25, other.place, other.bits, 80.0)])


def test_what_was_seen_is_packed_to_whole_levels() -> None:
    rng = np.random.default_rng(0)
    least = rng.uniform(1, 100, 200)
    largest = least * rng.uniform(1, 2, 200)
    low, high = np.sort(rng.uniform(0, 1, (2, 200)), axis=0)
    count = rng.integers(0, 300, 200)
    seen = unpack_seen(pack_seen(count, (least, largest), (low, high)))
    assert (seen.count == np.minimum(count, 127)).all()
    assert ((seen.range_min_m <= least * 1.0001) & (seen.range_min_m > least * 0.89)).all()
    assert ((seen.range_max_m >= largest * 0.9999) & (seen.range_max_m < largest * 1.13)).all()
    flat, steep = np.degrees(np.arccos(high)), np.degrees(np.arccos(low))
    assert ((seen.incidence_min_deg <= flat + 1e-6) & (seen.incidence_min_deg > flat - 1.5)).all()
    assert ((seen.incidence_max_deg >= steep - 1e-6) & (seen.incidence_max_deg < steep + 1.5)).all()
    assert not seen.completed.any()
    assert unpack_seen(np.array([COMPLETED])).completed.all()


def test_following_agrees_with_fine_steps_through_full_partial_and_missing_blocks() -> None:
    """The kernel skips whole blocks; here every step of 1 mm looks its voxel up."""
    rng = np.random.default_rng(5)
    place = np.array([[x, y, z] for x in range(-2, 3) for y in range(-2, 3) for z in (-1, 0, 1)], np.int32)
    bits = rng.integers(0, 2**64, (len(place), 8), dtype=np.uint64)
    bits[rng.random(len(place)) < 0.5] = np.uint64(2**64 - 1)
    kept = rng.random(len(place)) < 0.8
    observed = ObservedSpace(VOXEL_M, place[kept], bits[kept], 80.0)
    known = voxels_of(observed)
    origin, direction, _ = beams(30, seed=6)
    direction[0], direction[1] = [1, 0, 0], [0, 0, -1]
    unknown, left = observed.native.follow(origin, direction, np.full(30, 12.0, np.float32), gap=1.0)
    for o, d, metres, ended in zip(origin.astype(float), direction.astype(float), unknown, left, strict=True):
        at = (np.arange(12_000) + 0.5) / 1000
        voxels = np.floor((o + at[:, None] * d) / VOXEL_M).astype(int)
        open_here = np.array([tuple(voxel) not in known for voxel in voxels.tolist()])
        assert metres == pytest.approx(open_here.sum() / 1000, abs=0.02)
        runs = np.flatnonzero(np.diff(np.r_[False, open_here, False].astype(int)))
        long = [first / 1000 for first, end in zip(runs[::2], runs[1::2], strict=True) if end - first > 1005]
        if long:
            assert ended == pytest.approx(long[0], abs=0.01)
