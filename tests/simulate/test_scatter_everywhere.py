"""All that simulates scatters by default as the recording of the world did, and gives the mean without noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import resweep as rs
from resweep.cli.app import app
from resweep.dataset import DatasetPlan, generate
from resweep.drive import LidarMount, Rig, load_vehicle
from resweep.drive.sensing.lidars import make_lidars
from resweep.errors import ResweepError
from resweep.io import write_poses
from resweep.scenario import builtin_bank
from resweep.sensor_scatter import SensorScatter
from resweep.simulate import Retracer
from resweep.sweep import BeamStatus, Sweep

SENSOR = "velodyne-vlp-16"
SIGMA, LOST = 0.05, 0.1


@pytest.fixture(scope="module")
def log() -> rs.Log:
    """A recorded drive with a car whose intensities and ranges scatter, and that loses a tenth of its returns."""
    world = rs.scenes.street(seed=0)
    scenario = rs.Scenario(
        ego={"lane": [[-4, -1.3], [4, -1.3]], "speed_mps": 8},
        duration_s=0.45,
        actors=[{"name": "car", "asset": "suv", "lane": [[8, 1.3], [-40, 1.3]], "speed_mps": 10}],
    )
    trajectory, actors = scenario.place(world)
    sensor = rs.load_sensor(SENSOR).with_(**{"receiver.range_noise_sigma_m": 0.02})
    drive = rs.Simulator(world, sensor, actors=actors, seed=4).run(trajectory.offset(rs.from_xyz_rpy(0, 0, 2)))

    def scatter(sweep: Sweep, at: int) -> Sweep:
        random = np.random.default_rng(at)
        noise = random.normal(0.0, SIGMA, len(sweep))
        noisy = replace(sweep, intensity=np.clip(sweep.intensity + noise, 0.0, 1.0).astype(np.float32))
        return noisy.select(random.random(len(sweep)) > LOST)

    return drive.map(scatter, "scatter", indexed=True)


@pytest.fixture(scope="module")
def world(log: rs.Log) -> rs.World:
    return rs.build(log, rs.SurfelConfig(voxel_m=0.2, radius_m=0.2, refine="none"), progress=False)


@pytest.fixture(scope="module")
def folder(world: rs.World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scatter") / "drive.world"
    world.save(path)
    return path


@pytest.fixture(scope="module")
def scatter(world: rs.World) -> SensorScatter:
    assert world.calibration is not None
    assert world.calibration.scatter is not None
    return world.calibration.scatter


def drive_lidar(world: rs.World, noise: bool) -> rs.Simulator:
    """The LiDAR of a vehicle: the second of a rig, which shares the scene of a first one that scatters otherwise."""
    mounts = [
        LidarMount(name=name, sensor=SENSOR, position_m=(1.3, 0.0, 1.8), noise=own)
        for name, own in (("first", not noise), ("second", noise))
    ]
    return make_lidars(Rig(lidars=tuple(mounts)), load_vehicle("passenger-car"), world, (), 3, 1)[1].simulator


WAYS: dict[str, Callable[[rs.Log, rs.World, bool], Sweep]] = {
    "simulator": lambda log, world, noise: rs.Simulator(world, SENSOR, noise=noise, seed=3).sweep(log.poses[2]),
    "retracer": lambda log, world, noise: Retracer.for_log(world, log, noise=noise, seed=3).sweep(log[2], 2),
    "recorded beams": lambda log, world, noise: rs.resimulate(log, world, noise=noise, seed=3)[2],
    "another sensor": lambda log, world, noise: rs.resimulate(log, world, SENSOR, noise=noise, seed=3)[2],
    "replay": lambda log, world, noise: rs.replay(log, world, SENSOR, bank=builtin_bank(), noise=noise, seed=3).log[2],
    "drive": lambda log, world, noise: drive_lidar(world, noise).sweep(log.poses[2]),
}


def check(drawn: Sweep, again: Sweep, mean: Sweep) -> None:
    """That intensities scatter about the mean as they did in the recording, the same with the same seed."""
    for name in ("beam", "range", "intensity"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(again, name))
    _, one, other = np.intersect1d(drawn.beam, mean.beam, return_indices=True)
    off = drawn.intensity[one] - mean.intensity[other]
    assert 0.5 * SIGMA < np.std(off) < 3.0 * SIGMA
    assert abs(np.mean(off)) < 0.5 * SIGMA


@pytest.mark.parametrize("way", WAYS)
def test_sweeps_scatter_by_default_and_not_without_noise(way: str, log: rs.Log, world: rs.World) -> None:
    drawn, again, mean = (WAYS[way](log, world, noise) for noise in (True, True, False))
    check(drawn, again, mean)


def test_simulate_and_datasets_scatter_too(log: rs.Log, folder: Path, tmp_path: Path) -> None:
    def simulate(name: str, *more: str) -> Sweep:
        pose = ",".join(f"{value:.3f}" for value in log.poses[2, :3, 3])
        args = [
            "simulate",
            str(folder),
            "-s",
            SENSOR,
            "-p",
            pose,
            "-o",
            str(tmp_path / name),
            "--format",
            "sweep",
            *more,
        ]
        result = CliRunner().invoke(app, args, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return rs.open_log(tmp_path / name)[0]

    check(simulate("one"), simulate("two"), simulate("mean", "--ideal"))

    write_poses(log.trajectory, tmp_path / "ego.tum")

    def make(name: str, noise: bool) -> np.ndarray:
        scenario = {"name": "pass", "ego": {"poses": str(tmp_path / "ego.tum")}, "duration_s": 0.25}
        plan = DatasetPlan(worlds=[str(folder)], sensors=[SENSOR], scenarios=[scenario], sweeps=1, noise=noise)
        generate(plan, tmp_path / name, workers=1)
        (file,) = (tmp_path / name).rglob("velodyne/*.bin")
        return np.fromfile(file, np.float32).reshape(-1, 4)

    drawn, again, mean = make("data", True), make("again", True), make("ideal", False)
    np.testing.assert_array_equal(drawn, again)
    assert np.median(np.abs(np.diff(drawn[:, 3]))) > 1.5 * np.median(np.abs(np.diff(mean[:, 3])))


def test_a_spec_may_have_tables_of_its_own(log: rs.Log, world: rs.World, scatter: SensorScatter) -> None:
    sensor = rs.load_sensor(SENSOR).with_scatter(scatter)
    assert sensor.receiver.range_noise_sigma_m == 0.0
    simulator, pose = rs.Simulator(world, sensor, seed=3), log.poses[2]
    drawn, mean = simulator.sweep(pose), simulator.with_sensor(sensor, noise=False).sweep(pose)
    check(drawn, rs.Simulator(world, sensor, seed=3, threads=1).sweep(pose), mean)
    _, one, other = np.intersect1d(drawn.beam, mean.beam, return_indices=True)
    assert 0.005 < np.std(drawn.range[one] - mean.range[other]) < 0.1
    bare = simulator.sweep(pose, bare=True)
    for name in ("beam", "range", "intensity"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(bare, name))
    assert set(bare.extra) == {"primitive"}
    assert simulator.run(log.poses).meta["noise"] == "of the sensor's spec, as a recording showed"
    # A world that knows of no recording scatters by it too; without it nothing is lost.
    street = rs.Simulator(rs.scenes.street(seed=0), sensor, seed=3)
    lost = [
        np.count_nonzero(found.sweep(pose).beam_status == BeamStatus.DROPPED_BY_MODEL)
        for found in (simulator, street, street.with_sensor(SENSOR), simulator.with_sensor(SENSOR))
    ]
    assert min(lost[:2]) > 100
    assert lost[2:] == [0, 0]
    assert rs.Log.from_sweeps([drawn], "one", sensor=sensor).sensor == sensor


def test_tables_in_a_spec_are_kept_and_checked(scatter: SensorScatter, tmp_path: Path) -> None:
    sensor = rs.load_sensor(SENSOR).with_scatter(scatter)
    (tmp_path / "mine.yaml").write_text(sensor.to_yaml(), encoding="utf-8")
    assert rs.load_sensor(tmp_path / "mine.yaml") == sensor
    with pytest.raises(ResweepError, match=r"scatter.range: receiver.range_noise_sigma_m is noise of the same kind"):
        sensor.with_(**{"receiver.range_noise_sigma_m": 0.01})
    with pytest.raises(ResweepError, match=r"scatter.intensity: receiver.intensity_noise_sigma"):
        sensor.with_(**{"receiver.intensity_noise_sigma": 0.01})
    # Of a sensor with other channels only the surfaces' scatter carries over.
    other = rs.load_sensor("velodyne-hdl-32e").with_scatter(scatter)
    assert other.scatter is not None
    assert (other.scatter.range, other.scatter.drops, other.scatter.n_lasers) == (None, None, 0)
    assert other.receiver.range_noise_sigma_m > 0.0
    few = yaml.safe_load(rs.load_sensor("velodyne-vlp-16").to_yaml())
    few["pattern"]["channels"] = {"elevation_deg": [-1.0, 0.0, 1.0]}
    with pytest.raises(ResweepError, match="has 16 lasers, but the sensor 3 channels"):
        rs.sensors.Sensor(**few, scatter=scatter)


def test_the_command_writes_them(folder: Path, tmp_path: Path) -> None:
    def run(*args: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(word) for word in args])
        return result.exit_code, result.stdout if result.exit_code == 0 else str(result.exception)

    status, text = run("sensors", SENSOR, "--scatter", folder)
    assert status == 0
    assert "# scatter: intensities scatter by" in text
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert rs.load_sensor(tmp_path / "mine.yaml").scatter is not None
    rs.scenes.street(seed=0).save(tmp_path / "bare.world")
    assert "knows no scatter" in run("sensors", SENSOR, "--scatter", tmp_path / "bare.world")[1]
    assert "need the NAME of a sensor" in run("sensors", "--scatter", folder)[1]
