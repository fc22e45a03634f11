"""What goes wrong with an object store is one line, soon, and before any long work."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.remote import find_path
from resweep.worlds import World
from tests.io.conftest import make_sweep
from tests.remote.server import call, put
from tests.remote.test_worlds import grounds


@pytest.fixture
def strict(bucket: str) -> Iterator[str]:
    """A bucket of a server that looks at credentials."""
    from moto import settings
    from moto.core.authorization import ActionAuthenticatorMixin

    before = settings.INITIAL_NO_AUTH_ACTION_COUNT, ActionAuthenticatorMixin.request_count
    settings.INITIAL_NO_AUTH_ACTION_COUNT, ActionAuthenticatorMixin.request_count = 0.0, 0
    yield bucket
    settings.INITIAL_NO_AUTH_ACTION_COUNT, ActionAuthenticatorMixin.request_count = before


def write_log(url: str) -> None:
    rs.write_log(rs.Log.from_sweeps([make_sweep()]), url, progress=False)


ACTIONS = {
    "open_log": rs.open_log,
    "load_world": rs.load_world,
    "save_world": lambda url: grounds(1).save(url),
    "write_log": write_log,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_wrong_credentials(action: str, strict: str) -> None:
    began = time.monotonic()
    refusal = r"/a\.world\S*: access was refused \(InvalidAccessKeyId\); check AWS_ACCESS_KEY_ID and"
    with pytest.raises(ResweepError, match=refusal):  # of what was asked for, not of its lease
        ACTIONS[action](f"{strict}/a.world")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("action", ACTIONS)
def test_an_unreachable_server(action: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(ResweepError, match=r"http://127.0.0.1:\d+ cannot be reached; check the network and AWS_EN"):
            ACTIONS[action](f"{bucket}/a.world")
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("action", ACTIONS)
def test_a_missing_bucket(action: str, bucket: str) -> None:
    with pytest.raises(ResweepError, match=r"^s3://nowhere: no such bucket; check its name"):
        ACTIONS[action]("s3://nowhere/a.world")


def test_a_server_without_encryption_must_be_meant(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(ResweepError, match="its endpoint is http; set AWS_ALLOW_HTTP=true if that is meant"):
        rs.load_world(f"{bucket}/a.world")


def test_missing_things_and_wrong_urls(bucket: str) -> None:
    with pytest.raises(ResweepError, match=f"{bucket}/no.world: no such world"):
        rs.load_world(f"{bucket}/no.world")
    with pytest.raises(ResweepError, match=f"{bucket}/no: no such file or folder; check the path"):
        rs.open_log(f"{bucket}/no")
    with pytest.raises(ResweepError, match=f"{bucket}/no.pcd: no such file"):
        rs.load_sweep(f"{bucket}/no.pcd")
    for url in ("s3://", "s3:///a.world", "s3://bucket/a//b", "s3://bucket/../b", "file://elsewhere/b", "ftp://b/c"):
        with pytest.raises(ResweepError, match=url):
            rs.load_world(url)


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ResweepError, match=r"needs the package 'obstore' .* pip install 'resweep\[cloud\]'"):
        rs.load_world("s3://another/a.world")


def test_a_cut_off_sweep_names_its_url(bucket: str) -> None:
    rs.write_log(rs.Log.from_sweeps([make_sweep()]), f"{bucket}/drive", format="pcd", progress=False)
    put(f"{bucket}/drive/000000.pcd", b"# .PCD v0.7\n")
    with pytest.raises(ResweepError, match=f"{bucket}/drive/000000.pcd: "):
        rs.open_log(f"{bucket}/drive")[0]


def test_a_world_is_refused_before_the_sweeps_are_made(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output's lock comes first: nobody waits for an hour to learn that a bucket cannot be written."""
    done = call("simulate", "scene:street", "-s", "velodyne-vlp-16", "-p", "0,0,2", "-o", "s3://nowhere/out")
    assert done.returncode == 1
    assert done.stderr == (
        "resweep: error: s3://nowhere: no such bucket; check its name and the endpoint (AWS_ENDPOINT_URL)\n"
    )


def test_worlds_of_strangers_are_not_taken_for_ours(bucket: str) -> None:
    put(f"{bucket}/a.world/readme.txt", b"mine")
    with pytest.raises(ResweepError, match="exists and is not a world"):
        World(grounds(1).layers).save(f"{bucket}/a.world")


def test_folders_above_the_log_need_no_rights(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look for calibration and poses in the folders above, for which no rights may have been given."""
    from obstore.exceptions import PermissionDeniedError

    log = rs.Log.from_sweeps([make_sweep(at, 100 + at) for at in range(2)])
    rs.write_log(log, f"{bucket}/team/drive", format="semantickitti", progress=False)
    place = find_path(f"{bucket}/team/drive").bucket  # type: ignore[attr-defined]
    api = place._api

    def allowed(key: str | None) -> bool:
        return key is not None and f"{key}/".startswith("team/drive/")

    class Strict:
        def __getattr__(self, name: str) -> Any:
            def ask(store: Any, key: str | None = None, *given: Any, **options: Any) -> Any:
                if not allowed(key):
                    raise PermissionDeniedError("status code: 403 Forbidden")
                return getattr(api, name)(store, key, *given, **options)

            return ask

    monkeypatch.setattr(place, "_api", Strict())
    assert len(rs.open_log(f"{bucket}/team/drive")) == 2
    with pytest.raises(ResweepError, match="access was refused"):
        rs.open_log(f"{bucket}/team/other")
