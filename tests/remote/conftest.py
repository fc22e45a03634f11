"""A real S3-speaking server on loopback, and a cache of its own for every test."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="needs the extra 'cloud'")
ROOT = Path(__file__).resolve().parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
_numbers = itertools.count()


class Server:
    """The server, the requests that it got as (method, path, query), and the environment of its clients."""

    def __init__(self, server: Any) -> None:
        host, port = server.get_host_and_port()
        self.requests: list[tuple[str, str, str]] = []
        self.environment = {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true"}
        inner = server._server.app

        def count(environ: dict[str, Any], start: Any) -> Any:
            self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"]))
            return inner(environ, start)

        server._server.app = count

    def gets(self, text: str = "") -> list[str]:
        """The objects that were asked for, of those whose path has ``text`` in it; listings do not count."""
        return [path for method, path, query in self.requests if method == "GET" and "list-type" not in query and text in path]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    from moto.server import ThreadedMotoServer

    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    yield Server(started)
    started.stop()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The URL of a new, empty bucket."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "RESWEEP_CACHE"))]:
        monkeypatch.delenv(name)
    for name, value in {**server.environment, "NO_PROXY": "127.0.0.1", "RESWEEP_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{next(_numbers)}"
    client().create_bucket(Bucket=name)
    server.requests.clear()
    return f"s3://{name}"


def client() -> Any:
    """Another client than ours, to look at the bucket and to damage it."""
    import boto3

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")


def objects(url: str) -> dict[str, bytes]:
    """All objects below a URL, by name."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    found = client().list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/" if prefix else "").get("Contents", [])
    read = {item["Key"]: client().get_object(Bucket=bucket, Key=item["Key"])["Body"].read() for item in found}
    return {key.removeprefix(f"{prefix}/"): data for key, data in read.items()}


def put(url: str, data: bytes) -> None:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    client().put_object(Bucket=bucket, Key=key, Body=data)


def remove(url: str) -> None:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    client().delete_object(Bucket=bucket, Key=key)


def upload(folder: Path, url: str) -> None:
    """Copy a folder to a URL as any other program would."""
    for file in folder.rglob("*"):
        if file.is_file():
            put(f"{url}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as a user calls it."""
    return subprocess.run(
        [sys.executable, "-c", "from resweep.cli.app import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
