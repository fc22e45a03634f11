"""Logs by URL: every format reads what it reads from a folder, sweep by sweep; what is written is the same bytes."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.io import FORMATS
from resweep.io.poses import write_poses
from resweep.remote import find_path, recover_output, stage
from resweep.remote.buckets import Bucket, Version
from tests.fuzz.readers import READERS
from tests.io.conftest import make_sweep
from tests.remote.server import Server, get, list_keys, put, read_all, read_folder, upload

# A sample of every format, with the options that open it.
OPTIONS = {"nuscenes": {"scene": "scene-0061"}, "kitti-tracking": {"sequence": "0002"}}
LOGS = {
    **{"sweep": "sweep", "sweep-log": "sweep", "pcd-binary": "pcd", "pcd-log": "pcd", "ply-ascii": "ply"},
    **{"las": "las", "laz": "laz", "e57": "e57", "kitti": "kitti", "nuscenes-scan": "nuscenes-scan"},
    **{"folder-tum": "pcd", "semantickitti": "semantickitti", "kitti-object": "kitti-object"},
    **{"kitti-tracking": "kitti-tracking", "kitti-360": "kitti360", "kitti-raw": "kitti-raw"},
    **{"nuscenes": "nuscenes", "nuscenes-written": "nuscenes", "argoverse1": "argoverse1"},
    **{"argoverse2": "argoverse2", "pandaset": "pandaset", "ros1": "ros1", "ros2-sqlite": "ros2"},
    **{"ros2-mcap": "ros2", "ros2-written": "ros2"},
}
WRITABLE = [name for name, entry in FORMATS.items() if entry.write or entry.write_log]
COLUMNS = ("points", "beam_direction", "beam_time", "intensity", "label", "instance", "pose")


def make_log(count: int = 5) -> rs.Log:
    return rs.Log.from_sweeps([make_sweep(at, 100 + at * 0.1, utm=False) for at in range(count)], "drive")


def assert_same(one: rs.Log, other: rs.Log) -> None:
    assert len(one) == len(other)
    np.testing.assert_array_equal(one.poses, other.poses)
    np.testing.assert_array_equal(one.times, other.times)
    assert (one.labels, one.name, one.empty_beams) == (other.labels, other.name, other.empty_beams)
    for at in range(min(len(one), 2)):
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(one[at], column), getattr(other[at], column))


@pytest.mark.parametrize("name", LOGS)
def test_every_reader_takes_urls(name: str, bucket: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (tmp_path / "in").mkdir()
        path = READERS[name].make(tmp_path / "in")
        upload(tmp_path / "in", f"{bucket}/deep/er")
        url = f"{bucket}/deep/er/{path.relative_to(tmp_path / 'in').as_posix()}".rstrip("/.")
        if path == tmp_path / "in":  # the name of the log is that of its folder
            path = path.rename(tmp_path / "er")
        options = OPTIONS.get(name, {})
        log = rs.open_log(url, **options)
        assert_same(log, rs.open_log(path, **options))
        assert log.meta["format"] == LOGS[name]


def test_every_format_is_read() -> None:
    assert set(LOGS.values()) == set(FORMATS) - {"copc", "tiles"}  # clouds are read where their files are


def test_a_sweep_costs_what_it_needs(bucket: str, server: Server, tmp_path: Path) -> None:
    rs.write_log(make_log(12), tmp_path / "drive", format="semantickitti", progress=False)
    upload(tmp_path / "drive", f"{bucket}/drive")
    server.requests.clear()
    log = rs.open_log(f"{bucket}/drive", empty_beams=False)
    assert len(log) == 12
    assert len(server.gets("/velodyne/")) <= 1
    assert len(server.requests) < 40
    server.requests.clear()
    log[7]
    assert server.gets("/velodyne/") == [f"/{bucket.removeprefix('s3://')}/drive/velodyne/000007.bin"]
    log[7]
    log[0]
    log[1]
    for at in range(12):
        log[at]
    asked = server.gets("/velodyne/")
    assert len(asked) == len(set(asked)), "a file was fetched twice"
    server.requests.clear()
    assert len(rs.open_log(f"{bucket}/drive")[3]) == len(log[3])
    assert server.gets() == [], "the cache was not used"


def test_the_next_sweeps_are_fetched_ahead(bucket: str, server: Server) -> None:
    rs.write_log(make_log(8), f"{bucket}/drive", progress=False)
    log = rs.open_log(f"{bucket}/drive")
    server.requests.clear()
    log[0], log[1]
    from resweep.remote import fetch

    for future in list(fetch._coming.values()):
        future.result()
    fetched = {Path(path).name for path in server.gets(".sweep")}
    assert {"000002.sweep", "000003.sweep"} <= fetched
    assert "000007.sweep" not in fetched


def test_a_file_that_changes_is_fetched_again(bucket: str, tmp_path: Path) -> None:
    rs.write_sweep(make_sweep(1), f"{bucket}/a.pcd")
    assert len(rs.load_sweep(f"{bucket}/a.pcd")) == len(make_sweep(1))
    few = make_sweep(2).select(np.arange(len(make_sweep(2))) < 9)
    rs.write_sweep(few, tmp_path / "b.pcd")
    put(f"{bucket}/a.pcd", (tmp_path / "b.pcd").read_bytes())
    assert len(rs.load_sweep(f"{bucket}/a.pcd")) == 9
    put(f"{bucket}/a.pcd", b"another")
    path = find_path(f"{bucket}/a.pcd")
    recover_output(path)
    assert path.stat().st_size == 7
    put(f"{bucket}/a.pcd", b"a third")
    with pytest.raises(ResweepError, match=f"{bucket}/a.pcd: was replaced while it was read; open it again"):
        path.read_bytes()
    assert path.read_bytes() == b"a third"


@pytest.mark.parametrize("format", WRITABLE)
def test_a_written_log_has_the_bytes_of_a_local_one(format: str, bucket: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rs.write_log(make_log(2), tmp_path / "drive", format=format, progress=False)
        rs.write_log(make_log(2), f"{bucket}/out/drive", format=format, progress=False)
    assert read_all(f"{bucket}/out/drive") == read_folder(tmp_path / "drive")
    assert list_keys(f"{bucket}/out") == sorted(f"drive/{name}" for name in read_folder(tmp_path / "drive"))
    assert not stage(find_path(f"{bucket}/out/drive")).parent.exists()


def test_a_log_is_replaced_only_if_asked(bucket: str) -> None:
    url = f"{bucket}/drive"
    rs.write_log(make_log(4), url, progress=False)
    with pytest.raises(ResweepError, match="exists and is not empty"):
        rs.write_log(make_log(2), url, progress=False)
    rs.write_log(make_log(2), url, overwrite=True, progress=False)
    assert len(rs.open_log(url)) == 2
    assert not [name for name in list_keys(url) if "000003" in name]
    put(f"{bucket}/other/thing.txt", b"mine")
    with pytest.raises(ResweepError, match="is no log, so it is not overwritten"):
        rs.write_log(make_log(2), f"{bucket}/other", overwrite=True, progress=False)
    assert get(f"{bucket}/other/thing.txt") == b"mine"


def test_an_upload_that_was_stopped_is_refused_and_goes_on(
    bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, log, resume = f"{bucket}/drive", make_log(6), {"inputs": "a", "config": "b"}
    write, count = Bucket.write, [0]

    def fail(self: Bucket, key: str, data: Any, **options: Any) -> Version:
        count[0] += key.endswith(".sweep")
        if count[0] > 3:
            raise ResweepError("no more")
        return write(self, key, data, **options)

    monkeypatch.setattr(Bucket, "write", fail)
    with pytest.raises(ResweepError, match="no more"):
        rs.write_log(log, url, progress=False, resume=True, made_from=resume)
    with pytest.raises(ResweepError, match=rf"{url}: its upload is under way, or was stopped"):
        rs.open_log(url)
    put(f"{url}/sequences/00/000000.pcd", b"")
    with pytest.raises(ResweepError, match=rf"{url}: its upload is under way"):
        rs.open_log(f"{url}/sequences/00")
    monkeypatch.setattr(Bucket, "write", write)
    there = {name for name in list_keys(url) if name.endswith(".sweep")}
    server.requests.clear()
    rs.write_log(log, url, progress=False, resume=True, made_from=resume)
    sent = [Path(path).name for method, path, _ in server.requests if method == "PUT" and path.endswith(".sweep")]
    assert len(there) == 3
    assert sorted(sent) == sorted({f"{at:06d}.sweep" for at in range(6)} - there)
    assert len(rs.open_log(url)) == 6


def test_paths_travel_to_other_processes(bucket: str) -> None:
    rs.write_log(make_log(2), f"{bucket}/drive", progress=False)
    path = find_path(f"{bucket}/drive/000000.sweep")
    again = pickle.loads(pickle.dumps(path))
    assert (again, str(again), type(again)) == (path, str(path), type(path))
    assert (again.parent / "log.json").read_text() == get(f"{bucket}/drive/log.json").decode()


def test_poses_come_from_urls(bucket: str, tmp_path: Path) -> None:
    log = make_log(4)
    write_poses(log.trajectory, f"{bucket}/poses.tum")
    write_poses(log.trajectory, tmp_path / "poses.tum")
    assert get(f"{bucket}/poses.tum") == (tmp_path / "poses.tum").read_bytes()
    rs.write_log(log, tmp_path / "drive", progress=False)
    moved = rs.open_log(tmp_path / "drive", poses=f"{bucket}/poses.tum")
    np.testing.assert_allclose(moved.poses, log.poses, atol=1e-6)


KILLED = """
import sys, os, signal
import resweep as rs
from tests.remote.test_logs import make_log
from resweep.remote.buckets import Bucket, Version
write, count = Bucket.write, [0]
def stop(self, key, data, **options):
    count[0] += key.endswith(".sweep")
    if count[0] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(self, key, data, **options)
Bucket.write = stop
rs.write_log(make_log(6), sys.argv[1], progress=False, resume=True, made_from={"inputs": "a", "config": "b"})
"""


def test_a_killed_write_goes_on(bucket: str, tmp_path: Path) -> None:
    url = f"{bucket}/drive"
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    killed = subprocess.run([sys.executable, "-c", KILLED, url], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert "log.json" not in list_keys(url)
    rs.write_log(make_log(6), url, progress=False, resume=True, made_from={"inputs": "a", "config": "b"})
    rs.write_log(make_log(6), tmp_path / "drive", progress=False)
    assert read_all(url) == read_folder(tmp_path / "drive")
