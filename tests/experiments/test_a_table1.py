"""The bench of A's Table I: its targets scatter as they should, and volumes beat surfaces on vegetation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from experiments import a_table1
from experiments.cone_bound import PLACES, weigh_places
from experiments.static_targets import NOISE_M, TARGETS, bench_sensor, scan, scan_each, together
from resweep import HybridConfig, Log
from resweep.evaluation import shots_of


@pytest.fixture(scope="module")
def written() -> dict:
    return a_table1.run(fast=True)


def test_rows_hold_every_world_and_the_papers_figures(written: dict) -> None:
    needed = {*a_table1.KINDS, *a_table1.OF_HYBRID, "target", "noise_floor", "paper_surface", "paper_volumetric"}
    for row in written["rows"]:
        assert needed <= set(row)
        figures = [value for value in row.values() if not isinstance(value, str | list)]
        assert all(value is None or np.isfinite(value) for value in figures)
    json.dumps(written["rows"])


def test_volumes_are_nearer_than_splats_on_a_sparse_tree_and_near_the_floor_on_planes(written: dict) -> None:
    rows = {row["target"]: row for row in written["rows"]}
    tree, planes = rows["tree, low density"], rows["planes"]
    assert tree["dense"] < tree["voxels"] < tree["splats"]
    if tree["surface"] is not None:
        assert tree["voxels"] < 0.5 * tree["surface"]
    assert planes["voxels"] < 1.5 * planes["noise_floor"]
    assert planes["voxels"] < planes["voxels_cone"]


def test_the_default_world_is_as_near_as_chance_lets_it_be(written: dict) -> None:
    for row in written["rows"]:
        assert row["hybrid"] < 1.2 * row["noise_floor"]
        assert row["hybrid"] < row["hybrid_spot"]
        assert row["least_on_spot"] < row["hybrid_spot"]


def test_a_spot_of_no_width_leaves_the_step_of_the_encoder() -> None:
    weights = weigh_places(np.arange(3), 1e-6)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights > 0).sum(axis=1).tolist() == [PLACES] * 3
    wide = weigh_places(np.arange(3), 2.0)
    assert (wide > 0).sum(axis=1).tolist() == [3 * PLACES] * 3


def test_the_hybrid_is_the_default_one_and_is_traced_over_the_cone() -> None:
    assert a_table1.configs()["hybrid"] == HybridConfig()
    assert "hybrid" in a_table1.ON_CONE
    sweeps = scan_each(TARGETS[0].world(), bench_sensor(TARGETS[0].top_deg, 2, 1.5), 4, seed=2)
    assert len(sweeps) == 4
    assert not any(sweep.label.any() for sweep in sweeps)
    np.testing.assert_array_equal(together(sweeps).range, np.concatenate([sweep.range for sweep in sweeps]))


def test_planes_scatter_by_the_noise_alone_and_trees_by_more() -> None:
    spread = {}
    for target in (TARGETS[0], TARGETS[2]):
        shots = shots_of(scan(target.world(), bench_sensor(target.top_deg, 1, 1.0), 60, seed=2))
        each = [np.std(shots.bin[(shots.direction == d) & (shots.bin >= 0)]) for d in np.unique(shots.direction)]
        spread[target.name] = float(np.nanmean(each) * shots.range_m)
    assert spread["planes"] == pytest.approx(NOISE_M, rel=0.25)
    assert spread["tree, medium density"] > 3 * NOISE_M


def test_sweeps_from_one_place_become_one_without_labels() -> None:
    target = TARGETS[0]
    one = scan(target.world(), bench_sensor(target.top_deg, 1, 1.0), 3, seed=2)
    both = together(list(Log.from_sweeps([one, one])))
    assert both.n_beams == 2 * one.n_beams
    np.testing.assert_array_equal(both.points[len(one) :], one.points)
    assert not both.label.any()


def test_the_command_draws_its_figure_and_ends_with_one_json_object(written: dict, check_command: Any) -> None:
    check_command("a_table1", written)
