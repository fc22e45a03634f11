"""URLs together with the rest: tiled builds, streamed worlds, clouds, workers, and inputs that change."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import trimesh

import resweep as rs
from resweep.build import MapConfig
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.remote import find_path
from resweep.worlds import Mesh, World
from resweep.worlds.store import generations
from resweep.worlds.store.memory_sizes import estimate_memory
from resweep.worlds.store.save import save_world
from tests.remote.server import Server, get, list_keys, read_all, read_folder
from tests.worlds.conftest import ground

SURFELS = rs.SurfelConfig(calibrate=None, map=MapConfig(ego_radius_m=0.0))


@pytest.fixture(scope="module")
def drive() -> Log:
    """Two sweeps in a room."""
    room = rs.World.from_mesh(trimesh.creation.box((30, 20, 8)), label=50, labels="semantickitti")
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, 0, 3] = [0.0, 1.0]
    log = rs.Simulator(room, "velodyne-vlp-16").run(poses)
    return Log.from_sweeps(list(log), "room", labels=log.labels, sensor=log.sensor)


def grounds(size: int = 31) -> World:
    mesh = ground(n=size, seed=1)
    return World([Mesh(mesh.vertices, mesh.faces, label=mesh.label, reflectance=0.5, name="g")])


@pytest.mark.slow
def test_a_tiled_build_is_published_whole_and_goes_on_after_a_stop(
    bucket: str, drive: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = tmp_path / "a.world"
    rs.build(drive, SURFELS, local, tile_m=10.0, progress=False)
    url = f"{bucket}/maps/a.world"

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(generations, "_upload", stop)
        with pytest.raises(KeyboardInterrupt):
            rs.build(drive, SURFELS, url, tile_m=10.0, progress=False)
    assert list_keys(bucket) == []
    assert list((tmp_path / "cache").rglob("a.world.partial/parts/*"))
    with monkeypatch.context() as patched:
        patched.setattr("resweep.map.store.scatter.write_batch", stop)  # finished steps are not made again
        assert isinstance(rs.build(drive, SURFELS, url, tile_m=10.0, progress=False), rs.StreamedWorld)
    files = read_folder(local)
    kept, index = json.loads(files.pop("world.json")), json.loads(get(f"{url}/world.json"))
    assert read_all(f"{url}/generations/{index['generation']}") == files
    assert {key: index[key] for key in kept} == kept
    assert not list((tmp_path / "cache").rglob("a.world*"))
    with pytest.raises(ResweepError, match="exists already"):
        rs.build(drive, SURFELS, url, progress=False)


def test_a_streamed_world_fetches_the_tiles_near_a_drive(
    bucket: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resweep.worlds.store.tiled_columns.CHUNK_ROWS", 256)
    local = save_world(grounds(), tmp_path / "a.world", tile_size_m=15.0)
    url = f"{bucket}/a.world"
    save_world(grounds(), url, tile_size_m=15.0)
    sensor = rs.load_sensor("velodyne-vlp-16").with_(range_max_m=15.0)
    low, _ = rs.load_world(local).bounds
    pose = np.eye(4)
    pose[:3, 3] = [low[0] + 2.0, low[1] + 2.0, 1.5]
    rs.load_world(url)
    whole = set(server.gets("/c/"))
    server.requests.clear()
    streamed = rs.StreamedWorld(url)
    assert streamed.is_divided
    one = rs.Simulator(streamed, sensor).sweep(pose)
    assert 0 < len(set(server.gets("/c/"))) < 0.75 * len(whole)
    other = rs.Simulator(rs.StreamedWorld(local), sensor).sweep(pose)
    assert len(one) > 0
    for name in ("range", "beam", "intensity", "label"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert estimate_memory(find_path(url)) == estimate_memory(local)


def test_what_finish_adds_is_there_before_the_log_appears(bucket: str, server: Server, drive: Log) -> None:
    def finish(folder: Path) -> None:
        assert len(rs.open_log(folder)) == 2
        (folder / "objects.json").write_text("{}")

    rs.write_log(drive, f"{bucket}/drive", finish=finish, progress=False)
    put = [path.rpartition("/")[2] for method, path, _ in server.requests if method == "PUT"]
    assert put.index("objects.json") < put.index("log.json")
    assert get(f"{bucket}/drive/objects.json") == b"{}"


def test_a_worker_opens_a_log_by_its_url(bucket: str, server: Server, drive: Log) -> None:
    rs.write_log(drive, f"{bucket}/drive", progress=False)
    log = rs.open_log(f"{bucket}/drive")
    server.requests.clear()
    sent = pickle.dumps(log)
    assert server.gets(".sweep") == []  # it carries the URL in place of the sweeps
    assert f"{bucket}/drive".encode() in sent
    assert pickle.loads(sent)[1].range.tobytes() == drive[1].range.tobytes()


def test_nothing_is_published_once_an_input_has_changed(bucket: str, tmp_path: Path) -> None:
    source, url = tmp_path / "in.txt", f"{bucket}/a.world"
    source.write_text("one")
    grounds(4).save(url)
    before = read_all(url)

    @locks("output", reads=["source"])
    def change(source: Path, output: str) -> None:
        source.write_text("another")
        grounds(6).save(output)

    with pytest.raises(ResweepError, match="was changed while it was read"):
        change(source, url)
    index = json.loads(get(f"{url}/world.json"))
    prefix = f"generations/{index['generation']}/"
    assert {name: data for name, data in read_all(url).items() if name.startswith(prefix) or "/" not in name} == before


def test_a_cloud_is_written_to_a_store_and_read_from_it(bucket: str, drive: Log, tmp_path: Path) -> None:
    url = f"{bucket}/clouds/room.copc.laz"
    count = rs.write_cloud(drive, url, progress=False)
    rs.write_cloud(drive, tmp_path / "room.copc.laz", progress=False)
    there, here = rs.open_log(url)[0], rs.open_log(tmp_path / "room.copc.laz")[0]
    assert len(there) == len(here) == count > 0
    assert there.points.tobytes() == here.points.tobytes()
    assert list_keys(bucket) == ["clouds/room.copc.laz"]
    with pytest.raises(ResweepError, match="exists"):
        rs.write_cloud(drive, url, progress=False)
