"""``resweep simulate --like``: another sensor where a log was recorded, with labels, intensity and its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.reconstruction import SurfelConfig
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


def simulated(resweep: Any, recorded: tuple[Path, Path], out: str, *words: str, like: bool = True) -> tuple[Log, str]:
    drive, world = recorded
    source = ("--like" if like else "--poses", drive)
    told = resweep(
        *("simulate", world, "-s", "velodyne-hdl-32e", *source, "--offset", "0,0,-0.5", "-o", out),
        *("--format", "semantickitti", "--sweeps", "2", *words),
    )
    assert told.status == 0, told.err
    return rs.open_log(out, empty_beams=False), told.out


def test_labels_intensity_and_noise_survive_to_the_written_sequence(resweep: Any, recorded: tuple[Path, Path]) -> None:
    log, told = simulated(resweep, recorded, "sim")
    assert "range noise 5 mm (the sensor's own: 20 mm)" in told
    assert log.meta["range_noise"] == "5 mm (the sensor's own: 20 mm)"
    assert log.sensor is not None
    assert log.sensor.receiver.range_noise_sigma_m == 0.005
    assert log.meta["poses_from"] == str(recorded[0])
    assert log.meta["offset_m"] == "0,0,-0.5"
    sweep = log[1]
    assert sweep.pose[2, 3] == pytest.approx(1.3, abs=1e-6)
    road, wall = sweep.label == ROAD, sweep.label == BUILDING
    assert road.sum() > 1000
    assert wall.sum() > 500
    assert (road | wall).all()
    world = sweep.world_points()
    assert np.quantile(np.abs(world[road, 2]), 0.95) < 0.03
    assert np.quantile(np.abs(world[wall, 0] - 12), 0.95) < 0.03
    near = np.abs(world[wall, 1]) < 3  # met squarely
    assert np.median(sweep.intensity[wall][near]) > 3 * np.median(sweep.intensity[road])
    # The same seed without noise: what differs is the noise, of 5 mm, and its rounding.
    clean, _ = simulated(resweep, recorded, "clean", "--noise-m", "0")
    apart = sweep.range - clean[1].range
    assert np.std(apart) == pytest.approx(0.005, rel=0.1)


def test_noise_is_the_sensors_own_without_like_and_settings_win(resweep: Any, recorded: tuple[Path, Path]) -> None:
    def sigma(out: str) -> float:
        sensor = rs.open_log(out).sensor
        assert sensor is not None
        return sensor.receiver.range_noise_sigma_m

    _, told = simulated(resweep, recorded, "own", like=False)
    assert sigma("own") == 0.02
    assert "range noise 20 mm\n" in told
    simulated(resweep, recorded, "set", "--set", "receiver.range_noise_sigma_m=0.03")
    assert sigma("set") == 0.03
    simulated(resweep, recorded, "given", "--noise-m", "0.01", like=False)
    assert sigma("given") == 0.01
    drive, world = recorded
    twice = ("--noise-m", "0.01", "--set", "receiver.range_noise_sigma_m=0.03")
    refused = resweep("simulate", world, "-s", "velodyne-hdl-32e", "--like", drive, "-o", "no", *twice)
    assert refused.status != 0
    assert "give one of them" in refused.err
