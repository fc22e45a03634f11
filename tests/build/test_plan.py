"""A plan decides every default once, as data, and refuses what would be ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.build import Map, MapConfig, SplatConfig, resolve
from resweep.build.sizes import MAX_SQUARE_POINTS, TILE_M
from resweep.build.splats.splats import choose_method
from resweep.log import Log
from resweep.work import is_here
from tests.places import LABELS, shrub_sweeps


@pytest.fixture(scope="module")
def drive() -> Log:
    return Log.from_sweeps(shrub_sweeps(4), "drive", labels=LABELS)


@pytest.mark.parametrize("config", [rs.HybridConfig(), rs.VolumeConfig(method="neighbours"), SplatConfig()])
def test_a_plan_leaves_nothing_open_and_is_its_own_plan(drive: Log, config: rs.HybridConfig) -> None:
    plan = resolve(drive, config)
    again = resolve(drive, plan.config)
    assert again == plan
    given = json.loads(json.dumps(plan.to_dict()))
    assert given["kind"] == type(config).__name__
    assert given["labels"] == LABELS.name
    parts = [given["config"], given["config"].get("splats", {}), given["config"].get("volumes", {})]
    assert all(part.get(name, 0.0) is not None for part in parts for name in ("thin_m", "neighbour_slope"))
    assert all(part.get("method") != "auto" for part in (*parts, {"method": given["config"]["map"]["moving"]}))
    assert "tile_m" in str(plan)


def test_a_plan_says_what_labels_boxes_and_the_number_of_sweeps_decide(drive: Log) -> None:
    plan = resolve(drive)
    assert (plan.config.map.moving, plan.config.splats.method) == ("labels", "labels")  # type: ignore[attr-defined]
    for boxed, moving in ((True, "boxes"), (False, "visibility")):
        bare = resolve(Log.from_sweeps(shrub_sweeps(4, False, boxed), labels=LABELS), SplatConfig())
        assert (bare.config.map.moving, bare.config.method) == (moving, "descriptors")  # type: ignore[attr-defined]
    one = resolve(drive[:1])
    assert (one.calibrates, one.config.calibrate) == (False, None)
    assert one.config.reflectance.incidence_exponent == 1.0  # type: ignore[attr-defined]
    assert one.config.evidence == ("permeability",)  # type: ignore[attr-defined]
    assert "one sweep" in one.reasons["calibrate"]
    assert plan.config.reflectance.incidence_exponent is None  # type: ignore[attr-defined]  # the lasers show it
    known = plan.with_lasers(None).config.reflectance.incidence_exponent  # type: ignore[attr-defined]
    assert known == 1.0


def test_a_square_without_labels_is_built_like_the_others(drive: Log) -> None:
    labelled = Map.from_log(drive, MapConfig(ego_radius_m=0.5))
    bare = labelled.with_cloud(replace(labelled.cloud, label=np.zeros_like(labelled.cloud.label)))
    config = SplatConfig(method="labels")
    with pytest.raises(rs.ResweepError, match="no return of the log has a label"):
        choose_method(bare, config)
    assert choose_method(bare.select(np.arange(10)), config) == "labels"


def test_the_world_keeps_the_plan(drive: Log) -> None:
    config = SplatConfig(calibrate=None, map={"ego_radius_m": 0.5})  # type: ignore[arg-type]
    world = rs.build(drive, config, progress=False)
    assert world.meta["build"] == resolve(drive, config).to_dict()


def test_memory_and_length_choose_tiles(drive: Log) -> None:
    assert resolve(drive).tile_m is None
    assert resolve(drive, tile_m=20.0).tile_m == 20.0
    long = drive[[0] * 20_000]  # by the points of its first sweep
    assert (resolve(long).tile_m, resolve(long).square_points) == (TILE_M, MAX_SQUARE_POINTS)
    assert resolve(long, memory="64GB") == resolve(long, memory="16GB")  # so that most bounds give the same bytes
    assert resolve(long, memory="1.2GB").square_points < MAX_SQUARE_POINTS


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (rs.HybridConfig(refine="full"), {}, "refine full holds sweeps out for a trial and needs 3, this log has 2"),
        (rs.HybridConfig(evidence=("likelihood",)), {}, "evidence likelihood holds sweeps out and needs 3, this log"),
        (rs.MeshConfig(), {"tile_m": 50.0}, "tile_m: this method needs the whole map in one piece"),
        (rs.HybridConfig(), {"tile_m": 1.0}, "tile_m: expected a side of 2 to 10,000 m, got 1"),
        ("hybrid", {}, "build: expected settings such as HybridConfig or SplatConfig, got str"),
    ],
)
def test_what_would_be_ignored_is_refused(drive: Log, config: object, options: dict[str, float], message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        resolve(drive[:2], config, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (SplatConfig(calibrate={}), "calibrate: one sweep shows no errors of its lasers; set calibrate to null"),  # type: ignore[arg-type]
        (SplatConfig(map={"moving": "visibility"}), "moving visibility takes 1 other sweeps .* this log has 1"),  # type: ignore[arg-type]
    ],
)
def test_what_one_sweep_cannot_show_is_refused(drive: Log, config: SplatConfig, message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        resolve(drive[:1], config)


def test_a_mesh_is_not_continued() -> None:
    with pytest.raises(rs.ResweepError, match="complete: a mesh is not continued"):
        rs.MeshConfig(complete=True)


class RemoteWorkers:
    """Workers that are not threads of this process, and never asked to do anything."""

    count = 2

    def map(self, function: Any, items: Sequence[Any], what: str, *, show: bool = True) -> Iterator[Any]:
        raise AssertionError(what)


@pytest.mark.parametrize("config", [rs.MeshConfig(), rs.VolumeConfig(method="top-down")])
def test_workers_are_refused_where_there_are_no_tiles_for_them(drive: Log, config: rs.MeshConfig) -> None:
    assert not is_here(RemoteWorkers())
    with pytest.raises(rs.ResweepError, match="workers: this method needs the whole map in one piece"):
        rs.build(drive, config, workers=RemoteWorkers(), progress=False)
