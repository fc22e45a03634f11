"""Clouds that do not say where their sensor was: what is built, said and refused."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.pose import Array, from_xyz_rpy

UTM = np.array([455_000.0, 5_427_000.0, 110.0])
SAID = "sensor position unknown"


def yard() -> Array:
    """Ground of 12 × 12 m with a wall, and a post in the very middle."""
    axis = np.arange(-6, 6, 0.1)
    x, y = (part.ravel() for part in np.meshgrid(axis, axis))
    ground = np.column_stack([x, y, np.zeros_like(x)])
    wall = np.column_stack([np.full_like(x, 6.0), x, 0.25 * (y + 6)])
    post = np.column_stack([np.zeros(50), np.zeros(50), np.linspace(0, 1, 50)])
    return np.concatenate([ground, wall, post])


def write_las(path: Path, points: Array) -> None:
    las = laspy.LasData(laspy.LasHeader(point_format=6, version="1.4"))
    las.header.offsets, las.header.scales = np.floor(points.min(axis=0)), np.full(3, 0.001)
    las.x, las.y, las.z = points.T
    las.classification = np.full(len(points), 2, np.uint8)
    las.write(str(path))


def write_ply(path: Path, points: Array) -> None:
    head = ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
    head += [f"property double {axis}" for axis in "xyz"] + ["end_header"]
    path.write_text("\n".join(head + [f"{x:.3f} {y:.3f} {z:.3f}" for x, y, z in points]) + "\n")


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    write_las(tmp_path / "tile.las", yard() + UTM)
    return tmp_path / "tile.las"


SURFELS = ("--method", "surfels", "--set", "voxel_m=0.2", "--set", "radius_m=0.2", "--set", "normal_radius_m=0.5")
RULE = "nothing says where the scanner was; "


@pytest.mark.parametrize("place", [UTM, np.zeros(3)])
@pytest.mark.parametrize("suffix", ["las", "ply"])
def test_a_cloud_is_built_and_the_rule_is_said(resweep: Any, tmp_path: Path, place: Array, suffix: str) -> None:
    cloud = tmp_path / f"cloud.{suffix}"
    (write_las if suffix == "las" else write_ply)(cloud, yard() + place)
    log = rs.open_log(cloud)
    assert not log.sensor_position_known
    assert SAID in repr(log)
    built = resweep("build", cloud, "-o", "w.world")
    assert built.status == 0, built.err
    assert built.err.count(f"log 'cloud': {RULE}") == 1
    assert RULE in built.out
    (line,) = [line for line in built.out.splitlines() if line.startswith("next: resweep ")]
    again = resweep(*shlex.split(line.removeprefix("next: resweep ")))
    assert (again.status, again.err) == (0, "")
    assert len(rs.open_log("out")[0]) > 1000


@pytest.mark.parametrize("args", [SURFELS, ("--method", "splats"), ("--method", "mesh-imls")])
def test_other_methods_are_built_too(resweep: Any, tile: Path, args: tuple[str, ...]) -> None:
    built = resweep("build", tile, "-o", "w.world", "--scanner", ",".join(map(str, UTM + np.array([1, 1, 2]))), *args)
    assert built.status == 0, built.err
    assert RULE not in built.err
    assert "the scanner's position is the one given" in built.out
    world = rs.load_world("w.world")
    assert world.bounds[1, 0] - world.bounds[0, 0] == pytest.approx(12.0, abs=1.0)
    if isinstance(splats := world.layers[0], rs.Splats):
        centres = splats.centre + world.origin - UTM
        assert (np.linalg.norm(centres, axis=1) < 0.5).any()  # no hole around a sensor that never was
        ground = np.abs(centres[:, 2]) < 0.01
        assert (splats.normal[ground, 2] > 0).all()


def test_scanners_that_make_no_sense_are_refused(resweep: Any, tile: Path) -> None:
    for word in ("1,2", "a,b,c", "1,2,nan"):
        refused = resweep("build", tile, "-o", "w.world", "--scanner", word)
        assert (refused.status, f"--scanner '{word}': expected X,Y,Z" in refused.err) == (1, True)
    refused = resweep("build", tile, "-o", "w.world", "--scanner", "0,0,2")
    assert "lies 5,446 km from its points; give it in the cloud's own coordinates" in refused.err
    refused = resweep("build", tile, tile, "-o", "w.world", "--scanner", "0,0,2")
    assert "--scanner: is where the scanner of one cloud stood, and 2 are given" in refused.err
    assert not Path("w.world").exists()


def test_commands_that_need_no_sensor_keep_working_and_say_it(resweep: Any, tile: Path, tmp_path: Path) -> None:
    assert SAID in resweep("info", tile).out
    assert SAID in json.loads(resweep("info", tile, "--json").out)["sensor"]
    assert SAID in resweep("view", tile, "-o", "tile.png").err
    assert Path("tile.png").is_file()
    converted = resweep("convert", tile, "copy", "--format", "sweep")
    assert (converted.status, SAID in converted.err) == (0, True)
    copy = rs.open_log("copy")
    assert not copy.sensor_position_known  # a copy knows no more
    np.testing.assert_allclose(copy[0].world_points().mean(axis=0), (yard() + UTM).mean(axis=0), atol=1e-3)
    (tmp_path / "tiles").mkdir()
    for name in ("a", "b"):
        write_las(tmp_path / "tiles" / f"{name}.las", yard() + UTM)
    tiles = rs.open_log("tiles")
    assert (tiles.poses_known, tiles.sensor_position_known) == (True, False)  # in one frame, of no sensor
    np.testing.assert_allclose(tiles[1].world_points().mean(axis=0), (yard() + UTM).mean(axis=0), atol=1e-3)


def test_evaluation_compares_clouds_and_no_beams(resweep: Any, tile: Path) -> None:
    sweep = rs.Sweep.from_points(yard(), pose=from_xyz_rpy(*UTM))
    rs.write_log(rs.Log.from_sweeps([sweep]), "sim", progress=False)
    done = resweep("evaluate", "sim", tile, "--json")
    assert done.status == 0, done.err
    assert f"warning: {SAID} (real side)" in done.err
    figures = json.loads(done.out.splitlines()[-1])
    assert figures["c2c_m"] < 0.002
    for name in ("matched", "range_median_m", "return_f1", "intensity_rmse", "range_ssim"):
        assert figures[name] is None
    assert resweep("evaluate", "sim", tile, "-o", "r.html").status == 0


def test_nothing_is_driven_like_a_cloud(resweep: Any, tile: Path) -> None:
    for args in ((), ("-s", "velodyne-vlp-16")):
        refused = resweep("simulate", "scene:street", "--like", tile, "-o", "out", *args)
        assert refused.status == 1
        assert "its sensor's position is unknown" in refused.err


def test_files_that_say_where_the_sensor_was_are_built_as_ever(tmp_path: Path) -> None:
    sweep = rs.Sweep.from_points(yard() - [0, 0, 1.8], pose=from_xyz_rpy(1, 2, 3))
    for suffix in ("pcd", "ply", "las", "sweep", "bin"):
        rs.write_sweep(sweep, tmp_path / f"own.{suffix}")
        assert rs.open_log(tmp_path / f"own.{suffix}").sensor_position_known, suffix
    text = (tmp_path / "own.pcd").read_bytes()
    head, data, body = text.partition(b"DATA")
    bare = b"".join(line for line in head.splitlines(keepends=True) if not line.startswith(b"#"))
    (tmp_path / "viewpoint.pcd").write_bytes(bare + data + body)
    assert rs.open_log(tmp_path / "viewpoint.pcd").sensor_position_known
    nowhere = re.sub(rb"VIEWPOINT .*", b"VIEWPOINT 0 0 0 1 0 0 0", bare)
    (tmp_path / "nowhere.pcd").write_bytes(nowhere + data + body)
    assert not rs.open_log(tmp_path / "nowhere.pcd").sensor_position_known
    posed = rs.open_log(tmp_path / "nowhere.pcd", poses=np.eye(4)[None])
    assert posed.sensor_position_known
