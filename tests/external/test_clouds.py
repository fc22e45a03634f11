"""Programs of the field and clouds: py3dtiles reads what we write, we read what Whitebox writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.io.clouds.octree import read_layout
from resweep.pose import Array, from_xyz_rpy

pytest.importorskip("copclib")
HERE = Path(__file__).parent
PLACE = np.array([448_000.0, 5_411_000.0, 200.0])


def run(python: str, script: str, *args: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        [python, str(HERE / script), *args], env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def make_points(count: int) -> Array:
    points = np.random.default_rng(0).uniform(0, [100, 60, 5], (count, 3))
    return (points + PLACE).round(2)


@pytest.mark.slow
def test_3d_tiles_are_made_of_our_clouds(external_python: str, tmp_path: Path) -> None:
    points = make_points(20_000)
    log = rs.Log.from_sweeps([rs.Sweep.from_points(points - PLACE, pose=from_xyz_rpy(*PLACE))])
    rs.write_cloud(log, tmp_path / "town.copc.laz", progress=False)
    printed = run(external_python, "clouds_3dtiles.py", str(tmp_path / "town.copc.laz"), str(tmp_path / "3dtiles"))
    found = json.loads(printed.splitlines()[-1])
    assert found["points"] == 20_000
    centre = np.array(found["transform"]).reshape(4, 4)[3, :3] + np.array(found["box"][:3])
    np.testing.assert_allclose(centre, (points.min(axis=0) + points.max(axis=0)) / 2, atol=0.02)


def test_a_cloud_of_another_writer_is_read_by_box_and_level(external_python: str, tmp_path: Path) -> None:
    points = make_points(30_000)
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.offsets, header.scales = PLACE, np.full(3, 0.01)
    las = laspy.LasData(header)
    las.xyz, las.classification, las.intensity = points, np.arange(len(points)) % 7, np.arange(len(points))
    las.return_number = las.number_of_returns = np.ones(len(points), np.uint8)
    las.write(str(tmp_path / "f.las"))
    cloud = tmp_path / "f.copc.laz"
    run(external_python, "clouds_whitebox.py", str(tmp_path / "f.las"), str(cloud))
    octree = read_layout(cloud)
    assert len({node.level for node in octree.nodes}) > 1
    log = rs.open_log(cloud, chunk_points=5000)
    found = np.concatenate([sweep.world_points() for sweep in log])
    order = np.argsort(np.concatenate([sweep.intensity for sweep in log]), kind="stable")
    np.testing.assert_allclose(found[order], points, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(np.concatenate([sweep.label for sweep in log])[order], np.arange(len(points)) % 7)
    low, high = PLACE[:2] + 10, PLACE[:2] + np.array([40, 35])
    inside = ((points[:, :2] >= low) & (points[:, :2] <= high)).all(axis=1).sum()
    assert sum(len(sweep) for sweep in rs.open_log(cloud, bounds=(*low, *high))) == inside
    with laspy.CopcReader.open(str(cloud)) as reader:
        judged = len(reader.query(resolution=octree.spacing))
    assert sum(len(sweep) for sweep in rs.open_log(cloud, resolution=octree.spacing)) == judged < len(points)
