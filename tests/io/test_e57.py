"""E57 files: one scan or many, each with its pose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, open_log, write_log, write_sweep
from resweep.sweep import Sweep

pye57 = pytest.importorskip("pye57")


def make_file(path: Path, scans: int) -> None:
    file = pye57.E57(str(path), mode="w")
    for at in range(scans):
        data = {
            "cartesianX": np.array([1.0, 0.0, 4.0 + at]),
            "cartesianY": np.array([2.0, 5.0, 0.0]),
            "cartesianZ": np.array([3.0, 0.5, 0.0]),
            "intensity": np.array([0.1, 0.2, 0.3], np.float32),
            "rowIndex": np.array([0, 1, 2], np.uint16),
            "columnIndex": np.array([5, 5, 6], np.uint16),
            "cartesianInvalidState": np.array([0, 2, 0], np.int8),
        }
        half = 0.25 * at
        turn = np.array([np.cos(half), 0, 0, np.sin(half)])
        file.write_scan_raw(data, rotation=turn, translation=np.array([500_000.0 + at, 5_400_000.0, 100.0]))
    file.close()


def test_scans_of_one_file(tmp_path: Path) -> None:
    make_file(tmp_path / "site.e57", 3)
    log = open_log(tmp_path / "site.e57")
    assert (log.meta["format"], len(log), log.name) == ("e57", 3, "site")
    np.testing.assert_allclose(log.poses[:, 0, 3], [500_000, 500_001, 500_002])
    sweep = log[2]
    np.testing.assert_allclose(sweep.points, [[1, 2, 3], [6, 0, 0]], atol=1e-6)  # the invalid point is no return
    np.testing.assert_array_equal(sweep.ring, [0, 2])
    c, s = np.cos(1.0), np.sin(1.0)
    np.testing.assert_allclose(
        sweep.world_points()[1] - [500_002, 5_400_000, 100], [6 * c, 6 * s, 0], rtol=0, atol=1e-5
    )


def test_single_scans_and_folders(tmp_path: Path) -> None:
    for at in range(2):
        make_file(tmp_path / f"scan_{at}.e57", 1)
    assert load_sweep(tmp_path / "scan_1.e57").pose[0, 3] == 500_000
    log = open_log(tmp_path)
    assert (len(log), log.meta["format"], log.cloud) == (2, "e57", "raw")
    assert len(log[1]) == 2


def test_a_copy_still_is_a_cloud_that_no_vehicle_recorded(tmp_path: Path) -> None:
    make_file(tmp_path / "site.e57", 2)
    write_log(open_log(tmp_path / "site.e57"), tmp_path / "copy", progress=False)
    assert open_log(tmp_path / "copy").cloud == "raw"
    record = tmp_path / "copy" / "log.json"
    record.write_text(record.read_text().replace('"raw"', '"cooked"'))
    with pytest.raises(ResweepError, match=r"log\.json: cloud 'cooked'"):
        open_log(tmp_path / "copy")


def test_merged_clouds_do_not_say_where_a_scanner_was(tmp_path: Path) -> None:
    make_file(tmp_path / "site.e57", 2)
    assert open_log(tmp_path / "site.e57").sensor_position_known
    cloud = {name: np.arange(3.0) for name in ("cartesianX", "cartesianY", "cartesianZ")}
    grid = {name: np.arange(3, dtype=np.uint16) for name in ("rowIndex", "columnIndex")}
    for name, data, known in (("merged", cloud, False), ("scan", {**cloud, **grid}, True)):
        file = pye57.E57(str(tmp_path / f"{name}.e57"), mode="w")
        file.write_scan_raw(data)
        file.close()
        assert open_log(tmp_path / f"{name}.e57").sensor_position_known == known


def test_mistakes(tmp_path: Path, sweep: Sweep) -> None:
    make_file(tmp_path / "site.e57", 2)
    with pytest.raises(ResweepError, match="holds 2 scans; give scan=NUMBER"):
        load_sweep(tmp_path / "site.e57")
    assert len(load_sweep(tmp_path / "site.e57", scan=1)) == 2
    with pytest.raises(ResweepError, match="no scan 7"):
        load_sweep(tmp_path / "site.e57", scan=7)
    with pytest.raises(ResweepError, match="E57 scans can only be read"):
        write_sweep(sweep, tmp_path / "out.e57")
    whole = (tmp_path / "site.e57").read_bytes()
    (tmp_path / "site.e57").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResweepError, match=r"site\.e57: truncated or not an E57 file"):
        open_log(tmp_path / "site.e57")
