"""Worlds built by tiles: the same as in one piece, whatever the tiles, the memory or who builds them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

import resweep as rs
from resweep.build import Map, MapConfig, sizes
from resweep.build.hybrid.hybrid import list_permeable
from resweep.build.settings.base import BuildConfig
from resweep.build.splats.denoise import DENOISE_COLUMNS, denoise
from resweep.build.splats.splats import Scales
from resweep.build.tiles import tiled
from resweep.errors import ResweepError
from resweep.evaluation.holdout import holdout
from resweep.log import Log
from resweep.map.store import scatter
from resweep.neighbours import Neighbours
from resweep.pose import Array

MAP = MapConfig(ego_radius_m=0.0)
HYBRID = rs.HybridConfig(calibrate=None, map=MAP)
TILE_M = 40.0  # four tiles; each takes its time, however little is in it
# Splats cover a surface in the order of its points, and begin anew in each square: along a seam other points are their
# centres, so that there are a few more or fewer. Points, surfels and volumes by label are the same.
SEAMS = 0.01


def make(log: Log, path: Path, config: BuildConfig, tile_m: float, **options) -> rs.World:
    rs.build(log, config, path, tile_m=tile_m, progress=False, **options)
    return rs.load_world(path)


def hash_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()


def rows_of(layer: rs.Volumes) -> Array:
    """All that a volume is, one row each, in an order that only depends on where they are."""
    columns = [layer.mean, layer.covariance, layer.permeability[:, None], layer.label[:, None]]
    columns += [layer.extra[name][:, None] for name in ("passed", "stopped", "count")]
    rows = np.concatenate(columns, axis=1).astype(np.float64)
    return rows[np.lexsort(rows.T[::-1])]


@pytest.mark.parametrize("method", ["voxels", "neighbours"])
def test_volumes_and_their_counts_of_beams_are_the_same_whatever_the_tiles(garden, tmp_path, method):
    config = rs.VolumeConfig(method=method, voxel_m=0.3, calibrate=None, map=MAP)
    whole = rs.build(garden, config, progress=False)
    one = make(garden, tmp_path / "one.world", config, 1000.0)
    many = make(garden, tmp_path / "many.world", config, TILE_M)
    for other in (one, many):  # sums of the same numbers, rounded differently at most
        assert len(other.layers[0]) == len(whole.layers[0])
        assert np.allclose(rows_of(other.layers[0]), rows_of(whole.layers[0]), rtol=1e-5, atol=1e-8)


@pytest.fixture(scope="module")
def hybrids(garden: Log, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rs.World]:
    folder = tmp_path_factory.mktemp("hybrids")
    worlds = {"whole": rs.build(garden, HYBRID, progress=False)}
    for name, tile_m in (("one", 1000.0), ("many", TILE_M)):
        worlds[name] = make(garden, folder / f"{name}.world", HYBRID, tile_m)
    return worlds


@pytest.mark.slow
def test_a_hybrid_has_as_many_primitives_in_one_tile_as_in_many(hybrids):
    counts = {name: [layer.n_primitives for layer in world.layers] for name, world in hybrids.items()}
    assert [layer.name for layer in hybrids["many"].layers] == ["splats", "volumes"]
    for name in ("one", "many"):
        assert counts[name][0] == pytest.approx(counts["whole"][0], rel=SEAMS)
        assert counts[name][1] == counts["whole"][1]


def test_tiles_grow_splats_by_the_scales_of_the_whole_map(garden, tmp_path, monkeypatch):
    found: list[Scales | None] = []
    measure = tiled.measure_scales
    monkeypatch.setattr(tiled, "measure_scales", lambda *given: found.append(measure(*given)) or found[-1])
    make(garden, tmp_path / "many.world", HYBRID, TILE_M)
    map = Map.from_log(garden, MAP)
    surfaces = map.cloud[~np.isin(map.groups, list_permeable(HYBRID))].points
    near, k = Neighbours(surfaces), HYBRID.splats.k
    radius = near.mean_radius(k)
    clean = Neighbours(surfaces[denoise(near.pca(k, radius, only=DENOISE_COLUMNS))])
    (scales,) = found
    assert scales.radius_m == pytest.approx(radius, rel=1e-3)
    assert scales.bound_m == pytest.approx(clean.mean_plane_distance(k, radius), rel=0.03)


def test_no_splat_is_double_or_missing_along_a_seam(hybrids):
    one, many = (hybrids[name].layers[0] for name in ("one", "many"))
    assert len(np.unique(many.centre, axis=0)) == len(many)
    distance = np.abs(many.centre[:, :2] / TILE_M - np.round(many.centre[:, :2] / TILE_M)).min(axis=1) * TILE_M
    of_one = np.abs(one.centre[:, :2] / TILE_M - np.round(one.centre[:, :2] / TILE_M)).min(axis=1) * TILE_M
    for width in (0.1, 0.3, 1.0):  # as many splats stand along the seams of many tiles as there in one
        assert (distance < width).sum() == pytest.approx((of_one < width).sum(), rel=0.05)
    near = distance < 0.5
    away = cKDTree(one.centre).query(many.centre[near])[0]
    back = cKDTree(many.centre).query(one.centre[of_one < 0.5])[0]
    assert np.quantile(away, 0.99) < 0.3
    assert np.quantile(back, 0.99) < 0.3


def test_rays_meet_the_same_surfaces_along_a_seam(hybrids):
    pose = rs.from_xyz_rpy(0.0, 0.0, 3.0)
    sweeps = [rs.Simulator(hybrids[name], "velodyne-vlp-16", seed=1).sweep(pose) for name in ("one", "many")]
    lawns = [np.full(sweep.n_beams, np.nan) for sweep in sweeps]
    for lawn, sweep in zip(lawns, sweeps, strict=True):
        lawn[sweep.beam] = sweep.range
    both = np.isfinite(lawns[0]) & np.isfinite(lawns[1])
    assert both.sum() > 0.98 * max(np.isfinite(lawn).sum() for lawn in lawns)
    assert np.median(np.abs(lawns[0][both] - lawns[1][both])) < 0.005


@pytest.mark.slow
def test_held_out_figures_do_not_depend_on_the_tiles(garden, tmp_path):
    found = []
    for tile_m in (1000.0, TILE_M):
        place = tmp_path / f"{tile_m:g}.world"
        report = holdout(garden, [3], build=lambda log, at=place, m=tile_m: make(log, at, HYBRID, m), progress=False)
        found.append(report.metrics)
    for name, tolerance in (("range_median_m", 0.002), ("within_0.10m", 0.01), ("recovered_0.10m", 0.01)):
        assert found[0][name] == pytest.approx(found[1][name], abs=tolerance)


@pytest.mark.parametrize("config", [rs.SplatConfig(calibrate=None, map=MAP), rs.SurfelConfig(calibrate=None, map=MAP)])
def test_surfaces_alone_are_built_by_tiles_too(garden, tmp_path, config):
    whole = rs.build(garden, config, progress=False)
    many = make(garden, tmp_path / "many.world", config, TILE_M)
    surfels = isinstance(config, rs.SurfelConfig)
    assert many.n_primitives == pytest.approx(whole.n_primitives, rel=0.0 if surfels else SEAMS)
    assert many.meta["points"] == whole.meta["points"]


@pytest.mark.slow
def test_without_labels_beams_decide_in_tiles_as_in_one_piece(unlabelled, tmp_path):
    whole = rs.build(unlabelled, HYBRID, progress=False)
    many = make(unlabelled, tmp_path / "many.world", HYBRID, TILE_M)
    for one, other in zip(whole.layers, many.layers, strict=True):
        assert other.n_primitives == pytest.approx(one.n_primitives, rel=SEAMS)


@pytest.mark.slow
def test_little_memory_divides_tiles_and_changes_little(garden, tmp_path, monkeypatch, hybrids):
    monkeypatch.setattr(sizes, "MIN_SQUARE_POINTS", 1000)
    monkeypatch.setattr(sizes, "MAX_SQUARE_POINTS", 15_000)
    seen: list[int] = []
    build_tile = tiled.build_tile
    monkeypatch.setattr(
        tiled, "build_tile", lambda task, **steps: seen.append(len(task.squares)) or build_tile(task, **steps)
    )
    world = make(garden, tmp_path / "small.world", HYBRID, 40.0)
    assert max(seen) > 3
    assert world.n_primitives == pytest.approx(hybrids["one"].n_primitives, rel=SEAMS)


class StopHereError(Exception):
    pass


@pytest.fixture(scope="module")
def unbroken(garden: Log, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the world of four sweeps that no build was stopped of."""
    path = tmp_path_factory.mktemp("unbroken") / "whole.world"
    rs.build(garden[:4], HYBRID, path, tile_m=TILE_M, progress=False)
    return hash_folder(path)


