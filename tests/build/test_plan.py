"""A plan decides every default once, as data, and refuses what would be ignored."""

from __future__ import annotations

import json

import pytest

import resweep as rs
from resweep.build import SplatConfig, resolve
from resweep.build.sizes import MAX_SQUARE_POINTS, TILE_M
from resweep.log import Log
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
    assert "tile_m" in str(plan)


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
        (rs.MeshConfig(), {"tile_m": 50.0}, "tile_m: this method needs the whole map in one piece"),
        (rs.HybridConfig(), {"tile_m": 1.0}, "tile_m: expected a side of 2 to 10,000 m, got 1"),
        ("hybrid", {}, "build: expected settings such as HybridConfig or SplatConfig, got str"),
    ],
)
def test_what_would_be_ignored_is_refused(drive: Log, config: object, options: dict[str, float], message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        resolve(drive[:2], config, **options)  # type: ignore[arg-type]
