"""A server for the session, and for every test a bucket and a cache of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.server import Server, connect
from tests.worlds.conftest import mixed

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """An S3-speaking server on loopback."""
    pytest.importorskip("obstore", reason="needs the extra 'cloud'")
    from moto.server import ThreadedMotoServer

    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    yield Server(started)
    started.stop()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The URL of a new, empty bucket, which the environment leads to."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "RESWEEP_CACHE"))]:
        monkeypatch.delenv(name)
    own = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "RESWEEP_CACHE": str(tmp_path / "cache")}
    for name, value in {**server.environment, **own}.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{next(_numbers)}"
    connect().create_bucket(Bucket=name)
    server.requests.clear()
    return f"s3://{name}"


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of all kinds of mesh layers in a local folder."""
    return mixed().save(tmp_path_factory.mktemp("saved") / "a.world")
