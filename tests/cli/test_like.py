"""``resweep simulate --like``: the beams of a log, or another sensor, where and when the log was recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.build import SurfelConfig
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import street
from resweep.simulate import Simulator
from resweep.sweep import Sweep

ROAD, BUILDING = 40, 50


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A log of a dark road before a bright wall, and the world built from it."""
    folder = tmp_path_factory.mktemp("recorded")
    axis = np.arange(-12, 12, 0.12)
    x, y = (part.ravel() for part in np.meshgrid(axis, axis))
    road = np.column_stack([x, y, np.zeros_like(x)])
    wall = np.column_stack([np.full_like(x, 12.0), x, 0.25 * (y + 12)])
    points = np.concatenate([road, wall])
    label = np.repeat([ROAD, BUILDING], len(road))
    intensity = np.repeat([0.1, 0.6], len(road)).astype(np.float32)
    sweeps = []
    for at in range(4):
        pose = from_xyz_rpy(0.5 * at, 0, 1.8)
        local = points - pose[:3, 3]
        sweeps.append(Sweep.from_points(local, pose=pose, timestamp=0.1 * at, label=label, intensity=intensity))
    known = Log.from_sweeps(sweeps, labels=rs.load_labels("semantickitti"))
    rs.write_log(known, folder / "drive", format="semantickitti", progress=False)
    config = SurfelConfig(voxel_m=0.1, radius_m=0.15, calibrate=None, map={"ego_radius_m": 0.0, "moving": "labels"})
    rs.build(rs.open_log(folder / "drive"), config, progress=False).save(folder / "place.world")
    return folder / "drive", folder / "place.world"


def simulated(resweep: Any, recorded: tuple[Path, Path], out: str, *args: str, like: bool = True) -> tuple[Log, str]:
    drive, world = recorded
    source = ("--like" if like else "--poses", drive)
    result = resweep(
        *("simulate", world, "-s", "velodyne-hdl-32e", *source, "--offset", "0,0,-0.5", "-o", out),
        *("--format", "semantickitti", "--sweeps", "2", *args),
    )
    assert result.status == 0, result.err
    return rs.open_log(out, empty_beams=False), result.out


def test_labels_intensity_and_noise_survive_to_the_written_sequence(resweep: Any, recorded: tuple[Path, Path]) -> None:
    log, result = simulated(resweep, recorded, "sim")
    assert "range noise 20 mm\n" in result
    assert log.meta["range_noise"] == "20 mm"
    assert log.sensor is not None
    assert log.sensor.receiver.range_noise_sigma_m == 0.02
    assert log.meta["poses_from"] == str(recorded[0])
    assert log.meta["offset_m"] == "0,0,-0.5"
    sweep = log[1]
    assert sweep.pose[2, 3] == pytest.approx(1.3, abs=1e-6)
    road, wall = sweep.label == ROAD, sweep.label == BUILDING
    assert road.sum() > 1000
    assert wall.sum() > 500
    assert (road | wall).all()
    world = sweep.world_points()
    assert np.quantile(np.abs(world[road, 2]), 0.95) < 0.05
    assert np.quantile(np.abs(world[wall, 0] - 12), 0.95) < 0.05
    near = np.abs(world[wall, 1]) < 3  # hit squarely
    assert np.median(sweep.intensity[wall][near]) > 3 * np.median(sweep.intensity[road])
    # The same seed without noise: what differs is the noise, of 20 mm, and its rounding.
    clean, result = simulated(resweep, recorded, "clean", "--noise-m", "0")
    assert "range noise 0 mm (the sensor's own: 20 mm)" in result
    apart = sweep.range - clean[1].range
    assert np.std(apart) == pytest.approx(0.02, rel=0.1)


def test_noise_is_the_sensors_own_with_like_and_without_and_settings_win(
    resweep: Any, recorded: tuple[Path, Path]
) -> None:
    def sigma(out: str) -> float:
        sensor = rs.open_log(out).sensor
        assert sensor is not None
        return sensor.receiver.range_noise_sigma_m

    for like in (True, False):
        _, result = simulated(resweep, recorded, f"own{like}", like=like)
        assert sigma(f"own{like}") == 0.02
        assert "range noise 20 mm\n" in result
    simulated(resweep, recorded, "set", "--set", "receiver.range_noise_sigma_m=0.03")
    assert sigma("set") == 0.03
    simulated(resweep, recorded, "given", "--noise-m", "0.01", like=False)
    assert sigma("given") == 0.01
    drive, world = recorded
    twice = ("--noise-m", "0.01", "--set", "receiver.range_noise_sigma_m=0.03")
    refused = resweep("simulate", world, "-s", "velodyne-hdl-32e", "--like", drive, "-o", "no", *twice)
    assert refused.status != 0
    assert "give one of them" in refused.err


STREET_SENSOR = "velodyne-vlp-16"
STARTS = 100.0 + np.array([0.0, 0.104, 0.208, 0.3125, 0.416])  # 9.62 Hz, of a sensor that turns at 20


