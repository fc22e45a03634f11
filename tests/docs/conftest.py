"""Small inputs under the names that the pages use for a reader's own: a drive, its world, clouds, a mesh."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import trimesh

import resweep as rs
from resweep.log import Log

FAR = (652100.0, 6861100.0, 50.0)  # where the survey tiles of clouds.md are


def record_drive(far: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Log:
    """Five coarse sweeps along a street, with labels and poses."""
    coarse = {"pattern.firing_period_s": None, "pattern.azimuth_resolution_deg": 2.0}
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**coarse)
    street = rs.scenes.street(seed=0).moved(rs.from_xyz_rpy(*far))
    poses = np.stack([rs.from_xyz_rpy(far[0] + x, far[1] - 1.3, far[2] + 1.9) for x in (0.0, 3.0)])
    return rs.Simulator(street, sensor, seed=7).run(rs.Trajectory(np.array([0.0, 0.5]), poses))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of inputs, made once."""
    folder = tmp_path_factory.mktemp("inputs")
    rs.write_log(record_drive(), folder / "kitti" / "sequences" / "00", format="semantickitti")
    log = rs.open_log(folder / "kitti" / "sequences" / "00")
    rs.build(log, rs.HybridConfig(refine="none")).save(folder / "seq00.world")
    rs.write_sweep(log[0], folder / "scan.laz")
    trimesh.creation.box((1.8, 1.5, 4.4)).export(folder / "car.glb")
    return folder


@pytest.fixture(scope="session")
def tiles(prepared: Path) -> Path:
    """A survey tile, as a file and in a folder, among the inputs."""
    pytest.importorskip("copclib", reason="needs the extra 'tiles'")
    rs.write_cloud(record_drive(FAR), prepared / "tile.copc.laz")
    (prepared / "lidarhd").mkdir()
    shutil.copy(prepared / "tile.copc.laz", prepared / "lidarhd" / "a.copc.laz")
    return prepared


@pytest.fixture
def inputs(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inputs, as the present folder."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path
