"""Vocabularies: what the ids of each dataset mean, what a file may say, and one vocabulary in the ids of another."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import resweep
from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.label_mapping import map_labels, relabel
from resweep.labels import (
    NO_LABELS,
    UNKNOWN_LABELS,
    Group,
    LabelSet,
    label_set_names,
    list_broader_categories,
    load_labels,
)
from resweep.log import Log
from resweep.sweep import Sweep

KNOWN = [name for name in label_set_names() if name not in ("none", "unknown")]


def scan(label: list[int], **options: object) -> Sweep:
    points = np.column_stack([np.arange(1.0, len(label) + 1), np.zeros(len(label)), np.zeros(len(label))])
    return Sweep.from_points(points, label=np.array(label), **options)


def test_the_vocabularies_that_come_with_resweep() -> None:
    assert label_set_names() == [
        "argoverse2",
        "asprs",
        "kitti360",
        "nuscenes-lidarseg",
        "pandaset",
        "rellis3d",
        "semantickitti",
        "semantickitti-19",
        "none",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("name", "label", "called", "group"),
    [
        ("semantickitti", 40, "road", Group.GROUND),
        ("semantickitti", 50, "building", Group.SURFACE),
        ("semantickitti", 80, "pole", Group.LINEAR),
        ("semantickitti", 51, "fence", Group.NON_SURFACE),
        ("semantickitti", 252, "moving car", Group.UNKNOWN),
        ("nuscenes-lidarseg", 24, "flat.driveable_surface", Group.GROUND),
        ("nuscenes-lidarseg", 28, "static.manmade", Group.SURFACE),
        ("nuscenes-lidarseg", 30, "static.vegetation", Group.NON_SURFACE),
        ("argoverse2", 19, "regular vehicle", Group.SURFACE),
        ("pandaset", 13, "Car", Group.SURFACE),
        ("pandaset", 42, "Other Static Object", Group.NON_SURFACE),
        ("kitti360", 7, "road", Group.GROUND),
        ("kitti360", 21, "vegetation", Group.NON_SURFACE),
        ("rellis3d", 19, "bush", Group.NON_SURFACE),
        ("asprs", 2, "ground", Group.GROUND),
        ("asprs", 6, "building", Group.SURFACE),
        ("asprs", 14, "wire - conductor", Group.LINEAR),
    ],
)
def test_ids_mean_what_their_dataset_says(name: str, label: int, called: str, group: Group) -> None:
    labels = load_labels(name)
    assert labels.class_name(label) == called
    assert labels.id_of(called) == label
    assert labels.group(np.array([label])).tolist() == [group]


def test_facts_of_classes() -> None:
    kitti, nuscenes, asprs = map(load_labels, ("semantickitti", "nuscenes-lidarseg", "asprs"))
    assert kitti.thin == (51, 80, 81)
    assert kitti.moving == tuple(range(252, 260))
    assert nuscenes.thin == nuscenes.moving == ()
    assert nuscenes.outlier == (0, 31)
    assert asprs.outlier == (7, 18)
    assert asprs.unlabelled == (0, 1, 12)
    assert asprs.is_labelled(np.array([0, 1, 2, 7])).tolist() == [False, False, True, True]


def test_an_unknown_vocabulary_knows_nothing() -> None:
    for labels in (UNKNOWN_LABELS, NO_LABELS, load_labels("unknown"), load_labels("none")):
        assert not labels.known
        assert labels.class_name(40) == "label 40"
        assert labels.group(np.array([40, 70])).tolist() == [Group.UNKNOWN, Group.UNKNOWN]
        assert labels.thin == labels.moving == labels.outlier == ()
        assert labels.id_of_category("car") is None
        assert labels.is_labelled(np.array([0, 1])).tolist() == [False, True]


@pytest.mark.parametrize("name", KNOWN)
def test_every_class_has_a_colour_of_its_own_and_a_category(name: str) -> None:
    labels = load_labels(name)
    colours = [labels.colour(label) for label in labels.classes]
    assert len(set(colours)) == len(colours)
    uncalled = [label for label, item in labels.classes.items() if not labels.category(label) and not item.unlabelled]
    assert uncalled == []


@pytest.mark.parametrize("name", KNOWN)
def test_a_vocabulary_survives_json(name: str) -> None:
    labels = load_labels(name)
    assert LabelSet(**json.loads(json.dumps(labels.to_dict()))) == labels


def test_counts_are_by_name_in_the_order_of_ids() -> None:
    counted = load_labels("semantickitti").count(np.array([50, 40, 50, 1234]))
    assert list(counted.items()) == [("road", 1), ("building", 2), ("label 1234", 1)]


def test_a_vocabulary_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nclasses:\n  1: {name: Road, group: ground}\n  9: {name: rushing-car, moving: true}\n")
    mine = load_labels(file)
    assert mine.moving == (9,)
    assert mine.group(np.array([1, 2])).tolist() == [Group.GROUND, Group.UNKNOWN]
    assert map_labels(mine, "semantickitti").ids == {1: 40, 9: 0}  # a category is the name, unless one is given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nclases: {}\n", "did you mean 'classes'"),
        (
            "name: a\nclasses: {1: {name: x, gruop: ground}}\n",
            r"classes\[1\]\.gruop: unknown key; did you mean 'group'",
        ),
        ("name: a\nclasses: {1: {name: x, group: gras}}\n", r"classes\[1\]\.group: 'gras' is not one of 'ground'"),
        ("name: a\nclasses: {one: {name: x}}\n", r"classes\.one: input should be a valid integer"),
        ("name: a\nclasses: {-1: {name: x}}\n", r"classes\[-1\]: input should be greater than or equal to 0"),
        ("name: a\nclasses: {1: {name: x}, 2: {name: x}}\n", r"classes\[2\]\.name: 'x' is also the name of label 1"),
        ("name: a\nclasses:\n  1: {name: x}\n  1: {name: y}\n", "line 4: is not valid YAML .'1' is given twice"),
        ("name: a\nclasses: {1: {name: x, colour: red}}\n", r"classes\[1\]\.colour"),
        ("- 1\n", "expected the fields of a LabelSet"),
        ("classes: [\n", "not valid YAML"),
    ],
)
def test_mistakes_in_a_file_name_it_and_the_field(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ResweepError, match=message) as caught:
        load_labels(file)
    assert "mine.yaml" in str(caught.value)


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(ResweepError, match="did you mean 'semantickitti'"):
        load_labels("semantikitti")
    with pytest.raises(ResweepError, match=r"no class 'rode'; did you mean 'road'"):
        load_labels("semantickitti").id_of("rode")


def test_categories_become_broader_until_there_is_a_class() -> None:
    kitti, asprs = load_labels("semantickitti"), load_labels("asprs")
    assert list_broader_categories("van") == ("van", "car", "vehicle")
    assert kitti.id_of_category("van") == kitti.id_of("car")
    assert kitti.id_of_category("tram") == kitti.id_of("on rails")
    assert kitti.id_of_category("cone") == kitti.id_of_category("other object") == kitti.id_of("other object")
    assert kitti.id_of_category("car", moving=True) == kitti.id_of("moving car")
    assert asprs.id_of_category("sidewalk") == asprs.id_of("ground")
    assert asprs.id_of_category("van") is None


def test_one_vocabulary_in_the_ids_of_another() -> None:
    mapping = map_labels("semantickitti", "nuscenes-lidarseg")
    names = {
        "car": "vehicle.car",
        "road": "flat.driveable_surface",
        "fence": "static.manmade",
        "ground": "flat.terrain",
        "bicyclist": "vehicle.bicycle",  # with its rider, who is no pedestrian
        "moving motorcyclist": "vehicle.motorcycle",
    }
    for one, other in names.items():
        assert mapping.ids[mapping.source.id_of(one)] == mapping.target.id_of(other)
    assert mapping.source.id_of("fence") in mapping.broader
    assert mapping.source.id_of("moving car") in mapping.broader  # nuScenes does not say what moves
    assert mapping.source.id_of("car") not in mapping.broader
    assert mapping.lost_names() == ["on rails", "other vehicle", "moving train", "moving vehicle"]
    assert mapping.map(np.array([10, 40, 16, 7777, 0])).tolist() == [17, 24, 0, 0, 0]
    assert mapping.lost_names(np.array([10, 16, 7777])) == ["on rails", "label 7777"]


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(KNOWN, 2)))
def test_mappings_keep_the_facts_of_classes(one: str, other: str) -> None:
    mapping = map_labels(one, other)
    for label, item in mapping.source.classes.items():
        found = mapping.target.classes[mapping.ids[label]]
        if label in mapping.lost or item.unlabelled:
            assert found.unlabelled or found.outlier
        else:
            assert item.outlier <= found.outlier
            assert (item.group == "ground") == (found.group == "ground")


def test_a_saved_vocabulary_is_still_itself() -> None:
    kitti = load_labels("semantickitti")
    older = LabelSet(name="semantickitti", classes={k: v for k, v in kitti.classes.items() if k < 252})
    other = LabelSet(name="semantickitti", classes={10: kitti.classes[50]})
    assert older.same_as(kitti)
    assert not other.same_as(kitti)
    assert map_labels(kitti, older).ids[252] == 252
    assert map_labels(other, kitti).ids == {10: 50}


def test_a_log_in_another_vocabulary() -> None:
    boxes = Boxes([[1.0, 0, 0]], [[1.0, 1, 1]], [0.0], ["Car"], label=[252])
    log = Log.from_sweeps([scan([40, 252, 16]), scan([0, 70, 80], boxes=boxes)], labels=load_labels("semantickitti"))
    seen: set[int] = set()
    mapped = relabel(log, "nuscenes-lidarseg", seen=seen)
    assert mapped.labels.name == "nuscenes-lidarseg"
    assert mapped[0].label.tolist() == [24, 17, 0]
    assert mapped[1].label.tolist() == [0, 30, 28]
    assert mapped[1].boxes.label.tolist() == [17]
    assert seen == {0, 16, 40, 70, 80, 252}
    assert log[0].label.tolist() == [40, 252, 16]


def test_labels_of_unknown_meaning_cannot_be_mapped() -> None:
    log = Log.from_sweeps([scan([40, 10])])
    with pytest.raises(ResweepError, match="the meaning of its labels is unknown; name their vocabulary"):
        relabel(log, "nuscenes-lidarseg")
    assert relabel(log, "nuscenes-lidarseg", source="semantickitti")[0].label.tolist() == [24, 17]
    with pytest.raises(ResweepError, match="the target must be a known vocabulary"):
        map_labels("semantickitti", "unknown")


def whole_numbers(node: ast.AST) -> set[int]:
    """The whole numbers that a tuple, list or set holds, that are keys of a dict, or members of a class."""
    if isinstance(node, ast.ClassDef):
        parts = [item.value for item in node.body if isinstance(item, ast.Assign)]
    else:
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return {part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int}


def tables_of(ids: set[int], source: str) -> list[int]:
    """The lines of a module that hold two or more of ``ids`` in one table."""
    kinds = (ast.Dict, ast.Tuple, ast.List, ast.Set, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [node.lineno for node in nodes if len(whole_numbers(node) & ids) >= 2]


# Without numbers that mean other things too.
TELLING_IDS = set(load_labels("semantickitti").classes) - {0, 1, 10, 16, 20, 30, 32, 50}


def test_ids_of_semantickitti_stand_in_its_file_only() -> None:
    """A table of its ids elsewhere would drift from the vocabulary, or be applied to another dataset's ids."""
    root = Path(resweep.__file__).parent
    fields = root / "inference" / "onnx_file.py"  # numbers of fields in protocol buffers
    found = {
        path.relative_to(root).as_posix(): tables_of(TELLING_IDS, path.read_text(encoding="utf-8"))
        for path in root.rglob("*.py")
        if path != fields
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_table_of_ids_would_be_found() -> None:
    for source in ("A = (51, 80, 81)", "A = {40: 'road', 48: 'pavement'}", "class A:\n    B = 70\n    C = 71\n"):
        assert tables_of(TELLING_IDS, source) == [1]
    assert tables_of(TELLING_IDS, "A = (40, 41)") == []