@pytest.fixture(scope="module")
def street_drive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A drive along a street at 9.62 Hz, with every beam, and the world built from it."""
    folder = tmp_path_factory.mktemp("street")
    times = np.linspace(99.5, 101.0, 20)
    motion = Trajectory(times, np.stack([from_xyz_rpy(8 * (time - 100), 0, 1.9) for time in times]))
    coarse = rs.load_sensor(STREET_SENSOR).with_(rotation_rate_hz=20, **{"beam.rays": "single"})
    log = Simulator(street(seed=3), coarse, seed=1).run(motion, starts=STARTS)
    rs.write_log(log, folder / "drive", progress=False)
    config = SurfelConfig(voxel_m=0.1, radius_m=0.12, normal_radius_m=0.4, map={"moving": "none", "ego_radius_m": 0.0})
    rs.build(rs.open_log(folder / "drive"), config, progress=False).save(folder / "place.world")
    return folder / "drive", folder / "place.world"


@pytest.mark.slow
def test_like_alone_fires_the_recorded_beams_and_evaluation_matches_each(
    resweep: Any, street_drive: tuple[Path, Path]
) -> None:
    drive, world = street_drive
    result = resweep("simulate", world, "--like", drive, "-o", "again")
    assert result.status == 0, result.err
    assert f"again: 5 sweeps of the recorded beams of {drive}" in result.out
    assert "range noise 0 mm: the world holds the recording's, --noise-m adds to it" in result.out
    again, log = rs.open_log("again"), rs.open_log(drive)
    np.testing.assert_array_equal(again.times, log.times)
    np.testing.assert_array_equal(again.poses, log.poses)
    for name in ("beam_direction", "beam_time", "beam_ring", "beam_column"):
        np.testing.assert_array_equal(getattr(again[3], name), getattr(log[3], name))
    assert log[3].n_beams > len(log[3])  # empty beams are fired too
    assert again.sensor is not None
    assert (again.sensor.name, again.sensor.receiver.range_noise_sigma_m) == (STREET_SENSOR, 0.0)
    found = json.loads(resweep("evaluate", "again", drive, "--json").out.splitlines()[-1])
    assert found["matched"] == 1.0
    assert found["range_median_m"] < 0.03  # the recording has 3 cm of noise itself
    named = resweep("simulate", world, "-s", "recorded", "--like", drive, "-o", "named")
    assert named.status == 0, named.err
    assert (Path("again") / "000003.sweep").read_bytes() == (Path("named") / "000003.sweep").read_bytes()


def test_the_same_in_python(street_drive: tuple[Path, Path]) -> None:
    drive, world = street_drive
    log, place = rs.open_log(drive), rs.load_world(world)
    report = rs.evaluate(rs.resimulate(log[1:3], place), log[1:3])
    assert report["matched"] == 1.0
    error_m = report["range_median_m"]
    assert error_m is not None
    assert error_m < 0.03
    other = rs.resimulate(log, place, "velodyne-hdl-32e")
    np.testing.assert_array_equal(other.times, log.times)
    with pytest.raises(rs.ResweepError, match="has no poses"):
        rs.resimulate(replace(log, poses_known=False), place)


@pytest.mark.parametrize("args", [(), ("-s", "velodyne-hdl-32e"), ("-s", "velodyne-hdl-32e", "--standing")])
def test_like_keeps_the_sweeps_and_their_times(
    resweep: Any, street_drive: tuple[Path, Path], args: tuple[str, ...]
) -> None:
    drive, world = street_drive
    result = resweep("simulate", world, "--like", drive, "-o", "again", *args)
    assert result.status == 0, result.err
    again, log = rs.open_log("again"), rs.open_log(drive)
    np.testing.assert_array_equal(again.times, STARTS)
    np.testing.assert_allclose(again.poses, log.poses, atol=1e-9)
    assert len(again[4]) > 1000
    assert resweep("simulate", world, "--like", drive, "-o", "two", "--sweeps", 2, *args).status == 0
    np.testing.assert_array_equal(rs.open_log("two").times, STARTS[:2])
    refused = resweep("simulate", world, "--like", drive, "-o", "six", "--sweeps", 6, *args)
    assert "holds 5 sweeps, 6 are asked for" in refused.err


def test_what_recorded_beams_cannot_do_is_refused(resweep: Any, street_drive: tuple[Path, Path]) -> None:
    drive, world = street_drive
    for args, message in (
        (("-s", "recorded", "-p", "0,0,2"), "--sensor recorded: fires the beams of a log; give that with --like LOG"),
        (("-p", "0,0,2"), "--sensor: missing"),
        (("--like", drive, "--offset", "0,0,1"), "--offset: recorded beams leave as they were recorded"),
        (("--like", drive, "--standing"), "--standing: recorded beams"),
        (("--like", drive, "--rate", "5"), "--rate: recorded beams"),
    ):
        refused = resweep("simulate", world, *args, "-o", "no")
        assert (refused.status, message in refused.err) == (1, True), refused.err
    noisy = resweep("simulate", world, "--like", drive, "--sweeps", 1, "--noise-m", "0.05", "-o", "noisy")
    assert "range noise 50 mm (the sensor's own: 0 mm)" in noisy.out
    catalog = resweep("simulate", world, "-s", STREET_SENSOR, "--like", drive, "--sweeps", 1, "-o", "catalog")
    assert "fires its catalog pattern, not the beams of" in catalog.err
