"""The cache of fetched objects is bounded, whole, and shared."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.remote import cache, fetch, find_path
from resweep.remote.buckets import Bucket
from resweep.remote.cache import cache_item, evict, find_cache
from tests.remote.server import Server, put


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESWEEP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fetched"


def add(name: str, size: int, age_s: float = 0.0) -> Path:
    def make(part: Path) -> Path:
        (part / name).write_bytes(bytes(size))
        return part / name

    file = cache_item(name, size, make)
    os.utime(file.parent, (time.time() - age_s,) * 2)
    return file


def test_what_was_not_used_for_longest_goes_first(root: Path) -> None:
    files = [add(f"f{at}", 100, age_s=1000 - at) for at in range(5)]
    add("f0", 100)  # used again
    evict(root, 320)
    assert [file.exists() for file in files] == [True, False, False, False, True]


def test_what_is_in_use_stays(root: Path) -> None:
    files = [add(f"f{at}", 100) for at in range(5)]
    evict(root, 100)
    assert all(file.exists() for file in files)


def test_parts_of_dead_processes_go(root: Path) -> None:
    add("f", 1)
    old, new = root / ".part-old", root / ".part-new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (0, 0))
    evict(root, 100)
    assert (old.exists(), new.exists()) == (False, True)


def test_the_size_is_a_setting(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.find_size() == 20 * 10**9
    monkeypatch.setenv("RESWEEP_CACHE_SIZE", "3GB")
    assert cache.find_size() == 3 * 10**9
    monkeypatch.setenv("RESWEEP_CACHE_SIZE", "much")
    with pytest.raises(ResweepError, match=r"RESWEEP_CACHE_SIZE: .*expected a size such as 4GB"):
        cache.find_size()
    monkeypatch.delenv("RESWEEP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert find_cache() == Path("/somewhere/resweep")


def test_a_failed_fetch_leaves_nothing(root: Path) -> None:
    def fail(part: Path) -> Path:
        (part / "f").write_bytes(b"half")
        raise ResweepError("cut off")

    with pytest.raises(ResweepError, match="cut off"):
        cache_item("f", 4, fail)
    assert [item for item in root.rglob("*") if item.is_file()] == []


def test_a_full_disk_is_one_line(root: Path) -> None:
    with pytest.raises(ResweepError, match=r"fetched: has .* free, .* are to be fetched; make room, or set RESWEEP_CA"):
        cache_item("f", 1 << 60, lambda part: part)


def test_large_files_come_in_parts(bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "PART_BYTES", 1000)
    data = os.urandom(20_500)
    put(f"{bucket}/large.bin", data)
    assert find_path(f"{bucket}/large.bin").read_bytes() == data
    assert len(server.gets("large.bin")) == 21
    put(f"{bucket}/empty.bin", b"")
    assert find_path(f"{bucket}/empty.bin").read_bytes() == b""


def test_an_object_that_is_cut_off_on_its_way_is_refused(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{bucket}/a.bin", b"0123456789")
    read = Bucket.read
    monkeypatch.setattr(Bucket, "read", lambda self, *given, **options: read(self, *given, **options)[:4])
    with pytest.raises(ResweepError, match=f"{bucket}/a.bin: 4 bytes arrived, the store lists 10; try again"):
        find_path(f"{bucket}/a.bin").read_bytes()


def test_names_of_objects_lead_nowhere_else(bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/bag/metadata.yaml", b"a")
    put(f"{bucket}/bag/../../../evil.txt", b"evil")
    with pytest.raises(ResweepError, match=r"invalid path|is not allowed"):
        os.fspath(find_path(f"{bucket}/bag"))
    assert not list(tmp_path.rglob("evil.txt"))


def test_paths_of_stores_are_not_written_in_place(bucket: str) -> None:
    path = find_path(f"{bucket}/a.txt")
    for act in (lambda: path.open("w"), lambda: path.write_text("x"), path.mkdir):
        with pytest.raises(OSError, match="not written in place"):
            act()
