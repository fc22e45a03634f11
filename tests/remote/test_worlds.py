"""Worlds by URL: the bytes of local ones, the chunks that are needed, and publication in one step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.remote import leases
from resweep.worlds import Mesh, World
from tests.remote.server import Server, get, list_keys, put, read_all, read_folder, remove, upload
from tests.worlds.conftest import ground, mixed


def grounds(seed: int) -> World:
    """A world whose every column tells its seed."""
    mesh = ground(n=12, seed=seed)
    vertices = mesh.vertices.copy()
    vertices[:, 2] = seed
    return World([Mesh(vertices, mesh.faces, label=mesh.label, reflectance=seed / 100, instance=seed, name="g")])


def assert_is_seed(world: World, seed: int) -> None:
    (mesh,) = world.layers
    assert isinstance(mesh, Mesh)
    assert set(mesh.vertices[:, 2].tolist()) == {float(seed)}
    assert set(mesh.instance.tolist()) == {seed}


def test_a_world_has_the_arrays_of_a_local_one(bucket: str, saved: Path) -> None:
    url = f"{bucket}/maps/a.world"
    assert str(mixed().save(url)) == url
    index = json.loads(get(f"{url}/world.json"))
    local = read_folder(saved)
    kept = json.loads(local.pop("world.json"))
    assert read_all(f"{url}/generations/{index['generation']}") == local
    assert {key: index[key] for key in kept} == kept
    assert list_keys(f"{bucket}/maps") == sorted(
        [f"a.world/generations/{index['generation']}/{name}" for name in local] + ["a.world/world.json"]
    )
    again, here = rs.load_world(url), rs.load_world(saved)
    assert [layer.name for layer in again.layers] == [layer.name for layer in here.layers]
    for one, other in zip(again.layers, here.layers, strict=True):
        np.testing.assert_array_equal(one.bounds, other.bounds)
    np.testing.assert_array_equal(again.layers[0].vertices, here.layers[0].vertices)  # type: ignore[attr-defined]


def test_a_world_that_was_copied_to_a_store_or_from_it_is_read(bucket: str, saved: Path, tmp_path: Path) -> None:
    upload(saved, f"{bucket}/copied.world")
    assert rs.load_world(f"{bucket}/copied.world").n_triangles == rs.load_world(saved).n_triangles
    grounds(3).save(f"{bucket}/copied.world")
    for name, data in read_all(f"{bucket}/copied.world").items():
        (tmp_path / "back.world" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "back.world" / name).write_bytes(data)
    assert_is_seed(rs.load_world(tmp_path / "back.world"), 3)
    grounds(4).save(f"{bucket}/copied.world")
    grounds(5).save(f"{bucket}/copied.world")
    assert not [name for name in list_keys(f"{bucket}/copied.world") if name.startswith("layers")]


def test_bounds_take_only_the_chunks_that_are_needed(
    bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resweep.worlds.store.tiled_columns.CHUNK_ROWS", 256)
    url = f"{bucket}/a.world"
    mixed().save(url)
    server.requests.clear()
    whole = rs.load_world(url)
    all_chunks = server.gets("/c/")
    assert len(all_chunks) == len(set(all_chunks)) > 100
    server.requests.clear()
    corner = whole.bounds[0, :2]
    part = rs.load_world(url, bounds=[corner, corner + 10])
    assert 0 < part.n_triangles < whole.n_triangles
    chunks = server.gets("/c/")
    assert 0 < len(chunks) < len(all_chunks) / 4
    # One request an array and a chunk, and one for the index: nothing is listed or asked for twice.
    assert len(server.requests) == len(chunks) + len(server.gets("zarr.json")) + 1


def test_file_urls_are_local_paths(tmp_path: Path, saved: Path) -> None:
    assert rs.load_world(f"file://{saved}").n_triangles == rs.load_world(saved).n_triangles
    made = grounds(2).save(f"file://{tmp_path}/with%20space.world")
    assert made == tmp_path / "with space.world"
    assert_is_seed(rs.load_world(made), 2)


def test_a_replaced_world_stays_until_the_next_save(bucket: str) -> None:
    url = f"{bucket}/a.world"
    names = []
    for seed in (1, 2, 3):
        grounds(seed).save(url)
        names.append(json.loads(get(f"{url}/world.json"))["generation"])
    kept = {name.split("/")[1] for name in list_keys(url) if name.startswith("generations/")}
    assert kept == set(names[1:])
    grounds(3).save(url)  # the same again replaces nothing
    assert {name.split("/")[1] for name in list_keys(url) if "/" in name} == kept
    with pytest.raises(ResweepError, match="exists already"):
        rs.worlds.store.save.save_world(grounds(4), url, overwrite=False)


def test_readers_see_the_old_world_or_the_new_one(bucket: str) -> None:
    url = f"{bucket}/a.world"
    grounds(1).save(url)
    seen: list[int] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                (mesh,) = rs.load_world(url).layers
                assert isinstance(mesh, Mesh)
                seeds = {*mesh.vertices[:, 2].astype(int).tolist(), *mesh.instance.tolist()}
                assert len(seeds) == 1
                seen.append(seeds.pop())
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for seed in range(2, 10):
        grounds(seed).save(url)
    done.set()
    for reader in readers:
        reader.join()
    assert not failed, failed
    assert len(set(seen)) > 2
    assert set(seen) <= set(range(1, 10))


def test_a_reader_that_loses_its_world_takes_the_new_one(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{bucket}/a.world"
    grounds(1).save(url)
    from resweep.worlds import load

    read_layer, saved = load.read_layer, [1]

    def replace_first(*given: object) -> object:
        for seed in (2, 3) if saved == [1] else ():
            saved.append(seed)
            grounds(seed).save(url)
        return read_layer(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(load, "read_layer", replace_first)
    assert_is_seed(rs.load_world(url), 3)


def test_a_missing_or_cut_off_object_is_one_error(bucket: str, saved: Path) -> None:
    url = f"{bucket}/a.world"
    upload(saved, url)
    chunk = next(name for name in list_keys(url) if "vertices/c/" in name)
    data = get(f"{url}/{chunk}")
    put(f"{url}/{chunk}", data[: len(data) // 2])
    with pytest.raises(ResweepError, match=rf"{url}/layers/\d+/vertices: is damaged .*its header says"):
        rs.load_world(url)
    put(f"{url}/{chunk}", data[:-5] + b"\0" + data[-4:])
    with pytest.raises(ResweepError, match="vertices: is damaged"):
        rs.load_world(url)
    remove(f"{url}/{chunk}")
    with pytest.raises(ResweepError, match=r"vertices: is damaged \(a chunk is missing"):
        rs.load_world(url)
    put(f"{url}/world.json", b'{"format": "resweep-world"')
    with pytest.raises(ResweepError, match=r"world.json: cannot be read"):
        rs.load_world(url)


@pytest.mark.parametrize("name", ["../other", "", "a" * 64 + "/..", 3])
def test_a_generation_leads_nowhere_else(bucket: str, name: object) -> None:
    url = f"{bucket}/a.world"
    grounds(1).save(url)
    index = json.loads(get(f"{url}/world.json"))
    put(f"{url}/world.json", json.dumps({**index, "generation": name}).encode())
    with pytest.raises(ResweepError, match="field 'generation' cannot be"):
        rs.load_world(url)


def test_chunks_that_would_unpack_to_more_are_refused(bucket: str, saved: Path) -> None:
    url = f"{bucket}/a.world"
    upload(saved, url)
    chunk = next(name for name in list_keys(url) if "vertices/c/" in name)
    data = bytearray(get(f"{url}/{chunk}"))
    data[4:8] = (1 << 30).to_bytes(4, "little")
    put(f"{url}/{chunk}", bytes(data))
    with pytest.raises(ResweepError, match="would unpack to 1,073,741,824 bytes"):
        rs.load_world(url)
    put(f"{url}/{chunk}", b"\1" * (64 << 20))
    with pytest.raises(ResweepError, match="its header says"):
        rs.load_world(url)


KILLED = """
import sys, os, signal, time
from tests.remote.test_worlds import grounds
from resweep.remote.buckets import Bucket, Version
write, count = Bucket.write, [0]
def stop(self, key, data, **options):
    if "/generations/" in key:
        count[0] += 1
        if count[0] == 5:
            print("stopped", flush=True)
            time.sleep(1.0)  # the others are written beside it
            os.kill(os.getpid(), signal.SIGKILL)
    return write(self, key, data, **options)
