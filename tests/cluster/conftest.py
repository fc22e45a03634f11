"""A cluster of worker processes that all tests share, small worlds and logs on disk, and the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import resweep as rs
from resweep.cli import main
from resweep.io import write_poses
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import ground_plane

PATIENCE_S = 600.0  # with what a loaded machine may take its time: none of it is a promise
# A recording of few beams. Tiles cost the same for few points as for some thousands.
FEW_BEAMS = {"beam.rays": "single", "pattern.firing_period_s": None, "pattern.azimuth_resolution_deg": 1.0}

pytest.importorskip("distributed")
sys.path.insert(0, str(Path(__file__).parent))  # workers import the tasks of the tests from here


@dataclass(frozen=True)
class Outcome:
    """How one command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def resweep(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """``resweep("info", path)`` runs a command; what its workers print counts too."""

    def run(*args: object) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in args])
        captured = capfd.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


class Cluster:
    """Worker processes of this machine behind a scheduler with an address, whose number can change."""

    def __init__(self) -> None:
        import dask
        from distributed import LocalCluster

        from resweep.cluster.start import CONFIG, _hide_script, _silence_logs, tolerate_worker_loss

        # A worker that was killed is started again, however long that takes: dask gives it up after 15 s.
        self._patient = dask.config.set({"distributed.deploy.lost-worker-timeout": f"{PATIENCE_S:.0f}s"})
        self._hidden, self._quiet = _hide_script(), _silence_logs()
        self._hidden.__enter__()
        self._quiet.__enter__()
        with dask.config.set(CONFIG):
            self._cluster = tolerate_worker_loss(
                LocalCluster(
                    n_workers=1,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    silence_logs=50,
                    preload=["resweep.cluster.local_worker"],
                )
            )
        self.address: str = self._cluster.scheduler_address
        self.scheduler = self._cluster.scheduler

    def scale(self, count: int) -> str:
        """The address, once there are ``count`` workers."""
        self._cluster.scale(count)
        self._cluster.wait_for_workers(count, timeout=PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while len(self._cluster.scheduler.workers) != count:
            assert time.monotonic() < until, f"{len(self._cluster.scheduler.workers)} workers, not {count}"
            self._cluster.sync(_pause)
        return self.address

    def hear(self, op: str, worker: str) -> None:
        """What the scheduler reports of a worker reaches the cluster."""
        self._cluster._update_worker_status(op, worker)

    def pids(self) -> list[int]:
        """The process of each worker."""
        return [nanny.pid for nanny in self._cluster.workers.values()]

    def close(self) -> None:
        """End it."""
        self._cluster.close()
        self._quiet.__exit__(None, None, None)
        self._hidden.__exit__(None, None, None)
        self._patient.__exit__(None, None, None)


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.05)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loss of a scheduler that is only slow to answer, as on a loaded machine."""
    from resweep.cluster import start

    for name in ("_CONNECT_S", "_JOIN_S", "_START_S"):
        monkeypatch.setattr(start, name, PATIENCE_S)
    monkeypatch.setitem(start.CONFIG, "distributed.comm.timeouts.connect", f"{PATIENCE_S:.0f}s")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


@dataclass(frozen=True)
class Places:
    """What the commands work on, all of it on disk."""

    folder: Path
    room: Path
    drive: Path
    long_drive: Path
    world: Path
    recorded: Path
    plan: Path


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("places")
    trimesh.creation.box((20, 20, 20)).export(str(folder / "room.obj"))
    for name, seconds in (("drive", 0.75), ("long", 2.05)):
        times = np.linspace(5.0, 5.0 + seconds, 8)
        motion = Trajectory(times, np.stack([from_xyz_rpy(2 * (at - 5), 0, 0) for at in times]))
        write_poses(motion, folder / f"{name}.tum")
    world = rs.World([ground_plane((120, 60), label=40)], labels="semantickitti")
    world.save(folder / "plane.world")
    scenario = rs.Scenario.model_validate(
        {
            "ego": {"lane": [[-20, -3], [20, -3]], "speed_mps": 8},
            "duration_s": 0.75,
            "actors": [{"name": "car", "asset": "suv", "lane": [[0, 2], [-40, 2]], "speed_mps": 10}],
        }
    )
    trajectory, actors = scenario.place(world)
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**FEW_BEAMS)
    log = rs.Simulator(world, sensor, actors=actors).run(trajectory)[:5]
    rs.write_log(log, folder / "recorded", progress=False)
    (folder / "plan.yaml").write_text(
        "worlds: [plane.world]\nsensors: [{name: velodyne-vlp-16, set: {beam.rays: single}}]\n"
        "variants: 2\nlayout: kitti\nscenarios:\n"
        "- {name: pass, ego: {lane: [[-20, -3], [20, -3]], speed_mps: 8}, duration_s: 0.45,\n"
        "   actors: [{name: car, asset: suv, lane: [[0, 2], [-40, 2]], speed_mps: 10}]}\n"
    )
    names = ("room.obj", "drive.tum", "long.tum", "plane.world", "recorded", "plan.yaml")
    return Places(folder, *(folder / name for name in names))


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def list_arguments(verb: str, places: Places) -> list[Any]:
    """A command, but for its output."""
    sensor = ["-s", "velodyne-vlp-16", "--set", "beam.rays=single"]
    return {
        "simulate": ["simulate", places.room, *sensor, "-p", places.drive],
        "simulate-kitti": ["simulate", places.room, *sensor, "-p", places.drive, "-f", "semantickitti"],
        "simulate-nuscenes": ["simulate", places.room, *sensor, "-p", places.drive, "-f", "nuscenes"],
        "recorded": ["simulate", places.world, "--like", places.recorded],
        "scenario": ["simulate", places.world, *sensor, "--scenario", "animals", "--sweeps", 4],
        "replay": [
            "replay",
            places.recorded,
            "-w",
            places.world,
            "-s",
            "velodyne-vlp-16",
            "--bank",
            places.folder / "bank",
        ],
        "dataset": ["dataset", places.plan],
        "build": ["build", places.recorded, "--tile", 60],
    }[verb]