@pytest.mark.parametrize(
    "where",
    ["build_tile", *(pytest.param(name, marks=pytest.mark.slow) for name in ("scatter_batch", "assemble_world"))],
)
def test_a_build_that_was_stopped_goes_on_and_gives_the_same_bytes(garden, unbroken, tmp_path, monkeypatch, where):
    monkeypatch.setattr(scatter, "_BATCH_BEAMS", 14_000)
    real, calls = getattr(tiled, where), []

    def stop(*arguments, **options):
        calls.append(1)
        if len(calls) == (1 if where == "assemble_world" else 3):
            raise StopHereError
        return real(*arguments, **options)

    monkeypatch.setattr(tiled, where, stop)
    with pytest.raises(StopHereError):
        rs.build(garden[:4], HYBRID, tmp_path / "again.world", tile_m=TILE_M, progress=False)
    assert not (tmp_path / "again.world").exists()
    monkeypatch.setattr(tiled, where, real)
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "again.world.partial").rglob("*.tiles")}
    assert kept
    written: list[Path] = []
    write = scatter.write_batch
    monkeypatch.setattr(scatter, "write_batch", lambda file, *rest: written.append(file) or write(file, *rest))
    again = tmp_path / "again.world"
    rs.build(garden[:4], HYBRID, again, tile_m=TILE_M, progress=False)
    assert not set(written) & set(kept)  # what was scattered before is not read again
    assert hash_folder(again) == unbroken
    assert not (tmp_path / "again.world.partial").exists()


