"""One plan for each dataset: another is refused, at the same time or later."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.dataset import DatasetPlan, generate
from resweep.dataset.dataset_record import _fingerprint
from resweep.worlds import Mesh, World

FIELDS: dict[str, Any] = {
    "worlds": ["scene:street"],
    "sensors": ["velodyne-vlp-16"],
    "scenarios": [{"name": "pass", "ego": {"lane": [[-30, -1.3], [0, -1.3]], "speed_mps": 8}, "duration_s": 0.35}],
    "sweeps": 2,
}
SLOW = """
import importlib, json, sys
module = importlib.import_module("resweep.dataset.generate")
make = module._make_sweep
def wait(work, place):
    if place[1] == 1:
        print("waiting", flush=True)
        sys.stdin.readline()
    make(work, place)
module._make_sweep = wait
module.generate(module.DatasetPlan(**json.loads(sys.argv[1])), sys.argv[2], workers=1, progress=False)
"""


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_two_plans_at_once_do_not_mix(tmp_path: Path) -> None:
    args = [sys.executable, "-c", SLOW, json.dumps(FIELDS), str(tmp_path / "data")]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "waiting\n"
        for seed in (0, 1):  # the same plan is refused too: both would do the same work
            with pytest.raises(rs.ResweepError, match=rf"data: another process is writing it \(pid {first.pid}"):
                generate(DatasetPlan(**FIELDS, seed=seed), tmp_path / "data", progress=False)
        first.communicate("\n")
    assert first.returncode == 0
    with pytest.raises(rs.ResweepError, match=r"written with other settings \(plan.seed was 0, is now 1\)"):
        generate(DatasetPlan(**FIELDS, seed=1), tmp_path / "data", progress=False)
    generate(DatasetPlan(**FIELDS), tmp_path / "alone", progress=False)
    assert content(tmp_path / "data") == content(tmp_path / "alone")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["alone", "data"]


def test_worlds_that_differ_only_in_their_arrays_are_reported_apart(tmp_path: Path) -> None:
    def save(name: str, faces: list[list[int]]) -> str:
        corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
        return str(World([Mesh(corners, np.array(faces))]).save(tmp_path / name))

    one, same = save("a.world", [[0, 1, 2], [1, 2, 3]]), save("b.world", [[0, 1, 2], [1, 2, 3]])
    other = save("c.world", [[0, 1, 2], [1, 3, 2]])
    assert Path(one, "world.json").read_bytes() == Path(other, "world.json").read_bytes()
    assert _fingerprint(one) == _fingerprint(same)
    assert _fingerprint(one) != _fingerprint(other)
