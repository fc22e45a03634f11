"""Worlds from clouds without poses or beams: a room, a hedge, labels, colours and intensities."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep import _core
from resweep.build import CloudConfig, HybridConfig, SplatConfig
from resweep.pose import Array, from_xyz_rpy
from tests.survey_files import ROOM, SCANNER, UTM, meet_room, scan_room, write_las

VIEW = np.array([1.3, -0.9, 1.1])  # where nobody scanned from
SEEN = CloudConfig(scanner=tuple(SCANNER + UTM))


def build(path: Path, config: Any = None, **options: Any) -> rs.World:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rs.build(rs.open_log(path, **options), config, progress=False)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A room as a file of another program, far from the origin."""
    points = scan_room() + UTM
    folder = tmp_path_factory.mktemp("room")
    return write_las(folder / "room.las", points, intensity=np.full(len(points), 30000, np.uint16))


def look_around(world: rs.World) -> tuple[Array, Array]:
    """By how much ranges of a VLP-16 without noise at `VIEW` are off, and which beams meet no edge of the room.

    Splats round edges off, where a scan has few points.
    """
    exact = {"receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0, "beam.rays": "single"}
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**exact)
    sweep = rs.Simulator(world, sensor, seed=1).sweep(from_xyz_rpy(*(VIEW + UTM)))
    measured = np.full(sweep.n_beams, np.inf)
    measured[sweep.beam] = sweep.range
    direction = sweep.beam_direction.astype(np.float64)
    true = meet_room(VIEW, direction)
    end = VIEW + direction * true[:, None]
    walls = (np.abs(end[:, None] - ROOM) < 0.25).any(axis=1).sum(axis=1)
    return np.abs(measured - true), walls == 1


@pytest.mark.parametrize("cloud", [SEEN, CloudConfig()])
def test_a_room_comes_back_to_two_centimetres(room: Path, cloud: CloudConfig) -> None:
    off, clear = look_around(build(room, HybridConfig(cloud=cloud)))
    assert np.isfinite(off).mean() > 0.99
    assert np.median(off) < 0.005
    assert (off[clear] < 0.02).mean() > 0.98
    assert (off < 0.02).mean() > 0.93


@pytest.mark.parametrize("cloud", [SEEN, CloudConfig()])
def test_normals_point_to_the_scanner(room: Path, cloud: CloudConfig) -> None:
    world = build(room, SplatConfig(cloud=cloud))
    (splats,) = world.layers
    assert isinstance(splats, rs.Splats)
    centre = splats.centre + world.origin - UTM
    facing = np.einsum("ni,ni->n", splats.normal, SCANNER - centre) > 0
    assert facing.all() if cloud.scanner else facing.mean() > 0.99
    assert (np.abs(centre - np.clip(centre, *ROOM)) < 0.02).all()  # within its walls: units and place are kept