Bucket.write = stop
grounds(2).save(sys.argv[1])
"""


def test_a_killed_upload_leaves_the_old_world(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{bucket}/a.world"
    grounds(1).save(url)
    before = set(list_keys(url))
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, url],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = set(list_keys(url)) - before
    assert left
    assert ".a.world.lock" in list_keys(bucket)
    assert_is_seed(rs.load_world(url), 1)
    waited: list[object] = []
    monkeypatch.setattr(leases._Lease, "_watch", lambda lease, version: waited.append(version))
    grounds(3).save(url)
    assert waited == [], "the lease of a dead process was waited for"
    assert_is_seed(rs.load_world(url), 3)
    assert not left & set(list_keys(url))
    assert ".a.world.lock" not in list_keys(bucket)


def test_an_upload_that_was_stopped_goes_on(bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{bucket}/a.world"
    from resweep.remote.buckets import Bucket, Version

    write = Bucket.write

    def fail(self: Bucket, key: str, data: object, **options: object) -> Version:
        if key.endswith("world.json"):
            raise ResweepError("no more")
        return write(self, key, data, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Bucket, "write", fail)
    with pytest.raises(ResweepError, match="no more"):
        grounds(1).save(url)
    with pytest.raises(ResweepError, match="no such world"):
        rs.load_world(url)
    monkeypatch.setattr(Bucket, "write", write)
    server.requests.clear()
    grounds(1).save(url)
    assert not [path for method, path, _ in server.requests if method == "PUT" and "/generations/" in path]
    assert_is_seed(rs.load_world(url), 1)
