"""COPC that Resweep writes, judged by laspy's reader and by copclib's checks; and what is read of it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.io.clouds.octree import read_layout
from resweep.io.clouds.writing.copc_file import CopcWriter
from resweep.io.clouds.writing.octree_levels import CELL_BITS
from resweep.pose import Array, from_xyz_rpy

copclib = pytest.importorskip("copclib")
UTM = np.array([448_262.0, 5_411_932.0, 260.0])
WKT = (
    'PROJCS["RGF93 / Lambert-93",GEOGCS["RGF93",DATUM["RGF93",SPHEROID["GRS 1980",6378137,298.257222101]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Lambert_Conformal_Conic_2SP"],'
    'UNIT["metre",1],AUTHORITY["EPSG","2154"]]'
)
COUNT = 60_000


def make_hill(count: int = COUNT, seed: int = 0) -> Array:
    """Points on a hill of 80 m, denser in a corner, on steps of a millimetre."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 80, (count, 3))
    points[: count // 2, :2] *= 0.25
    points[:, 2] = 5 * np.sin(points[:, 0] / 10) + rng.normal(0, 0.02, count)
    return (points + UTM).round(3)


def make_log(points: Array, parts: int = 3, **facts: Any) -> rs.Log:
    sweeps = []
    for at, part in enumerate(np.array_split(points, parts)):
        count = len(part)
        sweeps.append(
            rs.Sweep.from_points(
                part - UTM,
                pose=from_xyz_rpy(*UTM),
                timestamp=float(at),
                time=at + np.linspace(0, 0.1, count),
                intensity=np.linspace(0, 1, count).astype(np.float32),
                label=np.full(count, 2 + at, np.int32),
            )
        )
    return rs.Log.from_sweeps(sweeps, "hill", **facts)


@pytest.fixture(scope="module")
def hill() -> Array:
    return make_hill()


@pytest.fixture(scope="module")
def cloud(hill: Array, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("copc") / "hill.copc.laz"
    log = make_log(hill, labels=rs.load_labels("asprs"), crs=WKT)
    assert rs.write_cloud(log, path, progress=False) == COUNT
    return path


def sort_rows(points: Array) -> Array:
    """The points in an order that a rounding below their steps of a millimetre does not change."""
    return points[np.lexsort(np.round(points.T * 1000))]


def test_laspy_finds_every_point_and_what_is_known_of_it(cloud: Path, hill: Array) -> None:
    with laspy.CopcReader.open(str(cloud)) as reader:
        points = reader.query()
        header = reader.header
        assert (len(points), header.point_count, header.point_format.id) == (COUNT, COUNT, 6)
        found = np.stack([points.x, points.y, points.z], axis=1)
    np.testing.assert_allclose(sort_rows(found), sort_rows(hill), rtol=0, atol=2e-9)  # a step of a millimetre is exact
    np.testing.assert_allclose(header.mins, hill.min(axis=0), atol=2e-9)
    np.testing.assert_allclose(header.maxs, hill.max(axis=0), atol=2e-9)
    assert header.number_of_points_by_return[0] == COUNT
    order = np.argsort(points.gps_time)
    np.testing.assert_array_equal(np.asarray(points.classification)[order], np.repeat([2, 3, 4], COUNT // 3))
    shades = np.tile(np.linspace(0, 1, COUNT // 3), 3)
    np.testing.assert_allclose(np.asarray(points.intensity)[order], shades * 65535, atol=0.51)
    assert (reader.copc_info.gps_min, reader.copc_info.gps_max) == (0.0, pytest.approx(2.1))
    with laspy.open(str(cloud)) as file:
        assert any(b"Lambert-93" in r.record_data_bytes() for r in file.header.evlrs if r.user_id == "LASF_Projection")


@pytest.mark.parametrize("box", [(3, 4, 12, 9.5), (3, 4, 12, 9.5, -1, 2), (20.2, 0, 20.3, 80), (-5, -5, 90, 90)])
def test_boxes_give_what_a_search_of_all_points_gives(cloud: Path, hill: Array, box: tuple[float, ...]) -> None:
    low, high = np.array([*box[:2], *box[4:5]]), np.array([*box[2:4], *box[5:]])
    axes = len(low)
    low, high = low + UTM[:axes], high + UTM[:axes]
    inside = ((hill[:, :axes] >= low) & (hill[:, :axes] <= high)).all(axis=1)
    bounds = (*low[:2], *high[:2], *(value for pair in zip(low[2:], high[2:], strict=True) for value in pair))
    with laspy.CopcReader.open(str(cloud)) as reader:
        judged = reader.query(bounds=laspy.copc.Bounds(low, high))
    assert len(judged) == inside.sum()
    log = rs.open_log(cloud, bounds=bounds, chunk_points=7000)
    assert max(len(sweep) for sweep in log) <= max(7000, *(node.points for node in read_layout(cloud).nodes))
    found = np.concatenate([sweep.world_points() for sweep in log])
    np.testing.assert_allclose(sort_rows(found), sort_rows(hill[inside]), rtol=0, atol=1e-4)


def test_a_box_that_cuts_nodes_gives_no_empty_sweep(cloud: Path, hill: Array) -> None:
    corner = hill[np.argmin(hill[:, :2].sum(axis=1))]  # of all levels, one point: other nodes are met and have none
    bounds = (*corner[:2] - 0.05, *corner[:2] + 0.05)
    log = rs.open_log(cloud, bounds=bounds, chunk_points=1)
    assert len(log)
    assert all(len(sweep) for sweep in log)


def test_coarse_levels_are_even_and_leave_no_hole(cloud: Path) -> None:
    octree = read_layout(cloud)
    keys = {(node.level, *node.key) for node in octree.nodes}
    parents = {(level - 1, x // 2, y // 2, z // 2) for level, x, y, z in keys}
    assert max(level for level, *_ in keys) >= 2
    with laspy.CopcReader.open(str(cloud)) as reader:
        everything = reader.query()
        occupied = np.stack([everything.x, everything.y, everything.z], axis=1)
        for level in range(3):
            side = octree.spacing / 2**level
            points = reader.query(level=range(level + 1))
            cells = np.floor((np.stack([points.x, points.y, points.z], axis=1) - octree.corner) / side)
            every = {tuple(cell) for cell in np.floor((occupied - octree.corner) / side).tolist()}
            chosen = [tuple(cell) for cell in cells.tolist()]
            # Points on the border of two cells may count for either.
            assert len(every - set(chosen)) <= 0.002 * len(every)
            full = [cell for cell in chosen if _node_of(cell, level) in parents]
            assert len(full) - len(set(full)) <= 0.002 * len(full) + 1
            assert len(points) == sum(node.points for node in octree.nodes if node.level <= level)


def _node_of(cell: tuple[float, ...], level: int) -> tuple[int, ...]:
    return (level, *(int(value) >> CELL_BITS for value in cell))


@pytest.mark.parametrize("resolution", [1.0, 0.3])
def test_a_resolution_means_what_it_means_to_laspy(cloud: Path, resolution: float) -> None:
    with laspy.CopcReader.open(str(cloud)) as reader:
        judged = len(reader.query(resolution=resolution))
    assert sum(len(sweep) for sweep in rs.open_log(cloud, resolution=resolution)) == judged < COUNT


def test_copclib_agrees_with_every_node(cloud: Path) -> None:
    reader = copclib.FileReader(str(cloud))
    assert reader.ValidateSpatialBounds(False)
    assert sum(node.point_count for node in reader.GetAllNodes()) == COUNT
    ours = {(node.level, *node.key): node.points for node in read_layout(cloud).nodes}
    theirs = {(node.key.d, node.key.x, node.key.y, node.key.z): node.point_count for node in reader.GetAllNodes()}
    assert ours == theirs


def test_cubes_of_any_number_give_the_same_root(hill: Array, tmp_path: Path) -> None:
    """Points are sorted into cubes of any size; only which point stands for a cell of the root may differ."""
    found = []
    for max_points in (10**6, 3000, 100):
        path = tmp_path / f"{max_points}.copc.laz"
        with CopcWriter(path, max_points=max_points) as writer:
            writer.add(hill[:8_000], {})
            writer.add(hill[8_000:12_000], {})
            writer.close(progress=False)
        found += [node.points for node in read_layout(path).nodes if node.level == 0]
        with laspy.CopcReader.open(str(path)) as reader:
            points = reader.query()
        np.testing.assert_allclose(
            sort_rows(np.stack([points.x, points.y, points.z], 1)), sort_rows(hill[:12_000]), rtol=0, atol=2e-9
        )
    assert found[0] == found[1] == found[2]


def test_the_same_points_give_the_same_bytes(hill: Array, cloud: Path, tmp_path: Path) -> None:
    log = make_log(hill, labels=rs.load_labels("asprs"), crs=WKT)
    rs.write_cloud(log, tmp_path / "again.copc.laz", progress=False)
    one, two = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (cloud, tmp_path / "again.copc.laz"))
    assert one == two
    assert [item.name for item in tmp_path.iterdir()] == ["again.copc.laz"]


def test_what_is_hard_for_an_octree(tmp_path: Path) -> None:
    outlier = np.concatenate([np.zeros((5000, 3)), np.full((5000, 3), 0.001), [[9e5, 0, 0]]])
    for name, points, max_points in (
        ("one", np.ones((1, 3)), 10),
        ("same", np.ones((4000, 3)), 10),
        ("far", outlier, 100),
    ):
        path = tmp_path / f"{name}.copc.laz"
        with CopcWriter(path, max_points=max_points) as writer:
            writer.add(points, {"intensity": np.arange(len(points)) % 60_000})
            writer.close(progress=False)
        with laspy.CopcReader.open(str(path)) as reader:
            assert len(reader.query()) == len(points)  # from the root down: no node without its parent


def test_a_log_of_it_has_no_sensor_and_the_classes_of_las(cloud: Path, hill: Array) -> None:
    log = rs.open_log(cloud, chunk_points=25_000)
    assert (log.poses_known, log.times_known, log.sensor_position_known) == (True, False, False)
    assert (log.labels.name, log.crs, len(log) > 1) == ("asprs", WKT, True)
    assert log.meta["crs"] == "RGF93 / Lambert-93 (EPSG:2154)"
    for at, sweep in enumerate(log):
        assert sweep.timestamp == log.times[at]
        np.testing.assert_array_equal(sweep.pose, log.poses[at])
    whole = np.concatenate([sweep.world_points() for sweep in log])
    np.testing.assert_allclose(sort_rows(whole), sort_rows(hill), rtol=0, atol=1e-4)
    steps = whole * 1000
    assert np.abs(steps - np.round(steps)).max() < 0.1  # rounded to the file's steps, points are exact
    sweep = rs.load_sweep(cloud, resolution=0.5)
    assert 0 < len(sweep) < COUNT


def test_labels_become_those_of_las_unless_told_otherwise(hill: Array, tmp_path: Path) -> None:
    log = make_log(hill[:300], labels=rs.load_labels("semantickitti"))
    road, car = (log.labels.id_of(name) for name in ("road", "moving vehicle"))
    log = log.map(lambda s: _relabel(s, np.where(np.arange(len(s)) % 2, road, car)))
    rs.write_cloud(log, tmp_path / "mapped.copc.laz", progress=False)
    assert 11 in laspy.read(str(tmp_path / "mapped.copc.laz")).classification  # road surface
    with pytest.raises(ResweepError, match=rf"label {car} does not fit the classes of LAS"):
        rs.write_cloud(log, tmp_path / "raw.copc.laz", labels=None, progress=False)
    assert not (tmp_path / "raw.copc.laz").exists()
    own = log.map(lambda s: _relabel(s, np.full(len(s), road)))
    rs.write_cloud(own, tmp_path / "own.copc.laz", labels=None, progress=False)
    assert rs.open_log(tmp_path / "own.copc.laz").labels == log.labels  # its record says what 40 means


def _relabel(sweep: rs.Sweep, label: Array) -> rs.Sweep:
    from dataclasses import replace

    return replace(sweep, label=label.astype(np.int32))


def test_colours_and_flags_of_a_survey_are_kept(tmp_path: Path) -> None:
    header = laspy.LasHeader(point_format=7, version="1.4")
    header.offsets, header.scales = UTM, np.full(3, 0.01)
    las = laspy.LasData(header)
    las.xyz = make_hill(500)
    las.red, las.green, las.blue = (np.arange(500) * k for k in (1, 2, 3))
    las.return_number, las.number_of_returns = np.full(500, 2), np.full(500, 3)
    las.withheld, las.scan_angle, las.point_source_id = np.arange(500) % 2, np.full(500, -900), np.full(500, 77)
    las.intensity = np.arange(500)
    las.write(str(tmp_path / "survey.laz"))
    log = rs.open_log(tmp_path / "survey.laz", bounds=(0, 0, 1e7, 1e7), intensity_scale=4095)
    np.testing.assert_allclose(log[0].intensity.max(), 499 / 4095)
    rs.write_cloud(log, tmp_path / "s.copc.laz", intensity_scale=4095, progress=False)
    again = laspy.read(str(tmp_path / "s.copc.laz"))
    assert again.header.point_format.id == 7
    order = np.argsort(again.intensity)
    for name in ("red", "blue", "return_number", "number_of_returns", "withheld", "scan_angle", "point_source_id"):
        np.testing.assert_array_equal(np.asarray(again[name])[order], np.asarray(las[name]), err_msg=name)


def test_worlds_become_clouds(tmp_path: Path) -> None:
    splats = rs.Splats(np.array([[0, 0, 0], [3.0, 0, 0]]), np.tile([0, 0, 1.0], (2, 1)), np.ones(2), 40, 0.25)
    volumes = rs.Volumes(np.array([[5.0, 5, 1]]), np.array([[0.1, 0, 0, 0.1, 0, 0.1]]), 0.5, label=70, reflectance=0.5)
    square = rs.Mesh(
        np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]]), 50, 1.0
    )
    copies = rs.Instances(square, np.array([np.eye(4)[:3], from_xyz_rpy(0, 0, 9)[:3]]), label=[-1, 40])
    world = rs.World([splats, volumes, square, copies], UTM, labels="semantickitti")
    assert rs.write_cloud(world, tmp_path / "w.copc.laz", mesh_spacing_m=0.5, progress=False) == 3 + 3 * 64
    las = laspy.read(str(tmp_path / "w.copc.laz"))
    points = np.asarray(las.xyz) - UTM
    assert ((points >= -1e-6) & (points <= [5, 5, 9.0001])).all()
    classes = np.bincount(las.classification, minlength=12)
    assert (classes[11], classes[6], classes[5]) == (2 + 64, 2 * 64, 1)  # road, building, vegetation
    assert set(np.asarray(las.intensity)) == {round(0.25 * 65535), round(0.5 * 65535), 65535}
    roof = points[np.abs(points[:, 2] - 9) < 1e-6, :2]
    assert len(np.unique(np.floor(roof / 1.0), axis=0)) == 16  # even: none of the 16 squares of a metre is empty


def test_wrong_words_are_one_line_each(cloud: Path, tmp_path: Path) -> None:
    log = rs.open_log(cloud)
    for options, problem in (
        ({"bounds": (0, 0, 1, 1)}, r"no point within the bounds 0, 0, 1, 1; it has x 4482\d\d"),
        ({"bounds": (5, 0, 1, 1)}, "the lower corner comes first"),
        ({"bounds": (1, 2, 3)}, "expected x0, y0, x1, y1"),
        ({"resolution": 0}, "resolution: expected metres between points above zero"),
        ({"resolution": float("nan")}, "resolution: expected metres"),
        ({"chunk_points": 0}, "chunk_points: expected points above zero"),
        ({"intensity_scale": -1}, "intensity_scale"),
    ):
        with pytest.raises(ResweepError, match=problem) as error:
            rs.open_log(cloud, **options)
        assert "\n" not in str(error.value)
    with pytest.raises(ResweepError, match=r"ends in \.copc\.laz"):
        rs.write_cloud(log, tmp_path / "x.laz")
    with pytest.raises(ResweepError, match="crs: expected the WKT"):
        rs.write_cloud(log, tmp_path / "x.copc.laz", crs="EPSG:2154")
    with pytest.raises(ResweepError, match="written by write_cloud"):
        rs.write_sweep(log[0], tmp_path / "x.copc.laz")
    with pytest.raises(ResweepError, match="written by write_cloud"):
        rs.write_log(log, tmp_path / "x", format="copc")
    with pytest.raises(ResweepError, match="exists"):
        rs.write_cloud(log, cloud)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "no info", "count", "page", "loop", "key"])
def test_damage_is_one_line(cloud: Path, tmp_path: Path, damage: str) -> None:
    data = bytearray(cloud.read_bytes())
    with laspy.CopcReader.open(str(cloud)) as reader:
        at, size = reader.copc_info.hierarchy_root_offset, reader.copc_info.hierarchy_root_size
    if damage == "cut":
        data = data[: at + size // 2]
    elif damage == "no info":
        data[377:381] = b"none"
    elif damage == "count":
        data[247:255] = (COUNT + 5).to_bytes(8, "little")
    elif damage == "page":
        data[375 + 54 + 40 : 375 + 54 + 48] = (len(data) - 10).to_bytes(8, "little")
    elif damage == "loop":
        data[at + 16 : at + 32] = at.to_bytes(8, "little") + size.to_bytes(4, "little") + b"\xff\xff\xff\xff"
    else:
        data[at + 4 : at + 8] = (5000).to_bytes(4, "little")
    (tmp_path / "bad.copc.laz").write_bytes(data)
    with pytest.raises(ResweepError, match=r"bad\.copc\.laz: (damaged|truncated) or not a") as error:
        rs.open_log(tmp_path / "bad.copc.laz")
    assert "\n" not in str(error.value)


_WRITE = """
import resource, sys
import numpy as np
import resweep as rs
from resweep.io.clouds.writing.copc_file import CopcWriter
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
from pathlib import Path
def run(count, name):
    rng = np.random.default_rng(0)
    with CopcWriter(Path(name), max_points=50_000) as writer:
        for at in range(0, count, 50_000):
            points = rng.uniform(0, 300, (50_000, 3))
            points[:, 2] *= 0.01
            writer.add(points, {"gps_time": at + np.arange(50_000.0)})
        writer.close(progress=False)
    log = rs.open_log(name, chunk_points=50_000)
    assert sum(len(sweep) for sweep in log) == count
    return peak()
first = run(100_000, sys.argv[1])
print(run(1_000_000, sys.argv[2]) - first)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_cloud(tmp_path: Path) -> None:
    """A million points, of which 50,000 may be held: ten times as many take a few megabytes more."""
    args = [sys.executable, "-c", _WRITE, str(tmp_path / "a.copc.laz"), str(tmp_path / "b.copc.laz")]
    result = subprocess.run(args, capture_output=True, text=True, check=True)
    assert float(result.stdout) < 18  # MB; the points alone are 30, their sweeps ten times that
