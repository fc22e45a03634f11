"""Native enums against the words and numbers that the Python side uses for the same things."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from resweep import _core
from resweep.sensors import spec
from resweep.simulate import philox as random
from resweep.simulate import scene
from resweep.sweep import BeamStatus


def test_status_codes_are_those_of_sweeps() -> None:
    native = {status.name: int(status) for status in _core.BeamStatus}
    public = {status.name: int(status) for status in BeamStatus}
    assert public.pop("NO_RETURN") not in native.values()  # of recorded sweeps only
    assert public.pop("DROPPED_BY_MODEL") not in native.values()  # learned models run after the tracer
    assert native == public


def test_purposes_are_those_of_the_reference() -> None:
    assert {p.name: int(p) for p in _core.Purpose} == {p.name: int(p) for p in random.Purpose}


def literals(model: Any, field: str) -> set[str]:
    return set(get_args(model.model_fields[field].annotation))


@pytest.mark.parametrize(
    ("table", "native", "model", "field"),
    [
        (scene._SPOTS, _core.Spot, spec.Beam, "spot"),
        (scene._PROFILES, _core.Profile, spec.Beam, "profile"),
        (scene._MODES, _core.ReturnMode, spec.Receiver, "mode"),
        (scene._STRONGEST_BY, _core.StrongestBy, spec.Receiver, "strongest_by"),
    ],
)
def test_every_word_of_a_spec_has_its_own_native_value(table: Any, native: Any, model: Any, field: str) -> None:
    assert set(table) == literals(model, field)
    assert {word: value.name.lower().replace("_", "-") for word, value in table.items()} == {w: w for w in table}
    assert set(table.values()) == set(native)
