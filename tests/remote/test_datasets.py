"""Datasets by URL: the bytes of local ones, from worlds by URL too; a stopped one goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resweep.dataset import DatasetPlan, generate
from resweep.errors import ResweepError
from resweep.remote import find_path, stage
from resweep.remote.buckets import Bucket, Version
from resweep.worlds import Mesh, World
from tests.remote.server import Server, list_keys, put, read_all, read_folder

GROUND = Mesh([[-60, -60, 0], [60, -60, 0], [60, 60, 0], [-60, 60, 0]], [[0, 1, 2], [0, 2, 3]], label=40)


def make_plan(url: str, **changes: Any) -> DatasetPlan:
    drive = {"name": "on", "ego": {"waypoints": [[0, 0, 0], [2, 20, 0]]}}
    given = {"worlds": [url], "sensors": ["velodyne-vlp-16"], "scenarios": [drive], "sweeps": 3}
    return DatasetPlan(**{**given, **changes})


@pytest.fixture
def world(bucket: str) -> str:
    return str(World([GROUND], labels="semantickitti").save(f"{bucket}/flat.world"))


def test_a_dataset_has_the_bytes_of_a_local_one(bucket: str, world: str, tmp_path: Path) -> None:
    url, plan = f"{bucket}/data", make_plan(world)
    local = generate(plan, tmp_path / "data", progress=False)
    made = generate(plan, url, progress=False)
    assert made == local
    assert read_all(url) == read_folder(tmp_path / "data")
    assert not stage(find_path(url)).parent.exists()
    assert generate(plan, url, progress=False).resumed == 3
    with pytest.raises(ResweepError, match=r"was written with other settings \(plan.seed"):
        generate(make_plan(world, seed=4), url, progress=False)
    put(f"{bucket}/mine/thing.txt", b"mine")
    with pytest.raises(ResweepError, match="is not empty and holds no dataset"):
        generate(plan, f"{bucket}/mine", progress=False)


def test_a_stopped_dataset_goes_on(
    bucket: str, world: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, plan = f"{bucket}/data", make_plan(world)
    write = Bucket.write

    def fail(self: Bucket, key: str, data: Any, **options: Any) -> Version:
        if key.endswith("poses.txt"):
            raise ResweepError("no more")
        return write(self, key, data, **options)

    monkeypatch.setattr(Bucket, "write", fail)
    with pytest.raises(ResweepError, match="no more"):
        generate(plan, url, progress=False)
    assert {".resweep-unfinished", "plan.json"} <= set(list_keys(url))
    assert "runs.json" not in list_keys(url)
    with pytest.raises(ResweepError, match="was written with other settings"):
        generate(make_plan(world, seed=4), url, progress=False)
    monkeypatch.setattr(Bucket, "write", write)
    there = set(list_keys(url)) - {".resweep-unfinished"}
    server.requests.clear()
    assert generate(plan, url, progress=False).resumed == 3
    sent = {path.split("/data/")[1] for method, path, _ in server.requests if method == "PUT" and "/data/" in path}
    assert not sent & there
    generate(plan, tmp_path / "data", progress=False)
    assert read_all(url) == read_folder(tmp_path / "data")
