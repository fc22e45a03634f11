"""Motion that compensation left in sweeps: found from rings and poses, and undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import resweep as rs
from resweep.calibrate.calibrate import calibrate
from resweep.io.empty_beams import infer_empty_beams
from resweep.log import Log
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import Retracer
from tests.sensors.yard import Spin, two_blocks

SPIN = Spin(*two_blocks(), n_columns=720, drive_m=0.7)  # as far as its sweeps are apart


def recorded(compensated: float) -> Log:
    """A drive along x, of whose points a share of the motion was taken out."""
    log = SPIN.log(5, compensated)
    return infer_empty_beams(replace(log, poses_known=True, times_known=True))


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_what_was_left_or_taken_too_much_is_undone(share: float) -> None:
    log, exact = recorded(share), recorded(1.0)
    for at in (0, 2, 4):
        seen, true = prepare_drive(log)[at], exact[at].points
        before = np.linalg.norm(log[at].points - true, axis=1).max()
        after = np.linalg.norm(seen.deskewed() - true, axis=1).max()
        assert before > 0.03
        assert after < 0.1 * before
        np.testing.assert_array_equal(seen.points, log[at].points)


def test_times_follow_the_turn() -> None:
    sweep = prepare_drive(recorded(0.9))[2]
    ahead = sweep.beam_time - sweep.timestamp
    azimuth = np.degrees(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0]))
    np.testing.assert_allclose(ahead, -0.7 * azimuth / 360.0, atol=1e-4)  # clockwise, a turn in 0.7 s


def test_what_shows_no_motion_stays() -> None:
    whole = recorded(0.9)
    raw = recorded(0.0)  # as measured
    assert prepare_drive(raw)[1].trajectory is None
    short = replace(whole[:2], part=None)
    for unknown in (replace(whole, poses_known=False), replace(whole, times_known=False), short):
        assert prepare_drive(unknown)[1].trajectory is None
    once = prepare_drive(whole)
    assert prepare_drive(once) is once
    again = prepare_drive(replace(once, prepared=False))  # as of files that were written prepared
    assert_same_sweep(again[1], once[1])


def assert_same_sweep(one: rs.Sweep, other: rs.Sweep) -> None:
    for name in ("beam_time", "beam_origin", "beam_direction", "range", "pose"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.trajectory is not None
    assert other.trajectory is not None
    np.testing.assert_array_equal(one.trajectory.poses, other.trajectory.poses)
    np.testing.assert_array_equal(one.trajectory.times, other.trajectory.times)


@pytest.mark.parametrize("part", [slice(2, 3), slice(3, None), slice(None, None, 2), [4, 0]])
def test_a_slice_is_prepared_as_the_whole_drive_is(part: slice | list[int]) -> None:
    log = recorded(0.9)
    first, then = prepare_drive(log)[part], prepare_drive(log[part])
    assert len(first) == len(then)
    for one, other in zip(first, then, strict=True):
        assert_same_sweep(one, other)
    # Through a step between, and a slice of a slice, too.
    named = log[1:].map(lambda sweep: replace(sweep, sensor="named"))
    assert_same_sweep(prepare_drive(named[1:2])[0], prepare_drive(log)[2])


def test_a_slice_with_other_poses_is_a_drive_of_its_own() -> None:
    log = recorded(0.9)[1:4]
    assert log.whole is not log
    moved = replace(log, poses=log.poses + 0.0)
    assert moved.whole is log.whole
    poses = log.poses.copy()
    poses[:, 0, 3] *= 2.0
    other = replace(log, poses=poses)
    assert other.whole is other
    np.testing.assert_array_equal(other.numbers, [0, 1, 2])


def test_it_travels_to_other_processes() -> None:
    read = recorded(0.9)
    log = prepare_drive(replace(read, load=list(read).__getitem__))
    there: Log = cloudpickle.loads(cloudpickle.dumps(log))
    np.testing.assert_array_equal(there[1].deskewed(), log[1].deskewed())


@pytest.mark.slow
def test_surfaces_of_a_real_drive_agree_better(sample_data: Path) -> None:
    """Points of SemanticKITTI 06 were moved by ten packets of GPS where a turn takes eleven."""
    log = rs.open_log(sample_data / "semantickitti_mini/sequences/06")[2:7]
    corrected = prepare_drive(log)
    moved = corrected[2].deskewed() - corrected[2].points
    assert 0.03 < np.abs(moved[:, 0]).max() < 0.08
    before, after = (calibrate(one).plane_residual_m[1] for one in (log, corrected))
    assert after < before


@pytest.mark.slow
def test_a_drive_fired_again_keeps_its_times_and_meets_the_corrected_map() -> None:
    log = recorded(0.9)
    world = rs.build(log, rs.SplatConfig(), progress=False)
    again = Retracer.for_log(world, log).run(log)[2]
    plain = Retracer(world, aligned=True).sweep(log[2])
    assert again.trajectory is None
    np.testing.assert_array_equal(again.beam_time, log[2].beam_time)
    assert _error_m(again, log[2]) < 0.7 * _error_m(plain, log[2])


def _error_m(sweep: rs.Sweep, real: rs.Sweep) -> float:
    """Mean difference of ranges, of beams that return in both and are less than half a metre apart."""
    reach = np.full((2, real.n_beams), np.nan)
    for row, one in zip(reach, (sweep, real), strict=True):
        row[one.beam] = one.range
    apart = np.abs(reach[0] - reach[1])
    return float(apart[apart < 0.5].mean())
