"""Clouds that nothing, or not all, can be built from: one error that says what to do, or a stated rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.pose import Array
from tests.survey_files import UTM, scan_room, write_las

WGS84 = 'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],UNIT["degree",0.0174532925199433]]'
FEET = 'PROJCS["NAD83 / Oregon",GEOGCS["x",UNIT["degree",0.0174]],UNIT["US survey foot",0.3048006096012192]]'
FAST = ("--method", "splats", "--set", "cloud.standpoints_max=4")
PDAL = "pdal translate -i IN.laz -o OUT.laz -f filters.reprojection --filters.reprojection.out_srs=EPSG:326ZZ"


def write_ply(path: Path, points: Array, kind: str = "uchar", colour: Array | None = None) -> Path:
    head = ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
    head += [f"property double {axis}" for axis in "xyz"]
    rows = points
    if colour is not None:
        head += [f"property {kind} {name}" for name in ("red", "green", "blue")]
        rows = np.hstack([points, colour])
    lines = [" ".join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join([*head, "end_header", *lines]) + "\n")
    return path


def refuse(resweep: Any, path: Path, *args: str) -> str:
    """The one line of an error; nothing is left on the disk."""
    done = resweep("build", path, "-o", "w.world", *args)
    assert done.status == 1, done.out
    (line,) = [line for line in done.err.splitlines() if "warning" not in line]
    assert line.startswith("resweep: error: ")
    assert not list(path.parent.glob("w.world*"))
    return str(line)


def accept(resweep: Any, path: Path, *args: str) -> tuple[rs.World, str]:
    """The world, and what was said on the way."""
    done = resweep("build", path, "-o", "w.world", "--overwrite", *FAST, *args)
    assert done.status == 0, done.err
    return rs.load_world("w.world"), done.err


def test_a_handful_of_points(resweep: Any, tmp_path: Path) -> None:
    few = write_las(tmp_path / "few.las", scan_room(30.0)[:12])
    assert "log 'few': has 12 points; at least 100 are needed to find surfaces" in refuse(resweep, few)


def test_points_that_are_all_one(resweep: Any, tmp_path: Path) -> None:
    one = write_las(tmp_path / "one.las", np.tile([[1.0, 2.0, 3.0]], (500, 1)))
    assert "log 'one': has 1 points (499 more are duplicates)" in refuse(resweep, one)


def test_points_on_one_line(resweep: Any, tmp_path: Path) -> None:
    along = np.linspace(0, 40, 3000)[:, None] * np.array([[0.6, 0.8, 0.1]]) + UTM
    assert "lie on one line of 40.2 m, so no surface has a normal" in refuse(
        resweep, write_las(tmp_path / "line.las", along)
    )


def test_points_in_one_place(resweep: Any, tmp_path: Path) -> None:
    """A cloud in kilometres, or with a wrong scale."""
    small = np.random.default_rng(0).uniform(0, 1e-4, (500, 3))
    assert "all of its points lie within 0.00011 m; check its unit" in refuse(
        resweep, write_ply(tmp_path / "small.ply", small)
    )


def test_an_empty_file(resweep: Any, tmp_path: Path) -> None:
    laspy.LasData(laspy.LasHeader(point_format=6, version="1.4")).write(str(tmp_path / "empty.las"))
    (tmp_path / "none.laz").write_bytes(b"")
    write_ply(tmp_path / "empty.ply", np.zeros((0, 3)))
    for name in ("empty.las", "none.laz", "empty.ply"):
        assert name.split(".")[0] in refuse(resweep, tmp_path / name)


def test_nan_points_are_an_error_that_says_what_leaves_them_out(resweep: Any, tmp_path: Path) -> None:
    points = scan_room(4.0)
    points[7] = np.nan
    message = refuse(resweep, write_ply(tmp_path / "nan.ply", points))
    assert "1 of 4050 points hold NaN, infinity or more than 5e+07 m (first: point 7)" in message
    assert message.endswith("--drop-nan leaves such points out")
    world, _ = accept(resweep, tmp_path / "nan.ply", "--drop-nan")
    assert np.isfinite(world.layers[0].centre).all()


def test_degrees_and_feet(resweep: Any, tmp_path: Path) -> None:
    points = scan_room(4.0)
    degrees = np.array([8.4, 49.0, 110.0]) + points * [1e-5, 1e-5, 1.0]
    message = refuse(resweep, write_las(tmp_path / "angles.las", degrees, WGS84))
    assert "log 'angles': coordinates in degrees (WGS 84), metres are needed" in message
    assert PDAL in message
    message = refuse(resweep, write_las(tmp_path / "feet.las", points / 0.3048, FEET))
    assert "coordinates in US survey foot (NAD83 / Oregon), metres are needed" in message
    assert PDAL in message
    message = refuse(resweep, write_ply(tmp_path / "silent.ply", degrees))
    assert "as longitude and latitude in degrees with heights in metres do" in message
    assert PDAL in message


def test_wild_outliers_are_left_out(resweep: Any, tmp_path: Path) -> None:
    points = scan_room(3.0)
    wild = np.concatenate([points, [[4e5, 0, 0], [0, -9e6, 50]]])
    world, message = accept(resweep, write_ply(tmp_path / "wild.ply", wild))
    assert "log 'wild': about 2 points far from all others are left out: beyond x -" in message
    assert (np.ptp(world.bounds, axis=0) < 8).all()
    plain, message = accept(resweep, write_ply(tmp_path / "plain.ply", points))
    assert "far from" not in message
    # Coordinates are rounded around another origin, and cells start there, so some splats differ.
    assert len(plain.layers[0]) == pytest.approx(len(world.layers[0]), rel=0.005)


def test_duplicates_count_once(resweep: Any, tmp_path: Path) -> None:
    points = scan_room(4.0)
    twice = write_las(tmp_path / "twice.las", np.concatenate([points, points]))
    world, message = accept(resweep, twice)
    assert "points repeat another one and count once" in message
    once, _ = accept(resweep, write_las(tmp_path / "once.las", points))
    np.testing.assert_array_equal(world.layers[0].centre, once.layers[0].centre)


@pytest.mark.parametrize(("kind", "white"), [("float", 1.0), ("uchar", 255), ("ushort", 65535)])
def test_colours_of_any_scale(resweep: Any, tmp_path: Path, kind: str, white: float) -> None:
    points = scan_room(4.0)
    colour = np.tile([white, white * 0.6 if kind == "float" else round(white * 0.6), 0.0], (len(points), 1))
    world, _ = accept(resweep, write_ply(tmp_path / "colour.ply", points, kind, colour))
    extra = world.layers[0].extra
    assert [int(np.median(extra[name])) for name in ("red", "green", "blue")] == [255, 153, 0]


def test_colours_out_of_range_are_clipped(resweep: Any, tmp_path: Path) -> None:
    points = scan_room(4.0)
    colour = np.tile([100.0, 0.0, 255.0], (len(points), 1))
    colour[:5, 1] = [-3.0, np.nan, 1e9, -1e9, np.inf]
    world, message = accept(resweep, write_ply(tmp_path / "odd.ply", points, "double", colour))
    assert "log 'odd': 5 colours lie outside 0 to 255 or are no numbers; they are clipped" in message
    assert (world.layers[0].extra["red"] == 100).all()


def test_a_place_without_vegetation_has_no_volumes(resweep: Any, tmp_path: Path) -> None:
    path = write_las(tmp_path / "room.las", scan_room(2.0) + UTM)
    done = resweep("build", path, "-o", "w.world", "--set", "cloud.standpoints_max=4")
    assert done.status == 0, done.err
    assert rs.load_world("w.world").layers[0].kind == "splats"
    volumes = [layer for layer in rs.load_world("w.world").layers if layer.kind == "volumes"]
    assert sum(map(len, volumes)) < 0.02 * len(rs.load_world("w.world").layers[0])
