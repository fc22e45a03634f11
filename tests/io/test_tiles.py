"""Folders of survey tiles as logs: what laspy wrote is read a piece at a time, by bounds."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.io.clouds import tile as tile_module
from resweep.io.files.las_crs import check_metres, is_same_crs, name_crs, read_crs
from resweep.pose import Array

SIDE = 100.0
CORNER = np.array([652_000.0, 6_861_000.0, 30.0])
COUNT = 4000
METRES = 'PROJCS["RGF93 / Lambert-93",GEOGCS["RGF93",UNIT["degree",0.0174532925199433]],UNIT["metre",1]{code}]'
LAMBERT = METRES.format(code=',AUTHORITY["EPSG","2154"]')
FEET = 'PROJCS["NAD83 / Oregon",GEOGCS["NAD83",UNIT["degree",0.017]],UNIT["US survey foot",0.304800609601219]]'
# GeoTIFF keys: projected, EPSG:2154, metres.
KEYS = struct.pack("<16H", 1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 2154, 3076, 0, 1, 9001)


def write_tile(path: Path, column: int, row: int, wkt: str = LAMBERT, keys: bytes = b"", **more: Any) -> Array:
    """A tile of SIDE metres at a place of the grid; gives its points, on steps of a centimetre."""
    rng = np.random.default_rng(column * 10 + row)
    points = rng.uniform(0, [SIDE, SIDE, 5], (more.get("count", COUNT), 3)) + CORNER + [column * SIDE, row * SIDE, 0]
    points = points.round(2)
    header = laspy.LasHeader(point_format=1 if keys else 6, version="1.2" if keys else "1.4")
    header.offsets, header.scales = CORNER, np.full(3, 0.01)
    if wkt:
        header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "", wkt.encode() + b"\0"))
    if keys:
        header.vlrs.append(laspy.VLR("LASF_Projection", 34735, "", keys))
    las = laspy.LasData(header)
    las.xyz = points
    las.classification = np.arange(len(points)) % 7
    las.intensity = np.arange(len(points)) % 4096
    las.gps_time = 1e8 + np.arange(len(points)) * 1e-4
    las.write(str(path))
    return points


@pytest.fixture
def survey(tmp_path: Path) -> tuple[Path, Array]:
    """Two by two tiles, of which two are compressed."""
    folder = tmp_path / "survey"
    folder.mkdir()
    names = ("a.laz", "b.las", "c.laz", "d.las")
    points = [write_tile(folder / name, at % 2, at // 2) for at, name in enumerate(names)]
    return folder, np.concatenate(points)


def sort_rows(points: Array) -> Array:
    return points[np.lexsort(np.round(points.T * 100))]


def join(log: rs.Log) -> Array:
    return np.concatenate([sweep.world_points() for sweep in log])


def test_a_folder_of_tiles_is_one_log(survey: tuple[Path, Array]) -> None:
    folder, points = survey
    log = rs.open_log(folder, chunk_points=1500)
    assert (len(log), log.labels.name, log.crs) == (4 * 3, "asprs", LAMBERT)
    assert (log.poses_known, log.sensor_position_known, log.times_known) == (True, False, False)
    assert max(len(sweep) for sweep in log) == 1500
    np.testing.assert_allclose(sort_rows(join(log)), sort_rows(points), rtol=0, atol=2e-5)
    assert np.abs(join(log) * 100 - np.round(join(log) * 100)).max() < 0.01  # UTM keeps its digits
    first = log[0]
    np.testing.assert_allclose(first.time, 1e8 + np.arange(1500) * 1e-4)
    np.testing.assert_array_equal(first.label, np.arange(1500) % 7)
    np.testing.assert_allclose(rs.open_log(folder, intensity_scale=4095)[0].intensity.max(), (COUNT - 1) / 4095)


def test_bounds_leave_tiles_unread(survey: tuple[Path, Array], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, points = survey
    read: list[str] = []
    original = tile_module.read_points

    def watch(piece: Any, *args: Any, **options: Any) -> Any:
        read.append(piece.tile.path.name)
        return original(piece, *args, **options)

    monkeypatch.setattr(tile_module, "read_points", watch)
    monkeypatch.setattr("resweep.io.clouds.cloud_log.read_points", watch)
    low, high = CORNER[:2] + 20, CORNER[:2] + np.array([90, 150])
    inside = ((points[:, :2] >= low) & (points[:, :2] <= high)).all(axis=1)
    log = rs.open_log(folder, bounds=(*low, *high), chunk_points=700)
    found = join(log)
    assert set(read) == {"a.laz", "c.laz"}
    np.testing.assert_allclose(sort_rows(found), sort_rows(points[inside]), rtol=0, atol=2e-5)
    assert all(len(sweep) for sweep in log)
    read.clear()
    whole = (*CORNER[:2] - 1, *CORNER[:2] + 201)
    rs.open_log(folder, bounds=whole)
    assert not read  # headers alone say that all of it is asked for


def test_tiles_are_built_as_clouds_without_sensor(survey: tuple[Path, Array]) -> None:
    folder, _ = survey
    log = rs.open_log(folder, bounds=(*CORNER[:2], *CORNER[:2] + 40))
    config = rs.SurfelConfig(voxel_m=2.0, radius_m=2.0, normal_radius_m=5.0)
    with pytest.warns(UserWarning, match="nothing says where the scanner was"):
        world = rs.build(log, config, progress=False)
    assert np.abs(world.bounds.mean(axis=0)[:2] - CORNER[:2] - 20).max() < 5
    with pytest.raises(ResweepError, match="at least 100 are needed"):
        rs.build(rs.open_log(folder, bounds=(*CORNER[:2], *CORNER[:2] + 10)), progress=False)


def test_folders_of_sweeps_stay_what_they_are(tmp_path: Path) -> None:
    for at in range(2):
        near = rs.Sweep.from_points(np.random.default_rng(at).normal(0, 9, (50, 3)), timestamp=float(at))
        rs.write_sweep(near, tmp_path / f"{at}.las")
        header = laspy.LasHeader(point_format=6, version="1.4")
        las = laspy.LasData(header)
        las.xyz = near.points
        (tmp_path / "bare").mkdir(exist_ok=True)
        las.write(str(tmp_path / "bare" / f"{at}.las"))
    assert rs.open_log(tmp_path).sensor_position_known
    assert not rs.open_log(tmp_path / "bare").poses_known  # may be of a sensor's own frame
    asked = rs.open_log(tmp_path / "bare", format="tiles")
    assert (asked.poses_known, len(asked)) == (True, 2)
    with pytest.raises(ResweepError, match="holds a sweep with the pose of its sensor"):
        rs.open_log(tmp_path, format="tiles")


def test_a_file_too_large_for_a_sweep_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tile(tmp_path / "one.laz", 0, 0)
    assert len(rs.open_log(tmp_path / "one.laz")) == 1
    monkeypatch.setattr("resweep.io.clouds.tiles.CHUNK_POINTS", 1000)
    log = rs.open_log(tmp_path / "one.laz")
    assert log.meta["format"] == "tiles"
    assert sum(len(sweep) for sweep in log) == COUNT


@pytest.mark.parametrize(
    ("wkt", "keys", "problem"),
    [
        (LAMBERT.replace("2154", "2056"), b"", r"b\.las: coordinate system .*EPSG:2056.*, a\.las has .*EPSG:2154"),
        ("", KEYS.replace(struct.pack("<H", 2154), struct.pack("<H", 32631)), r"b\.las: coordinate system EPSG:32631"),
        ("", KEYS, None),  # the same by another name
        (METRES.format(code=""), b"", "coordinate system"),
    ],
)
def test_tiles_must_share_a_coordinate_system(tmp_path: Path, wkt: str, keys: bytes, problem: str | None) -> None:
    write_tile(tmp_path / "a.las", 0, 0)
    write_tile(tmp_path / "b.las", 1, 0, wkt, keys)
    if problem is None:
        assert len(rs.open_log(tmp_path)) == 2
        return
    with pytest.raises(ResweepError, match=problem) as error:
        rs.open_log(tmp_path)
    assert "\n" not in str(error.value)


def test_a_tile_that_names_no_system_is_said(tmp_path: Path) -> None:
    write_tile(tmp_path / "a.las", 0, 0)
    write_tile(tmp_path / "b.las", 1, 0, "")
    with pytest.warns(UserWarning, match=r"1 of 2 tiles \(b\.las first\) name no coordinate system"):
        rs.open_log(tmp_path)


def test_feet_and_degrees_are_refused(tmp_path: Path) -> None:
    write_tile(tmp_path / "a.las", 0, 0, FEET)
    with pytest.raises(ResweepError, match=r"coordinates in US survey foot \(NAD83 / Oregon\), metres are needed"):
        rs.open_log(tmp_path)
    vertical = f'COMPD_CS["both",{LAMBERT},VERT_CS["NAVD88",VERT_DATUM["x",2005],UNIT["foot",0.3048]]]'
    for text, unit in (('GEOGCS["WGS 84",UNIT["degree",0.017]]', "degrees"), (vertical, "foot"), ("EPSG:1 in x", "x")):
        with pytest.raises(ResweepError, match=f"coordinates in {unit}"):
            check_metres(text, "a.las")
    for text in (LAMBERT, "EPSG:2154", "", 'LOCAL_CS["site"]'):
        check_metres(text, "a.las")
    feet = struct.pack("<12H", 1, 1, 0, 2, 3072, 0, 1, 2903, 3076, 0, 1, 9003)
    with pytest.raises(ResweepError, match="coordinates in US survey feet"):
        check_metres(read_crs([laspy.VLR("LASF_Projection", 34735, "", feet)]), "a.las")
    assert is_same_crs(LAMBERT, vertical)
    assert name_crs(LAMBERT) == "RGF93 / Lambert-93 (EPSG:2154)"


def test_damaged_tiles_are_named_or_left_out(survey: tuple[Path, Array]) -> None:
    folder, _ = survey
    data = (folder / "b.las").read_bytes()
    (folder / "b.las").write_bytes(data[: len(data) // 2])
    with pytest.raises(ResweepError, match=r"b\.las: truncated or not a LAS file"):
        rs.open_log(folder)
    with pytest.warns(UserWarning, match=r"b\.las is left out"):
        log = rs.open_log(folder, keep_going=True)
    assert (len(log), len(log.skipped)) == (3, 1)


def test_a_resolution_needs_levels(survey: tuple[Path, Array]) -> None:
    with pytest.raises(ResweepError, match=r"has no levels of detail.*only COPC files have them"):
        rs.open_log(survey[0], resolution=1.0)
    with pytest.raises(ResweepError, match="no point within the bounds"):
        rs.open_log(survey[0], bounds=(0, 0, 5, 5))