def test_a_world_that_is_there_is_kept_unless_it_may_be_replaced(garden, tmp_path):
    path = tmp_path / "a.world"
    rs.build(garden[:1], HYBRID, path, progress=False)
    before = hash_folder(path)
    with pytest.raises(ResweepError, match="exists already"):
        rs.build(garden[:1], HYBRID, path, progress=False)
    assert hash_folder(path) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 300_000_000, "tile_m": 40.0}, "is too little for one tile; give at least"),
        ({"tile_m": 0.5}, "tile_m: expected a side of"),
        ({"config": rs.MeshConfig(), "tile_m": 40.0}, "tile_m: this method needs the whole map in one piece"),
        ({"config": rs.VolumeConfig(method="top-down"), "tile_m": 40.0}, "needs the whole map in one piece"),
        (
            {"config": rs.MeshConfig(), "memory": 300_000_000},
            r"in memory, which takes about .* of the 300\.0 MB allowed",
        ),
    ],
)
def test_what_cannot_be_built_is_said_before_anything_is_read(garden, tmp_path, options, message):
    with pytest.raises(ResweepError, match=message):
        rs.build(garden, options.pop("config", None), tmp_path / "a.world", progress=False, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_said_before_anything_is_read(garden, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(ResweepError, match=r"no space left on the disk: it has .* and the beams of 6 sweeps"):
        rs.build(garden, HYBRID, tmp_path / "a.world", tile_m=40.0, progress=False)
