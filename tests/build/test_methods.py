"""Methods by name: one list for the commands, and the names that were used before."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

import resweep as rs
from resweep.build import METHODS, MeshConfig, SplatConfig, VolumeConfig, method_config
from resweep.build.methods import SHORT_NAMES
from resweep.build.parts import STAGES
from resweep.cli.options.building import METHOD_HELP
from resweep.cli.verbs.evaluate import evaluate


def test_every_estimator_has_a_method_and_every_method_an_estimator() -> None:
    assert {type(config).__name__ for config in METHODS.values()} == set(STAGES)


def test_fields_change_the_settings_of_a_method() -> None:
    assert method_config("volumes-top-down", {"leaf_points": 7}) == VolumeConfig(method="top-down", leaf_points=7)
    assert method_config("splats", {"map": {"ego_radius_m": 1.0}}).map.ego_radius_m == 1.0
    assert method_config("hybrid", {"splats": {"k": 30}}) == rs.HybridConfig(splats=rs.SplatConfig(k=30))


@pytest.mark.parametrize("word", ["basic", "labels", "descriptors", "imls", "rimls", "rimls-meshlab", "poisson"])
def test_the_last_word_of_a_name_is_enough(word: str) -> None:
    kind = SplatConfig if word in ("basic", "labels", "descriptors") else MeshConfig
    assert method_config(word) == kind(method=word)


def test_short_names_lead_to_methods() -> None:
    assert set(SHORT_NAMES.values()) <= set(METHODS)
    assert not set(SHORT_NAMES) & set(METHODS)
    assert method_config("mesh") == METHODS["mesh-imls"]
    assert method_config("voxels") == METHODS["volumes"]


def test_an_unknown_method_names_near_ones() -> None:
    with pytest.raises(rs.ResweepError, match="method 'surfles': unknown; did you mean 'surfels'"):
        method_config("surfles")
    with pytest.raises(rs.ResweepError, match=r"x\.yaml: method 'nothing': unknown; known: auto"):
        method_config("nothing", where="x.yaml: method")


def test_both_commands_list_every_method() -> None:
    assert all(name in METHOD_HELP for name in METHODS)
    app = typer.Typer()
    app.command()(evaluate)
    result = CliRunner().invoke(app, ["log", "--holdout", "1", "--method", "surfles"])
    assert "--method 'surfles': unknown; did you mean 'surfels'" in str(result.exception)