def test_without_a_scanner_the_rule_is_said(room: Path) -> None:
    with pytest.warns(UserWarning, match=r"nothing says where the scanner was; \d+ standpoints? that sees? \d+% of"):
        rs.build(rs.open_log(room), SplatConfig(), progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = rs.build(rs.open_log(room), SplatConfig(cloud=SEEN), progress=False)
    assert world.meta["scanner"] == "the scanner's position is the one given"


def test_an_e57_scan_is_built_from_its_pose_and_nothing_around_it_is_left_out(tmp_path: Path) -> None:
    pye57 = pytest.importorskip("pye57")
    points = scan_room() - SCANNER
    file = pye57.E57(str(tmp_path / "room.e57"), mode="w")
    data = {f"cartesian{axis}": points[:, at] for at, axis in enumerate("XYZ")}
    data |= {name: np.full(len(points), 200, np.uint8) for name in ("colorRed", "colorGreen", "colorBlue")}
    file.write_scan_raw(
        {**data, "intensity": np.full(len(points), 0.4, np.float32)},
        rotation=np.array([1.0, 0, 0, 0]),
        translation=SCANNER + UTM,
    )
    file.close()
    world = build(tmp_path / "room.e57")
    off, clear = look_around(world)
    assert (off[clear] < 0.02).mean() > 0.98
    assert (world.layers[0].extra["green"] == 200).all()


def test_labels_and_colours_survive_whole_and_in_tiles(tmp_path: Path) -> None:
    points = scan_room(2.5)
    floor = points[:, 2] < 0.05
    given = {
        "classification": np.where(floor, 2, 6).astype(np.uint8),
        "red": np.where(floor, 51400, 0).astype(np.uint16),
        "green": np.where(floor, 0, 25700).astype(np.uint16),
        "blue": np.full(len(points), 65535, np.uint16),
        "intensity": np.full(len(points), 30000, np.uint16),
    }
    path = write_las(tmp_path / "room.las", points + UTM, **given)
    whole = build(path, HybridConfig(cloud=SEEN))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rs.build(rs.open_log(path), HybridConfig(cloud=SEEN), tmp_path / "t.world", tile_m=4.0, progress=False)
    for world in (whole, rs.load_world(tmp_path / "t.world")):
        splats = world.layers[0]
        assert (world.labels.name, splats.extra["red"].dtype) == ("asprs", np.uint8)
        ground = splats.label == 2
        assert 0 < ground.mean() < 1
        assert (splats.extra["blue"] == 255).all()
        np.testing.assert_allclose(np.median(splats.extra["red"][ground]), 200)
        np.testing.assert_allclose(np.median(splats.extra["green"][~ground]), 100)
        np.testing.assert_allclose(splats.extra["intensity"], 30000 / 65535, rtol=1e-4)
    bright = build(path, HybridConfig(cloud=CloudConfig(scanner=SEEN.scanner, intensity="colour")))
    intensity = bright.layers[0].extra["intensity"]
    assert intensity[bright.layers[0].label == 2].mean() == pytest.approx(0.2126 * 0.578 + 0.0722, abs=0.01)


def test_intensities_that_do_not_use_their_scale_are_relative(tmp_path: Path) -> None:
    points = scan_room(3.0) + UTM
    counts = np.linspace(0, 200, len(points)).astype(np.uint16)
    dark = write_las(tmp_path / "dark.las", points, intensity=counts)
    with pytest.warns(UserWarning, match=r"99 of 100 intensities lie below 0\.003.*taken as relative"):
        world = rs.build(rs.open_log(dark), SplatConfig(cloud=SEEN), progress=False)
    assert world.layers[0].extra["intensity"].max() == pytest.approx(1.0, abs=0.05)
    as_counted = build(dark, SplatConfig(cloud=CloudConfig(scanner=SEEN.scanner, intensity="recorded")))
    assert as_counted.layers[0].extra["intensity"].max() < 0.004
    black = write_las(tmp_path / "black.las", points)
    with pytest.warns(UserWarning, match=r"has no intensities; a reflectance of 0\.5 is taken"):
        world = rs.build(rs.open_log(black), SplatConfig(cloud=SEEN), progress=False)
    assert (world.layers[0].reflectance == 0.5).all()  # whatever the incidence
    with pytest.raises(rs.ResweepError, match="its points have no colours"):
        build(black, SplatConfig(cloud=CloudConfig(intensity="colour")))


@pytest.mark.parametrize("cloud", [SEEN, CloudConfig()])
def test_the_same_bytes_on_any_number_of_threads(tmp_path: Path, cloud: CloudConfig) -> None:
    room = write_las(tmp_path / "room.las", scan_room(3.0, noise_m=0.02) + UTM)
    built = []
    for threads in (1, 2):
        _core.set_thread_limit(threads)
        try:
            world = build(room, HybridConfig(cloud=cloud))
        finally:
            _core.set_thread_limit(0)
        world.save(tmp_path / f"{threads}.world")
        built.append(read_files(tmp_path / f"{threads}.world"))
    assert built[0] == built[1]


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its path in it."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
