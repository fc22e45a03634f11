"""Clouds on the command line: boxes, levels and COPC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.pose import from_xyz_rpy

pytest.importorskip("copclib")
UTM = np.array([448_262.0, 5_411_932.0, 260.0])


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A folder of two tiles of 20 m side by side, with intensities of 8 bits."""
    folder = tmp_path / "survey"
    folder.mkdir()
    for at in range(2):
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.offsets, header.scales = UTM, np.full(3, 0.01)
        las = laspy.LasData(header)
        points = np.random.default_rng(at).uniform(0, [20, 20, 0.01], (3000, 3)) + UTM
        las.xyz = points + np.array([20 * at, 0, 0])
        las.classification, las.intensity = np.full(3000, 2), np.arange(3000) % 256
        las.write(str(folder / f"{at}.laz"))
    return folder


def box(x0: float, y0: float, x1: float, y1: float) -> str:
    return ",".join(f"{value:.2f}" for value in (UTM[0] + x0, UTM[1] + y0, UTM[0] + x1, UTM[1] + y1))


def test_tiles_become_one_cloud_and_parts_of_it_are_asked_for(resweep: Any, survey: Path) -> None:
    made = resweep("convert", survey, "hill.copc.laz", "--from-intensity-scale", "255", "--intensity-scale", "65535")
    assert (made.status, made.out.splitlines()[0]) == (0, "hill.copc.laz: 6,000 points of 2 sweeps as COPC"), made.err
    las = laspy.read("hill.copc.laz")
    assert (len(las.points), las.intensity.max()) == (6000, 65535)
    facts = json.loads(resweep("info", "hill.copc.laz", "--bounds", box(0, 0, 10, 20), "--json").out)
    inside = (np.asarray(las.x) <= UTM[0] + 10).sum()
    assert (facts["returns"], facts["labels"]) == (inside, {"ground": inside})
    coarse = json.loads(resweep("info", "hill.copc.laz", "--resolution", "3", "--json").out)
    assert coarse["returns"] < 6000
    assert resweep("view", survey, "--bounds", box(15, 0, 18, 20), "-o", "part.png").status == 0
    whole = json.loads(resweep("info", survey, "--intensity-scale", "255", "--json").out)
    assert (whole["sweeps"], whole["first sweep: intensity"]) == (2, [0.0, 1.0])


def test_worlds_are_built_of_tiles_and_become_clouds(resweep: Any, survey: Path) -> None:
    args = ("--method", "surfels", "--set", "voxel_m=0.5", "--set", "radius_m=0.5", "--set", "normal_radius_m=1.5")
    built = resweep("build", survey, "-o", "w.world", "--bounds", box(15, 5, 25, 10), *args)
    assert built.status == 0, built.err
    world = rs.load_world("w.world")
    size = world.bounds[1] - world.bounds[0]
    assert ((size[:2] > [9, 4]) & (size[:2] < [12, 7])).all()
    made = resweep("convert", "w.world", "w.copc.laz")
    count = world.layers[0].n_primitives
    assert made.out.splitlines()[0] == f"w.copc.laz: {count:,} points of 1 layers as COPC"
    assert len(laspy.read("w.copc.laz").points) == count
    refused = resweep("convert", "w.world", "folder", "--format", "pcd")
    assert refused.status == 1
    assert "is a world; it is converted to .copc.laz alone" in refused.err


def test_another_box_is_another_build(resweep: Any, survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints of a stopped build are not those of one with other bounds."""
    from resweep.map.checkpoints import _hash_inputs

    logs = [rs.open_log(survey, bounds=(*UTM[:2] - 1, *UTM[:2] + 50, -9, top)) for top in (900, 901)]
    np.testing.assert_array_equal(logs[0].poses, logs[1].poses)
    assert len({_hash_inputs(log, log.labels) for log in logs}) == 2


def test_a_log_becomes_a_cloud_with_a_coordinate_system(resweep: Any, tmp_path: Path) -> None:
    sweeps = [rs.Sweep.from_points(np.eye(3) + at, pose=from_xyz_rpy(*UTM), timestamp=float(at)) for at in range(3)]
    rs.write_log(rs.Log.from_sweeps(sweeps), "drive", progress=False)
    Path("crs.wkt").write_text('PROJCS["WGS 84 / UTM zone 32N",UNIT["metre",1],AUTHORITY["EPSG","32632"]]\n')
    assert resweep("convert", "drive", "d.copc.laz", "--crs", "crs.wkt").status == 0
    assert "UTM zone 32N" in rs.open_log("d.copc.laz").crs
    assert "coordinate system" in resweep("info", "d.copc.laz").out
    again = resweep("convert", "drive", "d.copc.laz")
    assert (again.status, "give --overwrite" in again.err) == (1, True)
    assert resweep("convert", "drive", "d.copc.laz", "--overwrite").status == 0
    many = resweep("convert", "drive", "d.laz")
    assert "or a name that ends in .copc.laz for one cloud" in many.err


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--bounds", "1,2,3"), "--bounds '1,2,3': expected X0,Y0,X1,Y1 or X0,Y0,X1,Y1,Z0,Z1 in metres"),
        (("--bounds", "a,b,c,d"), "--bounds 'a,b,c,d': expected"),
        (("--bounds", "5,0,1,1"), "--bounds '5,0,1,1': the lower corner comes first"),
        (("--bounds", "0,0,1,1"), "no point within the bounds 0, 0, 1, 1"),
        (("--resolution", "0"), "--resolution 0: expected a number above zero"),
        (("--resolution", "2"), "has no levels of detail"),
        (("--from-intensity-scale", "-1"), "--from-intensity-scale -1: expected a number above zero"),
        (("--frame", "sensor"), "--frame sensor: a cloud of many sweeps is in world coordinates"),
        (("--format", "pcd"), "is COPC by its name"),
        (("--crs", "none.wkt"), "none.wkt"),
    ],
)
def test_wrong_words_are_one_line_each(resweep: Any, survey: Path, args: tuple[str, ...], problem: str) -> None:
    result = resweep("convert", survey, "x.copc.laz", *args)
    assert result.status != 0
    (line,) = [line for line in result.err.splitlines() if "sensor position unknown" not in line]
    assert problem in line
    assert not Path("x.copc.laz").exists()


def test_bounds_are_of_clouds(resweep: Any, survey: Path) -> None:
    rs.write_log(rs.Log.from_sweeps([rs.Sweep.from_points(np.eye(3))]), "drive", progress=False)
    result = resweep("info", "drive", "--bounds", "0,0,1,1")
    assert result.status == 1
    assert "takes no option 'bounds'" in result.err
