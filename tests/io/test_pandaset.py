"""PandaSet sequences: world coordinates back into the LiDAR's, and pickles that ask for too much."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.pose import from_xyz_rpy, transform

pd = pytest.importorskip("pandas")
POSES = [from_xyz_rpy(50 + at, -20, 2, yaw=0.5) for at in range(2)]


def save(frame: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(pickle.dumps(frame)))


def make_sequence(path: Path) -> Path:
    local = np.array([[10.0, 0, -1], [0, 5, 0], [30, 1, 1]])
    for at, pose in enumerate(POSES):
        world = transform(pose, local)
        frame = pd.DataFrame(dict(zip("xyz", world.T, strict=True)))
        frame["i"], frame["t"], frame["d"] = [7.0, 8.0, 9.0], 1557539924.0 + 0.1 * at + np.arange(3) / 100, [0, 0, 1]
        save(frame, path / "lidar" / f"{at:02d}.pkl.gz")
        save(pd.DataFrame({"class": [13, 5, 7]}), path / "annotations/semseg" / f"{at:02d}.pkl.gz")
        centre = transform(pose, np.array([[10.0, 0, -1], [30, 1, 1]]))
        cuboids = pd.DataFrame(
            {
                **{"uuid": ["u1", "u2"], "label": ["Car", "Bus"], "stationary": [True, False]},
                # A yaw of 0 points along the world's y; this one along the LiDAR's x.
                "yaw": [0.5 - np.pi / 2] * 2,
                **{f"position.{axis}": centre[:, k] for k, axis in enumerate("xyz")},
                **{"dimensions.x": [2.0, 2.5], "dimensions.y": [4.5, 12.0], "dimensions.z": [1.5, 3.0]},
                "cuboids.sensor_id": [-1, 1],
            }
        )
        save(cuboids, path / "annotations/cuboids" / f"{at:02d}.pkl.gz")
    records = []
    for pose in POSES:
        heading = {"w": np.cos(0.25), "x": 0.0, "y": 0.0, "z": np.sin(0.25)}
        records.append({"position": dict(zip("xyz", pose[:3, 3].tolist(), strict=True)), "heading": heading})
    (path / "lidar/poses.json").write_text(json.dumps(records))
    (path / "lidar/timestamps.json").write_text(json.dumps([1557539924.0, 1557539924.1]))
    return path


def test_sequence(tmp_path: Path) -> None:
    path = make_sequence(tmp_path / "001")
    log = open_log(path)
    assert (log.meta["format"], len(log), log.sensor_name) == ("pandaset", 2, "hesai-pandar64")
    np.testing.assert_allclose(log.poses, POSES, atol=1e-12)
    sweep = log[1]
    np.testing.assert_allclose(sweep.points, [[10, 0, -1], [0, 5, 0]], atol=1e-5)
    np.testing.assert_array_equal(sweep.label, [13, 5])
    np.testing.assert_allclose(sweep.time - sweep.timestamp, [0, 0.01], atol=1e-6)
    assert sweep.boxes is not None
    assert sweep.boxes.name == ("Car",)  # the bus was drawn for the other LiDAR
    np.testing.assert_allclose(sweep.boxes.centre, [[10, 0, -1]], atol=1e-9)
    np.testing.assert_allclose(sweep.boxes.size, [[4.5, 2.0, 1.5]])
    np.testing.assert_allclose(sweep.boxes.yaw, [0], atol=1e-9)
    forward = open_log(path, lidar=1)[0]
    np.testing.assert_array_equal(forward.label, [7])
    assert forward.boxes is not None
    assert forward.boxes.name == ("Car", "Bus")


class Harmful:
    def __reduce__(self) -> Any:
        return os.system, ("echo harm",)


def test_pickles_that_ask_for_more_are_refused(tmp_path: Path) -> None:
    path = make_sequence(tmp_path / "001")
    save(Harmful(), path / "lidar/00.pkl.gz")
    with pytest.raises(ResweepError, match=r"00\.pkl\.gz: asks for (posix|nt|os)\.system"):
        open_log(path)[0]
    for name in (b"pickle.loads", b"import_optional_dependency"):  # reachable through pandas, but no part of a frame
        short = [bytes([0x8C, len(text)]) + text for text in (b"pandas.core.frame", name)]
        (path / "lidar/00.pkl.gz").write_bytes(gzip.compress(b"\x80\x04" + b"".join(short) + b"\x93."))
        with pytest.raises(ResweepError, match=r"00\.pkl\.gz: holds no pandas frame"):
            open_log(path)[0]
    save([1, 2, 3], path / "lidar/01.pkl.gz")
    with pytest.raises(ResweepError, match=r"01\.pkl\.gz: holds no pandas frame"):
        open_log(path)[1]


def test_mistakes(tmp_path: Path) -> None:
    path = make_sequence(tmp_path / "001")
    whole = (path / "lidar/01.pkl.gz").read_bytes()
    (path / "lidar/01.pkl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResweepError, match=r"01\.pkl\.gz: truncated"):
        open_log(path)[1]
    save(pd.DataFrame({"class": [13]}), path / "annotations/semseg/00.pkl.gz")
    with pytest.raises(ResweepError, match=r"00\.pkl\.gz: 1 labels for 3 points"):
        open_log(path)[0]
    (path / "lidar/timestamps.json").write_text("[1.0]")
    with pytest.raises(ResweepError, match=r"timestamps\.json: 1 rows for 2 sweeps"):
        open_log(path)
