"""A short campaign: a few mutants of every reader. `make fuzz` runs a long one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.fuzz.campaign import Finding, Result, keep, run_batch, run_campaign
from tests.fuzz.mutate_columns import change_columns
from tests.fuzz.readers import READERS

pytest.importorskip("pandas")
pytest.importorskip("rosbags")
pytest.importorskip("pye57")
pytest.importorskip("copclib")
SEED = 11


def test_every_format_is_fuzzed(tmp_path: Path) -> None:
    from resweep.io.registry import FORMATS

    names = " ".join(READERS)
    missing = [name for name in FORMATS if name.replace("kitti360", "kitti-360") not in names]
    assert not missing


@pytest.mark.parametrize("each", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_short_campaign_is_clean(each: int) -> None:
    names = list(READERS)
    result = run_campaign(each * len(names), SEED, names)
    assert result.mutants >= each * len(names)
    assert all(result.counts[name] for name in names)
    assert not result.findings, "\n".join(f"{item.outcome} {item.name}: {item.detail}" for item in result.findings)


def test_mutants_depend_on_seed_and_number_alone(tmp_path: Path) -> None:
    def bytes_of(folder: Path) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    one, two, other = (
        bytes_of(keep(Finding("pcd-ascii", seed, 5, "read", ""), tmp_path / str(at)))
        for at, seed in enumerate((1, 1, 2))
    )
    assert one == two != other


@pytest.mark.parametrize(
    ("reader", "suffix"),
    [
        *(("kitti", ".bin"), ("nuscenes-scan", ".pcd.bin"), ("pcd-binary", ".pcd"), ("ply-big", ".ply")),
        *(("las", ".las"), ("laz", ".laz"), ("e57", ".e57"), ("argoverse2", ".feather"), ("poses-tum", ".tum")),
        *(("kitti-raw", ".txt"), ("kitti-raw", ".xml"), ("ros1", ".bag"), ("world", ".json")),
    ],
)
def test_numbers_are_changed_in_whole_files(reader: str, suffix: str, tmp_path: Path) -> None:
    """Most changes leave the length of binary files as it is, and all of them change something."""
    READERS[reader].make(tmp_path)
    file = next(file for file in sorted(tmp_path.rglob("*")) if file.name.endswith(suffix))
    data = file.read_bytes()
    changed = [change_columns(data, file.name, random.Random(seed)) for seed in range(20)]
    assert sum(other not in (None, data) for other in changed) > 10
    if suffix in (".bin", ".pcd.bin", ".las", ".laz", ".bag"):
        assert {len(other) for other in changed if other is not None} == {len(data)}


def test_a_finding_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The harness sees what it is there to see: a worker of readers that misbehave, each in its own way."""
    (tmp_path / "bad_reader.py").write_text(_BAD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tests.fuzz.campaign._WORKER", "bad_reader")
    jobs = [(name, 0, 1) for name in ("fine", "clear", "nonsense", "traceback", "hang", "memory", "crash", "fine")]
    found = run_batch(1, jobs)
    told = ["read", "error", "nonsense", "traceback", "hang", "memory", "crash", "read"]
    assert [item.outcome for item in found] == told
    result = Result(1, {})
    result.findings += found
    assert found[6].name == "crash:1:0"
    assert '"findings": [' in result.to_json()


_BAD = """
import json, os, sys
from pathlib import Path
from tests.fuzz import worker
from tests.fuzz.reader import Reader
from tests.fuzz.sanity import check_numbers
from resweep.errors import ResweepError

def make(folder):
    (folder / "a").write_text("x")
    return folder / "a"

calls = {}
def act(name):
    def read(path):
        calls[name] = calls.get(name, 0) + 1
        if calls[name] == 1:
            return  # the sample itself
        if name == "clear":
            raise ResweepError("a: damaged")
        if name == "nonsense":
            check_numbers("range", [1.0, -5.0], 0, 9)
        if name == "traceback":
            raise KeyError("a")
        if name == "hang":
            while True:
                pass
        if name == "memory":
            bytearray(64 << 30)
        if name == "crash":
            os.abort()
    return read

worker.SECONDS = 0.5
names = ("fine", "clear", "nonsense", "traceback", "hang", "memory", "crash")
worker.READERS.clear()
worker.READERS.update({name: Reader(name, make, act(name)) for name in names})
if __name__ == "__main__":
    worker.main(int(sys.argv[1]), json.loads(sys.argv[2]))
"""
