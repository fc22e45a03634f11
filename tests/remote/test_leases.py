"""One writer for each output: the lease of a living one is respected, that of a dead one is not."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from resweep.errors import ResweepError
from resweep.remote import find_path, leases, lock_output
from resweep.remote.buckets import Bucket, Version
from resweep.remote.leases import confirm_lock
from tests.remote.server import get, list_keys, put

HOLDER = {"holder": "x", "pid": 12, "host": "elsewhere", "machine": "another", "since": "yesterday"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_S", 0.1)
    monkeypatch.setattr(leases, "LOST_S", 2.5)  # a loaded machine may hold up the thread that renews
    monkeypatch.setattr(leases, "_LOOK_S", 0.05)


def test_a_lease_is_given_back(bucket: str) -> None:
    path = find_path(f"{bucket}/a/out")
    with lock_output(path), lock_output(path):
        assert list_keys(bucket) == ["a/.out.lock"]
        assert json.loads(get(f"{bucket}/a/.out.lock"))["pid"] > 0
    assert list_keys(bucket) == []


def test_a_second_writer_refuses(bucket: str) -> None:
    path = find_path(f"{bucket}/out")
    with lock_output(path):
        refused: list[str] = []

        def write() -> None:
            try:
                other = leases._Lease(path)  # type: ignore[arg-type]  # as another process would
                other.take()
            except ResweepError as error:
                refused.append(str(error))

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert len(refused) == 1
        assert "another process is writing it (pid" in refused[0]


def test_another_thread_is_refused(bucket: str) -> None:
    path = find_path(f"{bucket}/out")
    found: list[str] = []

    def write() -> None:
        try:
            with lock_output(path):
                pass
        except ResweepError as error:
            found.append(str(error))

    with lock_output(path):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert found == [f"{path}: another thread of this process is writing it; wait for it or choose another name"]


def test_a_lease_that_is_not_renewed_is_taken_over(bucket: str) -> None:
    put(f"{bucket}/.out.lock", json.dumps(HOLDER).encode())
    began = time.monotonic()
    with lock_output(find_path(f"{bucket}/out")):
        assert time.monotonic() - began > leases.LOST_S
    put(f"{bucket}/.out.lock", b"no json")
    with lock_output(find_path(f"{bucket}/out")):
        pass


def test_a_lease_that_was_lost_publishes_nothing(bucket: str) -> None:
    path = find_path(f"{bucket}/out")
    with lock_output(path):
        put(f"{bucket}/.out.lock", json.dumps(HOLDER).encode())
        with pytest.raises(ResweepError, match="another process has taken it over"):
            confirm_lock(path)  # type: ignore[arg-type]
    assert json.loads(get(f"{bucket}/.out.lock")) == HOLDER  # which is not ours to remove


def test_a_whole_bucket_is_no_output(bucket: str) -> None:
    with pytest.raises(ResweepError, match="is a whole bucket"), lock_output(find_path(bucket)):
        pass


def test_an_answer_that_is_lost_costs_no_lease(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client repeats a request whose answer it did not get, and then finds its own condition broken."""
    path, write = find_path(f"{bucket}/out"), Bucket.write

    def write_twice(self: Bucket, key: str, data: bytes, **options: Any) -> Version:
        write(self, key, data, **options)
        return write(self, key, data, **options)

    monkeypatch.setattr(Bucket, "write", write_twice)
    with lock_output(path):
        confirm_lock(path)  # type: ignore[arg-type]
    assert list_keys(bucket) == []
