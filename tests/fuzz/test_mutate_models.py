"""Mutants of models parse, and differ from the model: what is tried is the reader, not the parser."""

from __future__ import annotations

import json
import random

import yaml

from tests.fuzz.mutate_models import mutate_model

MODEL = {"duration_s": 5, "ego": {"lane": [[0, 0], [9, 0]], "speed_mps": 4.0}, "actors": [{"name": "a", "at": [1, 2]}]}


def test_most_mutants_of_a_model_parse_and_none_is_the_model() -> None:
    data = yaml.safe_dump(MODEL).encode()
    parsed = changed = 0
    for number in range(300):
        mutant = mutate_model(data, "drive.yaml", random.Random(number))
        assert mutant is not None
        assert mutant == mutate_model(data, "drive.yaml", random.Random(number))
        changed += mutant != data
        try:
            parsed += isinstance(yaml.safe_load(mutant[:50_000]), dict)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
    assert parsed > 200
    assert changed > 280


def test_gltf_begins_and_ends_elsewhere() -> None:
    model = {
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "count": 3}],
        "nodes": [{}],
    }
    data = json.dumps(model).encode()
    found = [json.loads(mutate_model(data, "a.gltf", random.Random(number)) or b"{}") for number in range(300)]
    views = [
        item["bufferViews"][0] for item in found if isinstance(item.get("bufferViews"), list) and item["bufferViews"]
    ]
    assert any(isinstance(view, dict) and view.get("byteOffset", 0) == 2**63 for view in views)
    assert any(isinstance(view, dict) and "byteStride" in view for view in views)


def test_what_is_no_model_is_left_to_others() -> None:
    assert mutate_model(b"ply\n", "a.ply", random.Random(1)) is None
    assert mutate_model(b"{", "a.json", random.Random(1)) is None
    assert mutate_model(b"\xff\xfe", "a.yaml", random.Random(1)) is None
