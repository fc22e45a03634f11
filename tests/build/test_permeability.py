"""Beams are counted where they ended, and the matched permeability makes simulated beams stop as recorded ones do."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.build import Map, MapConfig, VolumeConfig
from resweep.build.volumes.permeability import BeamCounter, Counts, OwnVolumes
from resweep.log import Log
from resweep.map.beams import Beams
from resweep.simulate import Retracer
from resweep.sweep import Sweep
from resweep.worlds import Volumes
from tests.places import cloud_of

MAP = MapConfig(ego_radius_m=0.5, moving="none")


def _volume() -> Volumes:
    """One ball of 0.1 m standard deviation, 5 m along x."""
    return Volumes(np.array([[5.0, 0, 0]]), 0.01 * np.array([[1.0, 0, 0, 1, 0, 1]]), 0.5)


def _along_x(lengths: list[float]) -> Beams:
    count = len(lengths)
    direction = np.tile(np.array([[1.0, 0, 0]], np.float32), (count, 1))
    return Beams(np.zeros((count, 3), np.float32), direction, np.array(lengths, np.float32), np.ones(count, bool))


def count(volumes: Volumes, beams: Beams) -> Counts:
    counter = BeamCounter(volumes)
    counter.add(beams)
    return counter.counts


def test_a_beam_that_ends_beyond_the_isosurface_of_its_own_volume_is_stopped_by_it() -> None:
    volumes = _volume()
    beams = _along_x([5.0, 5.25, 9.0])  # in the middle, at 2.5 standard deviations, and far behind
    points = np.array([[5.0, 0, 0], [5.25, 0, 0]], np.float32)
    own = OwnVolumes(points, np.zeros(2, np.int64), volumes)
    plain = count(volumes, beams)
    assert (plain.stopped[0], plain.passed[0]) == (1, 2)
    clipped = own.clip_to_own_volume(beams)
    np.testing.assert_allclose(clipped.length, [5.0, 5.2, 9.0], atol=1e-3)
    counted = count(volumes, clipped)
    assert (counted.stopped[0], counted.passed[0]) == (2, 1)


def test_a_beam_that_passes_beside_its_own_volume_stays_as_it_is() -> None:
    beams = _along_x([5.25])
    beams.origin[:, 1] = 0.3
    own = OwnVolumes(np.array([[5.25, 0.3, 0]], np.float32), np.zeros(1, np.int64), _volume())
    np.testing.assert_array_equal(own.clip_to_own_volume(beams).length, beams.length)


@pytest.fixture(scope="module")
def wall() -> Log:
    """A noisy wall 5 m away, which no beam passes, in voxels whose Gaussians overlap.

    In the corners of the voxels 5 % of the beams pass beyond tau of all four: no permeability stops those.
    """
    rng = np.random.default_rng(1)
    y, z = np.meshgrid(np.arange(-0.3, 0.3, 0.012), np.arange(-0.3, 0.3, 0.012), indexing="ij")
    direction = np.column_stack([np.full(y.size, 5.0), y.ravel(), z.ravel()])
    unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    sweeps = [Sweep.from_points(unit * rng.normal(5.02, 0.01, (len(unit), 1))) for _ in range(10)]
    return Log.from_sweeps(sweeps)


def _lost(log: Log, rounds: int) -> float:
    config = VolumeConfig(voxel_m=0.1, noise_m=0.01, rounds=rounds, map=MAP, calibrate=None)
    tracer = Retracer(rs.build(log, config), seed=5)
    sweeps = [tracer.sweep(sweep, index) for index, sweep in enumerate(log)]
    return 1 - sum(map(len, sweeps)) / sum(sweep.n_beams for sweep in sweeps)


def test_matching_closes_what_counts_alone_leave_open(wall: Log) -> None:
    assert _lost(wall, 0) > 0.08
    assert _lost(wall, 10) < 0.06


def test_matching_is_the_same_each_time(wall: Log) -> None:
    config = VolumeConfig(voxel_m=0.1, noise_m=0.01, rounds=2, map=MAP, calibrate=None)
    first, second = (rs.build(wall, config).layers[0] for _ in range(2))
    np.testing.assert_array_equal(first.permeability, second.permeability)


def test_the_width_of_beams_is_that_of_the_logs_sensor() -> None:
    cloud = cloud_of(np.eye(3))
    sensor = rs.load_sensor("velodyne-hdl-64e")
    sweep = Sweep.from_points(np.eye(3), sensor=sensor.name)
    assert Map(cloud, log=Log.from_sweeps([sweep], sensor=sensor)).beam_slope == pytest.approx(np.sqrt(0.0033 * 0.0007))
    wide = {"beam.spot": "elliptical", "beam.divergence_h_rad": 0.004, "beam.divergence_v_rad": 0.001}
    own = sensor.with_(name="mine", **wide)
    assert Map(cloud, log=Log.from_sweeps([sweep], sensor=own)).beam_slope == pytest.approx(0.002)
    assert Map(cloud, log=Log.from_sweeps([sweep])).beam_slope == 0  # a name alone is no sensor
    assert Map(cloud).beam_slope == 0


def test_volumes_compensate_range_as_surfaces_do() -> None:
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (300, 3)) + np.array([5.0, 0, 0])
    log = Log.from_sweeps([Sweep.from_points(points, intensity=np.full(300, 0.4))])
    for exponent, expected in ((0.0, 0.4), (2.0, 0.1)):
        falloff = {"range_exponent": exponent, "range_reference_m": 10.0}
        world = rs.build(log, VolumeConfig(map=MAP, calibrate=None, reflectance=falloff), progress=False)
        np.testing.assert_allclose(world.layers[0].reflectance, expected, rtol=0.1)
    with pytest.raises(rs.ResweepError, match="incidence_exponent: unknown key"):
        VolumeConfig(reflectance={"incidence_exponent": 2.0})


def test_thinning_takes_the_mean_of_each_cell() -> None:
    points = np.array([[0.1, 0, 0], [0.3, 0, 0], [2.0, 0, 0]])
    cloud = cloud_of(points, intensity=np.array([0.2, 0.4, 0.9])).merged(np.array([0, 0, 1]))
    np.testing.assert_allclose(cloud.points[:, 0], [0.2, 2.0], rtol=1e-6)
    np.testing.assert_allclose(cloud.intensity, [0.3, 0.9], rtol=1e-6)
