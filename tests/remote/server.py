"""A real S3-speaking server on loopback, another client than ours, and the command line beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
ROOT = Path(__file__).resolve().parents[2]


class Server:
    """The server: the requests that it got as (method, path, query), and the environment of its clients."""

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
        """The objects that were asked for, of those with ``text`` in their path; listings do not count."""
        asked = [(path, query) for method, path, query in self.requests if method == "GET"]
        return [path for path, query in asked if "list-type" not in query and text in path]


@cache
def _connect(endpoint: str) -> Any:
    import boto3  # type: ignore[import-untyped]

    given = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **given)


def connect() -> Any:
    """Another client than ours, to look at a bucket and to damage it."""
    return _connect(os.environ["AWS_ENDPOINT_URL"])


def _split(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def list_keys(url: str) -> list[str]:
    """The names of all objects below a URL, which begin with it in the bucket."""
    bucket, prefix = _split(url)
    pages = connect().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/" if prefix else "")
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    return sorted(key.removeprefix(f"{prefix}/") for key in keys)


def get(url: str) -> bytes:
    bucket, key = _split(url)
    data: bytes = connect().get_object(Bucket=bucket, Key=key)["Body"].read()
    return data


def read_all(url: str) -> dict[str, bytes]:
    """All objects below a URL, by name."""
    return {name: get(f"{url}/{name}") for name in list_keys(url)}


def put(url: str, data: bytes) -> None:
    bucket, key = _split(url)
    connect().put_object(Bucket=bucket, Key=key, Body=data)


def remove(url: str) -> None:
    bucket, key = _split(url)
    connect().delete_object(Bucket=bucket, Key=key)


def upload(folder: Path, url: str) -> None:
    """Copy a folder to a URL as any other program would."""
    for file in folder.rglob("*"):
        if file.is_file():
            put(f"{url}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def call(*args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as a user calls it."""
    return subprocess.run(
        [sys.executable, "-c", "from resweep.cli.app import main; main()", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )
